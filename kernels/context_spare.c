// Kernels that are held ready for each language in use, so that a new context need not wait for one.
#include "kernels/context_internal.h"

#include <stdlib.h>

#include "common/clock.h"
#include "common/scope.h"

#define QUIET_USEC (100 * USEC_PER_MSEC)
#define SPARES_MEMORY (1ULL << 30) /* with less than that, one of a language must do */

static void forget(struct spare *spare)
{
	list_remove(&spare->link);
	free(spare);
}

static void fill(struct contexts *all, const struct kernel_language *language);

static void on_ready(struct kernel *kernel)
{
	const struct spare *spare = kernel->owner;

	fill(spare->all, kernel->language);
}

static void on_prepared(struct kernel *kernel)
{
	struct spare *spare = kernel->owner;

	if (spare->state == SPARE_PREPARING)
		spare->state = SPARE_PREPARED;
}

static void on_drained(struct kernel *kernel)
{
	(void)kernel;
}

static void on_frame(struct kernel *kernel, const struct kernel_frame *frame)
{
	(void)kernel;
	(void)frame;
}

static void on_output(struct kernel *kernel, enum run_stream stream, const void *data, size_t len)
{
	(void)kernel;
	(void)stream;
	(void)data;
	(void)len;
}

static bool is_full(struct kernel *kernel, enum run_stream stream)
{
	(void)kernel;
	(void)stream;
	return true;
}

static void on_dropped(struct kernel *kernel, enum run_stream stream, uint64_t len)
{
	(void)kernel;
	(void)stream;
	(void)len;
}

static void on_dead(struct kernel *kernel, const struct kernel_death *death)
{
	(void)death;
	forget(kernel->owner);
}

static const struct kernel_ops spare_ops = {
	.ready = on_ready,
	.prepared = on_prepared,
	.frame = on_frame,
	.output = on_output,
	.output_full = is_full,
	.output_dropped = on_dropped,
	.output_drained = on_drained,
	.dead = on_dead,
};

/* The best is one that has everything loaded, then one that is ready, which one that is still loading
 * is only half, then the one that started first. */
static int rank(const struct spare *spare)
{
	return spare->kernel->state == KERNEL_STARTING ? -1 : (int)spare->state;
}

static struct spare *find(struct contexts *all, const struct kernel_language *language)
{
	struct spare *best = NULL;
	struct list *item;

	list_for_each(item, &all->spare_head.link)
	{
		struct spare *spare = list_entry(item, struct spare, link);

		if (spare->kernel->language == language && !kernel_has_left(spare->kernel) &&
			(!best || rank(spare) > rank(best)))
			best = spare;
	}
	return best;
}

struct kernel *contexts_take_spare(struct contexts *all, const struct kernel_language *language)
{
	struct spare *spare = find(all, language);
	struct kernel *kernel;

	if (!spare)
		return NULL;
	kernel = spare->kernel;
	kernel_set_owner(kernel, NULL, NULL);
	forget(spare);
	return kernel;
}

static void start(struct contexts *all, const struct kernel_language *language)
{
	struct spare *spare = calloc(1, sizeof(*spare));

	if (!spare)
		return;
	spare->all = all;
	spare->state = SPARE_PLAIN;
	if (kernel_start(&all->host, language, NULL, "/", &spare_ops, spare, &spare->kernel, NULL) <
		0)
		free(spare);
	else
		list_add_tail(&all->spare_head.link, &spare->link);
}

/* Loads what most code will ask for, now that nothing else is to be done. One of them is enough. */
static void prepare(struct spare *spare)
{
	struct buf frame auto_buf = {0};

	kernel_wire_end(&frame, kernel_wire_begin(&frame, KERNEL_PREPARE, 0));
	if (kernel_send(spare->kernel, &frame) == 0)
		spare->state = SPARE_PREPARING;
}

/* How many are held ready. Where memory is short, that of the code comes first. */
static unsigned wanted(const struct contexts *all, const struct kernel_language *language)
{
	uint64_t memory = all->config.config->memory;

	return language->ready > 1 && memory && memory < SPARES_MEMORY ? 1 : language->ready;
}

static void on_quiet(struct loop_timer *timer)
{
	struct contexts *all = container_of(timer, struct contexts, quiet);
	struct list *item;

	list_for_each(item, &all->all)
	{
		struct context *context = list_entry(item, struct context, link);

		if (context->kernel)
			fill(all, context->language);
	}
}

/* Each takes a processor until it is ready: not while somebody goes from one execution to the next. A
 * long execution is nothing to wait for. */
static bool must_wait(struct contexts *all)
{
	uint64_t due = all->active_usec + QUIET_USEC;

	if (!all->active_usec || clock_monotonic_usec() >= due)
		return false;
	all->quiet.fire = on_quiet;
	loop_timer_set(all->config.loop, &all->quiet, due);
	return true;
}

/* One is started at a time: who waits for a kernel waits for the first. */
static void fill(struct contexts *all, const struct kernel_language *language)
{
	struct spare *plain = NULL;
	struct list *item;
	bool loaded = !language->prepare;
	unsigned count = 0;

	if (must_wait(all))
		return;
	list_for_each(item, &all->spare_head.link)
	{
		struct spare *spare = list_entry(item, struct spare, link);

		if (spare->kernel->language != language)
			continue;
		if (spare->kernel->state == KERNEL_STARTING)
			return;
		count++;
		if (spare->state == SPARE_PLAIN)
			plain = spare;
		else
			loaded = true;
	}
	if (count < wanted(all, language))
		start(all, language);
	else if (plain && !loaded)
		prepare(plain);
}

void contexts_want_spare(struct contexts *all, const struct kernel_language *language)
{
	fill(all, language);
}

void contexts_drop_spares(struct contexts *all)
{
	loop_timer_cancel(all->config.loop, &all->quiet);
	while (!list_empty(&all->spare_head.link)) {
		struct spare *spare = list_entry(all->spare_head.link.next, struct spare, link);

		kernel_release(spare->kernel);
		forget(spare);
	}
}
