// Copying and removing trees by descriptor, for the sandbox's first start.
#pragma once

#include <stdbool.h>

#include "common/buf.h"

/* Copies what others may read from one directory to another: directories, regular files and
 * symbolic links, with their permission bits, owned by the caller. wanted gets each path relative
 * to from_fd. Files that vanish or turn unreadable meanwhile are left out. 0 or -errno. */
int sandbox_copy_tree(
	int from_fd, int to_fd, bool (*wanted)(const void *arg, const char *path), const void *arg);

/* Removes name and all below it, never following a link. 0 also when there is none. */
int sandbox_copy_remove(int dir_fd, const char *name);

/* Appends a regular file of at most 1 MiB; never waits on anything else. 0 or -errno. */
int sandbox_copy_read(int dir_fd, const char *path, struct buf *to);
