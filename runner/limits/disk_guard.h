// Watches how much disk the sandbox takes, and says when it is more than it may: no kernel does so for
// a directory tree of an ordinary user. Belongs to the loop's leader; the walks have a thread.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "common/loop.h"
#include "runner/limits/disk_use.h"
#include "runner/sandbox.h"

struct disk_guard;

struct disk_guard_config {
	struct loop *loop; /* borrowed */
	int state_fd; /* borrowed; the state directory */
	int proc_fd; /* borrowed; the sandbox's /proc */
	uint64_t limit_bytes; /* 0: only measures when asked */
	/* The limit is exceeded and the use grows: round counts from 1 while it does. */
	void (*over)(void *arg, const struct disk_use *use, unsigned round);
	void (*under)(void *arg); /* it is not exceeded any more */
	void *arg;
};

int disk_guard_new(const struct disk_guard_config *config, struct disk_guard **ret);
/* Waits for a walk that is going on to notice. NULL is allowed. */
void disk_guard_free(struct disk_guard *guard);

/* What was measured last; false: nothing yet. Measures anew, for a later call, when that is old. */
bool disk_guard_use(struct disk_guard *guard, struct disk_use *ret);
