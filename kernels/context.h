// Contexts: a kernel with a memory and the queue of what it is to execute. Belongs to the loop's
// leader.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "common/config.h"
#include "common/fail.h"
#include "common/list.h"
#include "common/loop.h"
#include "kernels/cell.h"
#include "kernels/kernel.h"
#include "kernels/kernel_table.h"

struct contexts;

struct context {
	struct contexts *all; /* borrowed */
	struct list link; /* in all, oldest first */
	uint32_t number; /* of all contexts; names the nodes */
	char *name; /* owned */
	bool standard; /* cannot be removed */
	const struct kernel_language *language; /* borrowed */
	char *cwd; /* owned, all three; as written */
	char *env;
	char *timeout;
	char **env_pairs; /* owned; of env */
	uint64_t timeout_usec; /* 0: none */
	uint64_t made_usec, used_usec; /* wall clock */
	uint32_t count; /* the newest execution's number */

	struct kernel *kernel; /* owned; NULL: none */
	bool started; /* one became ready since the last restart: the settings stay */
	bool died; /* the last one ended by itself or was killed */
	bool lost; /* the next execution runs without what was remembered */
	bool ending; /* the code has ended the kernel: its death is waited for */
	bool asking; /* code waits for a line */
	struct cell *current; /* in cells; executing */
	struct list cells; /* of struct cell.link, oldest first; queued ones are the last */
	unsigned cells_len;
	uint32_t json_cell; /* what in.json asked last; 0: nothing */

	struct buf lines; /* standard input that nobody asked for yet */
	struct loop_timer limit; /* the time limit, then the steps of the ladder */
	unsigned step; /* of the ladder */
};

struct contexts_config {
	struct loop *loop; /* borrowed, all */
	struct sandbox *sandbox;
	struct runs *runs;
	const struct config *config;
	const char *state_path;
	int state_fd;
	void (*log)(void *arg, const char *format, ...) __attribute__((format(printf, 2, 3)));
	/* A request that was taken failed before it was executed. May be NULL. */
	void (*failed)(void *arg, const char *path, int err, const struct fail *f);
	void *arg;
};

/* Makes the standard contexts. 0 or -errno with words. */
int contexts_open(const struct contexts_config *config, struct contexts **ret, struct fail *f);
/* NULL is allowed. */
void contexts_close(struct contexts *all);

/* What the sandbox tells (for struct runs_hooks). */
void contexts_event(struct contexts *all, const struct sandbox_event *event);
void contexts_sandbox_died(struct contexts *all);

struct list *contexts_list(struct contexts *all); /* of struct context.link */
struct context *contexts_find(struct contexts *all, const char *name);
struct context *contexts_at(struct contexts *all, uint32_t number);
struct cells *contexts_cells(struct contexts *all);
unsigned contexts_running(const struct contexts *all); /* kernels */
struct kernel_languages *contexts_languages(struct contexts *all);

/* A context of one's own. -EEXIST, -EINVAL: not a name, -ENOSPC: too many. */
int context_new(struct contexts *all, const char *name, struct context **ret, struct fail *f);

/* Ends it and frees everything. -EPERM for a standard one. */
int context_remove(struct context *context, struct fail *f);

/* Settings; text as written. -EBUSY once the kernel has started (but timeout), -EINVAL. */
int context_set_language(struct context *context, const char *text, struct fail *f);
int context_set_cwd(struct context *context, const char *text, struct fail *f);
int context_set_env(struct context *context, const char *text, size_t len, struct fail *f);
int context_set_timeout(struct context *context, const char *text, struct fail *f);

/* new, starting, idle, busy, input or dead. */
const char *context_status(const struct context *context);

/* Queues source. timeout_usec: NULL is the context's own. -ENOPKG: the language is not installed;
 * -EAGAIN: as many kernels as are allowed run; -EIO. */
int context_execute(struct context *context, const char *code, size_t len,
	const uint64_t *timeout_usec, struct cell **ret, struct fail *f);

/* Takes one execution back: out of the queue, or interrupts it. */
void context_cancel(struct context *context, struct cell *cell);

/* Interrupts what executes. False: nothing does. */
bool context_interrupt(struct context *context);

/* Ends the kernel; the next execution starts a new one. False: there was none. */
bool context_restart(struct context *context);

/* Lines for code that asks. -EFBIG when too much waits already. */
int context_input(struct context *context, const char *text, size_t len, struct fail *f);

struct cell *context_cell(struct context *context, uint32_t count); /* by execution number */
struct cell *context_newest(struct context *context); /* NULL: none */

/* Forgets an ended execution. -EBUSY. */
int context_forget(struct context *context, struct cell *cell);
