// Kernels that are held ready, one a language in use, so that a new context need not wait for one.
#include "kernels/context_internal.h"

#include <stdlib.h>

#include "common/scope.h"

static void forget(struct spare *spare)
{
	list_remove(&spare->link);
	free(spare);
}

static void on_ready(struct kernel *kernel)
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
	.frame = on_frame,
	.output = on_output,
	.output_full = is_full,
	.output_dropped = on_dropped,
	.output_drained = on_ready,
	.dead = on_dead,
};

static struct spare *find(struct contexts *all, const struct kernel_language *language)
{
	struct list *item;

	list_for_each(item, &all->spare_head.link)
	{
		struct spare *spare = list_entry(item, struct spare, link);

		if (spare->kernel->language == language)
			return spare;
	}
	return NULL;
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

void contexts_want_spare(struct contexts *all, const struct kernel_language *language)
{
	struct spare *spare;

	if (!language->ready || find(all, language))
		return;
	spare = calloc(1, sizeof(*spare));
	if (!spare)
		return;
	if (kernel_start(&all->host, language, NULL, "/", &spare_ops, spare, &spare->kernel, NULL) <
		0)
		free(spare);
	else
		list_add_tail(&all->spare_head.link, &spare->link);
}

void contexts_drop_spares(struct contexts *all)
{
	while (!list_empty(&all->spare_head.link)) {
		struct spare *spare = list_entry(all->spare_head.link.next, struct spare, link);

		kernel_release(spare->kernel);
		forget(spare);
	}
}
