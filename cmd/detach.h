// Going into the background: a child does the work, and its parent ends when the work is under way
// or has failed.
#pragma once

#include "common/fail.h"

struct detach;

/* Forks. The child runs work(detach, arg, f) in a session of its own, with /dev/null as standard
 * input and output; what it and its helpers write to standard error is kept and shown by the parent
 * on failure only. Returns in the parent: 0 once detach_ready() was called, -errno with words when
 * the work ended or died before. Does not return in the child. Call with one thread. */
int detach_run(
	int (*work)(struct detach *detach, void *arg, struct fail *f), void *arg, struct fail *f);

/* The work is under way: lets the parent go. When the parent is gone already (it was interrupted),
 * asks the calling process to end by SIGTERM. */
void detach_ready(struct detach *detach);
