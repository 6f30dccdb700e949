// What the files of contexts share. For kernels/context*.c only.
#pragma once

#include "kernels/context.h"

#define CONTEXTS_MAX 1000
#define CONTEXT_KEEP_COUNT 500 /* executions of one context */
#define CONTEXT_QUEUE_MAX 1000
#define CONTEXT_KEEP_BYTES (512ULL * 1024 * 1024)

struct contexts {
	struct contexts_config config;
	struct kernel_host host;
	struct cells cells;
	struct kernel_languages *languages; /* owned */
	struct list all; /* of struct context.link */
	unsigned count;
	uint32_t next_number;
	int null_fd; /* owned */
	struct spare {
		struct list link;
		struct contexts *all; /* borrowed */
		struct kernel *kernel; /* owned */
		/* In the order in which they are to be taken. */
		enum { SPARE_PREPARING, SPARE_PLAIN, SPARE_PREPARED } state;
	} spare_head; /* link is the list's head */
	struct loop_timer quiet; /* until spares may be started */
	uint64_t active_usec; /* monotonic; when an execution last began or ended */
};

#define contexts_log(all, ...)                                                                     \
	do {                                                                                       \
		if ((all)->config.log)                                                             \
			(all)->config.log((all)->config.arg, __VA_ARGS__);                         \
	} while (0)

/* context_run.c */

/* Starts what can be started: a kernel for the queue, the next execution. */
void context_pump(struct context *context);
/* Lets go of the kernel and of what executes on it. */
void context_drop_kernel(struct context *context, const char *reason);
void context_prune(struct context *context);
void context_on_limit(struct loop_timer *timer);

/* context_spare.c: kernels that are held ready. */

/* One that is held ready for the language, the caller's now; NULL: none. */
struct kernel *contexts_take_spare(struct contexts *all, const struct kernel_language *language);
/* Sees to it that there will be enough of them, once nobody goes from one execution to the next. */
void contexts_want_spare(struct contexts *all, const struct kernel_language *language);
void contexts_drop_spares(struct contexts *all);
