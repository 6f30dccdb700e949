// A function that runs in a thread of its own and reports its end through the event loop: for what
// is slow and must not hold the leader up.
#pragma once

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "common/loop.h"

struct job {
	/* In the job's own thread. Looks at job_cancelled() now and then. */
	int (*work)(struct job *job);
	/* By the leader, once, after work has returned and its thread is gone; may free the job. */
	void (*done)(struct job *job);

	int result; /* what work returned; for done */
	atomic_bool cancelled;
	struct loop *loop; /* the rest is the job's own */
	struct loop_source source; /* an eventfd, owned */
	pthread_t thread;
};

/* Starts work in a thread; job stays in place until done is called. By the leader. 0 or -errno:
 * then nothing was started. */
int job_start(struct job *job, struct loop *loop);

/* Asks work to return early; from any thread. */
static inline void job_cancel(struct job *job)
{
	atomic_store(&job->cancelled, true);
}

static inline bool job_cancelled(const struct job *job)
{
	return atomic_load(&job->cancelled);
}

/* Waits for the end now and calls done: when the loop does not run any more. */
void job_finish(struct job *job);
