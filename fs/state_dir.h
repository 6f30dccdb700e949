// The directory that keeps a sandbox's state: making it, locking it, and the format it is in.
#pragma once

#include "common/fail.h"

struct state_dir {
	char *path; /* owned; absolute, without links */
	int fd; /* owned; O_RDONLY|O_DIRECTORY */
	int lock_fd; /* owned; holds the lock while it is open */
};

/* $XDG_STATE_HOME/sandpit/tail; *ret is owned by the caller. */
int state_dir_default(const char *tail, char **ret, struct fail *f);

/* Makes the directory with its parents where it is missing (mode 0700), locks it and checks that
 * its content can be used. -EBUSY: another daemon has it, the words name its mount point;
 * -EPROTONOSUPPORT: written by a newer version. Nothing is kept open on failure. */
int state_dir_open(
	const char *path, const char *mount_point, struct state_dir *ret, struct fail *f);
void state_dir_close(struct state_dir *state);

/* Makes a directory and its missing parents, for their owner only. 0 or -errno with words. */
int state_dir_make(const char *path, struct fail *f);

/* Whether such a directory may be written, or be made below those that are there; nothing is made. 0
 * or -errno, with words in the second. */
int state_dir_parent(const char *path);
int state_dir_possible(const char *path, struct fail *f);

#define auto_state_dir __attribute__((cleanup(state_dir_close)))
