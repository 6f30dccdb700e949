// Requests to persist, restore or plan: each runs in a thread of its own; what the last ones gave
// is kept.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "common/buf.h"
#include "common/fail.h"
#include "common/list.h"

struct mount;
struct checkpoint_jobs;

/* Needs the sandbox and its runs. */
int checkpoint_jobs_new(struct mount *m, struct checkpoint_jobs **ret);
/* Cancels what runs and waits for it. NULL is allowed, here and below. */
void checkpoint_jobs_stop(struct checkpoint_jobs *jobs);
/* After checkpoint_jobs_stop(). */
void checkpoint_jobs_free(struct checkpoint_jobs *jobs);

const char *checkpoint_jobs_project(const struct checkpoint_jobs *jobs);

/* Begins a request as it was written. *ret_id is set also when it is refused (-EINVAL, with words):
 * its answer then says why. 0: it goes on. */
int checkpoint_jobs_begin(struct checkpoint_jobs *jobs, const char *text, size_t len, bool plan,
	uint32_t *ret_id, struct fail *f);
/* A request that was refused before it could be read, as one that is too large: f has the words, and
 * gets their code. Its answer says so from now on. */
void checkpoint_jobs_refuse(
	struct checkpoint_jobs *jobs, int err, bool plan, uint32_t *ret_id, struct fail *f);
/* Ctrl-C: it ends soon and leaves nothing. */
void checkpoint_jobs_cancel(struct checkpoint_jobs *jobs, uint32_t id, struct fail *f);

/* Waiters for its end; NULL: it is over, or not known. */
struct list *checkpoint_jobs_ended(struct checkpoint_jobs *jobs, uint32_t id);
/* How it ended: 0 or -errno. */
int checkpoint_jobs_error(struct checkpoint_jobs *jobs, uint32_t id);
/* Its answer, or how far it is. -ENOENT: not known any more. id 0: the last one (-ENODATA: there was
 * none). */
int checkpoint_jobs_answer(struct checkpoint_jobs *jobs, uint32_t id, bool plan, struct buf *ret);

/* Removes from the store what nothing names, and the tree of an archive (NULL: none), in the
 * background. */
void checkpoint_jobs_collect(struct checkpoint_jobs *jobs, const char *sha256);
