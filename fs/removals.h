// Who removes a directory that goes as a whole, as `rm -r` does: the names in it go first, one by one.
// Such a process begins by reading the directory, and reads it or one below it meanwhile.
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct mount;
struct synth_node;

#define REMOVALS_MAX 16

struct removals {
	struct removal {
		const struct synth_dir *dir; /* NULL: none */
		uint32_t object;
		pid_t pid; /* the thread */
	} readers[REMOVALS_MAX]; /* a ring */
	unsigned next;
};

/* A thread begins to read such a directory. */
void removals_note(struct mount *m, pid_t pid, const struct synth_node *dir);

/* Whether a thread that takes a name away is on the way to remove the whole. */
bool removals_has(struct mount *m, pid_t pid);
