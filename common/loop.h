// The event loop, and the baton that lets several threads drive it one at a time.
//
// Exactly one thread at a time, the leader, holds the baton: it waits for events and runs their
// handlers. All state of runs, control files and the sandbox is touched by the leader only, so it
// needs no locks. A handler that is about to make system calls which may block on a disk (files/)
// lends the baton first. If it comes back soon, as it nearly always does, nothing else happened: no
// lock was handed over, no thread woken. If it does not come back within a millisecond or so, a
// watcher gives the baton to another thread, and the late one joins the followers when it is done.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "common/list.h"

struct loop;

struct loop_source {
	int fd; /* borrowed: the owner closes it after loop_unwatch() */
	void (*ready)(struct loop_source *source, uint32_t events); /* EPOLLIN and so on */
};

struct loop_timer {
	void (*fire)(struct loop_timer *timer);
	uint64_t due_usec; /* clock_monotonic_usec() */
	struct list link; /* in the loop's list, ordered by due_usec, while armed */
	bool armed;
};

/* A new loop; 0 or -errno. */
int loop_new(struct loop **ret);
void loop_free(struct loop *loop);

/* Runs handlers until loop_stop(). The calling thread is the first leader; followers are created
 * when they are needed, at most max_threads in all, and more only while so many are stuck in what
 * they lent the baton for. Returns 0 or -errno. */
int loop_run(struct loop *loop, unsigned max_threads);

/* Starts the thread that loop_run() cannot do without, which else does it: for who must know before
 * that it can be had. Returns 0 or -errno. */
int loop_start(struct loop *loop);

/* Called in each thread of the loop before it does anything else; for per-thread credentials. */
void loop_set_thread_start(struct loop *loop, void (*start)(void *arg), void *arg);

/* Makes loop_run() return, from any thread, once running handlers are done. Those that have lent the baton
 * may wait for others, which are run until they are back; what is lent from now on must not. */
void loop_stop(struct loop *loop);
bool loop_stopping(struct loop *loop);

/* How many handlers of sources and timers have been called so far; by the leader. */
uint64_t loop_handled(const struct loop *loop);

/* Whether the calling thread holds the baton. */
bool loop_leads(void);

/* All below: by the leader only (or before loop_run()). */

/* Starts watching; source stays in place until loop_unwatch(). events as for epoll (level). */
int loop_watch(struct loop *loop, struct loop_source *source, uint32_t events);
int loop_rewatch(struct loop *loop, struct loop_source *source, uint32_t events);
/* After this the source's handler is not called again, also not for events already fetched. */
void loop_unwatch(struct loop *loop, struct loop_source *source);

/* Arms (or re-arms) a one-shot timer. */
void loop_timer_set(struct loop *loop, struct loop_timer *timer, uint64_t due_usec);
void loop_timer_cancel(struct loop *loop, struct loop_timer *timer);

/* Lends the baton: after this the caller must not touch the leader's state... */
void loop_lend(struct loop *loop);
/* ...until this returns true. False: another thread leads now, finish without that state. */
bool loop_reclaim(struct loop *loop);
