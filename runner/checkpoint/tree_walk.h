// Visits everything below a directory through descriptors: no path is resolved twice and no link
// is followed, whatever others do to the tree meanwhile.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>

#include "common/fail.h"
#include "runner/checkpoint/task.h"

#define TREE_WALK_DEPTH_MAX 2048 /* directories in each other */
#define TREE_WALK_PATH_MAX 65536 /* bytes of a path */

struct tree_entry {
	const char *path; /* relative; empty for the directory itself */
	const char *name; /* the end of path */
	int fd; /* O_PATH, open during the call */
	struct statx sx;
};

/* Each returns 0, or -errno which ends the walk. Those that may be NULL are then not called. */
struct tree_visitor {
	/* A directory before its content, or anything else. */
	int (*visit)(void *arg, const struct tree_entry *entry, struct fail *f);
	/* A directory after its content; fd is open. May be NULL. */
	int (*leave)(void *arg, const struct tree_entry *entry, struct fail *f);
	/* Whether to leave a directory out; may be NULL. */
	bool (*excluded)(void *arg, const struct tree_entry *entry);
	/* It was there in the list and then not. May be NULL. */
	int (*vanished)(void *arg, const char *path);
	bool only_directories; /* the rest is not looked at */
};

/* In the order of names, so that the same tree gives the same archive. Another mount below is
 * visited as a directory (STATX_ATTR_MOUNT_ROOT is set) and not entered. */
int tree_walk(
	struct task *t, int dir_fd, const struct tree_visitor *visitor, void *arg, struct fail *f);

/* Opens what an O_PATH descriptor stands for, a regular file or directory. -errno. */
int tree_walk_reopen(int fd, int flags);
