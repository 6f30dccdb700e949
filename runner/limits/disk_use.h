// How much disk a sandbox takes: a walk over its tree.
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* What an item counts at least, so that empty files are not free. */
#define DISK_USE_ITEM 4096

struct disk_use {
	uint64_t bytes;
	uint64_t items; /* files, directories and others */
};

/* Adds what lies below a directory of this name, on its file system, hard links once, nothing
 * followed. However deep the tree is, it takes a few descriptors. Ends early, with -ECANCELED, when
 * *cancelled becomes true; -ESTALE: a directory was moved meanwhile; -errno. */
int disk_use_add(int dir_fd, const char *name, const atomic_bool *cancelled, struct disk_use *ret);

/* Adds regular files of the device that processes in this /proc hold open and that have no name any
 * more. */
void disk_use_add_nameless(
	int proc_fd, dev_t device, const atomic_bool *cancelled, struct disk_use *ret);
