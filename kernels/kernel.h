// One kernel process in the sandbox: its start, its frames and output, how it is interrupted, and
// its death. Knows nothing of contexts and executions. Belongs to the loop's leader.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "common/buf.h"
#include "common/fail.h"
#include "common/list.h"
#include "common/loop.h"
#include "kernels/kernel_table.h"
#include "kernels/kernel_wire.h"
#include "runner/runs/output_pipe.h"
#include "runner/runs/run_output.h"
#include "runner/runs/runs_environment.h"
#include "runner/sandbox.h"

/* What all kernels of a sandbox share. */
struct kernel_host {
	struct loop *loop; /* borrowed, all */
	struct sandbox *sandbox;
	struct runs *runs; /* for the default user and environment */
	int null_fd;
	struct list all; /* of struct kernel.link */
	uint32_t next_id;
	uint64_t oom_seen;
};

enum kernel_state { KERNEL_STARTING, KERNEL_IS_READY, KERNEL_DEAD };

struct kernel;

/* How it ended, in words: "exit 3", "signal 11 (SIGSEGV)", "out of memory". */
struct kernel_death {
	char text[256];
	bool oom;
	bool start; /* it was never ready */
	int exit_code; /* -1: it did not exit by itself */
};

/* What its owner is told; never called after kernel_release(). */
struct kernel_ops {
	void (*ready)(struct kernel *kernel);
	void (*prepared)(struct kernel *kernel); /* after KERNEL_PREPARE; may be NULL */
	void (*frame)(struct kernel *kernel, const struct kernel_frame *frame);
	void (*output)(struct kernel *kernel, enum run_stream stream, const void *data, size_t len);
	bool (*output_full)(struct kernel *kernel, enum run_stream stream);
	void (*output_dropped)(struct kernel *kernel, enum run_stream stream, uint64_t len);
	void (*output_drained)(struct kernel *kernel);
	/* The last call. */
	void (*dead)(struct kernel *kernel, const struct kernel_death *death);
};

struct kernel {
	struct kernel_host *host; /* borrowed */
	struct list link; /* in host->all */
	uint32_t id; /* of the spawn */
	const struct kernel_language *language; /* borrowed */
	enum kernel_state state;
	bool in_sandbox; /* init knows it */
	const struct kernel_ops *ops; /* borrowed; NULL: nobody owns it any more */
	void *owner; /* borrowed */
	struct loop_source source; /* the frames' socket; fd -1: closed */
	struct buf in; /* frames that are not complete yet */
	struct buf out; /* what the socket did not take yet */
	size_t out_at;
	struct kernel_pipe {
		struct output_pipe pipe;
		struct kernel *kernel;
	} pipes[2];
	struct loop_timer start_limit;
	char said[200]; /* why it cannot start, by itself; empty: it did not say */
	char broken[128]; /* why it was killed by us; empty: it was not */
};

void kernel_host_init(struct kernel_host *host, struct loop *loop, struct sandbox *sandbox,
	struct runs *runs, int null_fd);

/* Ends what is left; nobody is told. The sandbox is gone or about to go. */
void kernel_host_clear(struct kernel_host *host);

/* An event of the sandbox that is no run's. */
void kernel_host_event(struct kernel_host *host, const struct sandbox_event *event);

/* init has died. */
void kernel_host_died(struct kernel_host *host);

/* Starts a process. more: K=V over the usual environment, NULL-terminated or NULL. -ENOPKG with the
 * package, -EIO: the sandbox is gone. */
int kernel_start(struct kernel_host *host, const struct kernel_language *language,
	char *const *more, const char *cwd, const struct kernel_ops *ops, void *owner,
	struct kernel **ret, struct fail *f);

/* Hands it to another owner. */
void kernel_set_owner(struct kernel *kernel, const struct kernel_ops *ops, void *owner);

/* Whether its process has closed the socket of frames, as by its death, of which the loop may not have
 * told yet. */
bool kernel_has_left(const struct kernel *kernel);

/* Kills its tree and forgets it; the pointer is not to be used any more. NULL is allowed. */
void kernel_release(struct kernel *kernel);

/* Sends a whole frame (kernel_wire_begin() to kernel_wire_end()). 0 or -errno. */
int kernel_send(struct kernel *kernel, const struct buf *frame);

/* As Ctrl-C in a terminal. Only for one that executes. */
void kernel_interrupt(struct kernel *kernel);

/* Kills its tree; ops->dead is called with the reason. */
void kernel_kill(struct kernel *kernel, const char *reason);
