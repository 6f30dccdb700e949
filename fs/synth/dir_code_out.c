// code/NAME/out/: the executions, and code/NAME/out/N/: what each of them did.
#include "fs/synth/dir_code.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/scope.h"
#include "fs/mount.h"
#include "fs/synth/synth_output.h"

static struct cell *cell_of(struct mount *m, const struct synth_node *n)
{
	return cells_at(contexts_cells(m->contexts), n->object);
}

/* code/NAME/out/ */

static struct cell *newest(struct mount *m, const struct synth_node *n)
{
	struct context *context = dir_code_context(m, n);

	return context ? context_newest(context) : NULL;
}

static bool has_last(struct mount *m, const struct synth_node *n)
{
	return newest(m, n);
}

static int link_last(struct mount *m, const struct synth_node *n, struct buf *ret)
{
	struct cell *cell = newest(m, n);

	return cell ? buf_printf(ret, "%u", cell->count) : -ENOENT;
}

static const struct synth_file cells_files[] = {
	{.name = "last",
		.help = "a link to the newest execution",
		.type = SYNTH_LINK,
		.present = has_last,
		.link = link_last},
};

static void cell_node(const struct cell *cell, struct synth_node *ret)
{
	*ret = (struct synth_node){.dir = &synth_cell, .object = cell->number};
}

static int lookup_cell(struct mount *m, uint32_t object, const char *name, struct synth_node *ret)
{
	struct context *context = contexts_at(m->contexts, object);
	char plain[16];
	struct cell *cell;
	unsigned long count = strtoul(name, NULL, 10);

	/* Only as it is listed: no leading zeros, blanks or signs. */
	snprintf(plain, sizeof(plain), "%u", (uint32_t)count);
	if (!context || strcmp(plain, name) != 0)
		return -ENOENT;
	cell = context_cell(context, (uint32_t)count);
	if (!cell)
		return -ENOENT;
	cell_node(cell, ret);
	return 0;
}

static int list_cells(struct mount *m, uint32_t object, synth_emit emit, void *arg)
{
	struct context *context = contexts_at(m->contexts, object);
	struct list *item;
	int r = 0;

	if (!context)
		return -ESTALE;
	list_for_each(item, &context->cells)
	{
		const struct cell *cell = list_entry(item, struct cell, link);
		struct synth_node n;
		char name[16];

		cell_node(cell, &n);
		snprintf(name, sizeof(name), "%u", cell->count);
		r = emit(arg, name, &n);
		if (r)
			break;
	}
	return r;
}

static int remove_cell(struct mount *m, const struct synth_node *child, struct fail *f)
{
	struct cell *cell = cell_of(m, child);
	struct context *context = cell ? contexts_at(m->contexts, cell->context) : NULL;
	int r = context ? context_forget(context, cell) : -ENOENT;

	return r == -EBUSY ? fail_set(f, r, "it is running; write to `interrupt` first") : r;
}

static bool context_exists(struct mount *m, uint32_t object)
{
	return contexts_at(m->contexts, object);
}

static void cells_name(struct mount *m, uint32_t object, struct buf *ret)
{
	struct context *context = contexts_at(m->contexts, object);

	buf_printf(ret, "code/%s/out", context ? context->name : "?");
}

static void cells_parent(struct mount *m, uint32_t object, struct synth_node *ret)
{
	(void)m;
	*ret = (struct synth_node){.dir = &synth_context, .object = object};
}

const struct synth_dir synth_cells = {
	.path = "code/NAME/out",
	.help = "a directory an execution, and `last`",
	.files = cells_files,
	.files_len = ARRAY_LEN(cells_files),
	.exists = context_exists,
	.name = cells_name,
	.lookup = lookup_cell,
	.list = list_cells,
	.rmdir = remove_cell,
	.parent = cells_parent,
};

/* code/NAME/out/N/ */

static int show_code(struct mount *m, const struct synth_node *n, struct buf *ret)
{
	struct cell *cell = cell_of(m, n);

	return cell ? cell_code(cell, ret) : -ESTALE;
}

static int size_code(struct mount *m, const struct synth_node *n, uint64_t *ret)
{
	struct cell *cell = cell_of(m, n);

	*ret = cell ? cell->code.size : 0;
	return 0;
}

static ssize_t read_events(
	struct mount *m, const struct synth_node *n, void *data, size_t len, uint64_t off)
{
	struct cell *cell = cell_of(m, n);
	ssize_t got = cell ? cell_events_read(cell, data, len, off) : -ESTALE;

	return got == 0 && !cell_is_over(cell) ? -EAGAIN : got;
}

static int size_events(struct mount *m, const struct synth_node *n, uint64_t *ret)
{
	struct cell *cell = cell_of(m, n);

	*ret = cell ? cell->events.size : 0;
	return 0;
}

static struct list *grown(struct mount *m, const struct synth_node *n)
{
	struct cell *cell = cell_of(m, n);

	return cell ? &cell->grown : NULL;
}

static struct list *ended(struct mount *m, const struct synth_node *n)
{
	struct cell *cell = cell_of(m, n);

	return cell ? &cell->ended : NULL;
}

static bool has_error(struct mount *m, const struct synth_node *n)
{
	struct cell *cell = cell_of(m, n);

	return cell && cell->failed && cell_is_over(cell);
}

static int show_error(struct mount *m, const struct synth_node *n, struct buf *ret)
{
	struct cell *cell = cell_of(m, n);

	return cell ? cell_error_text(cell, ret) : -ESTALE;
}

static int show_error_json(struct mount *m, const struct synth_node *n, struct buf *ret)
{
	struct cell *cell = cell_of(m, n);

	return cell ? cell_error_json(cell, ret) : -ESTALE;
}

static int show_status(struct mount *m, const struct synth_node *n, struct buf *ret)
{
	struct cell *cell = cell_of(m, n);

	return cell ? buf_printf(ret, "%s\n", cell_status_name(cell)) : -ESTALE;
}

static int show_result(struct mount *m, const struct synth_node *n, struct buf *ret)
{
	struct cell *cell = cell_of(m, n);

	return cell ? cell_result_json(cell, ret) : -ESTALE;
}

static int size_result(struct mount *m, const struct synth_node *n, uint64_t *ret)
{
	struct cell *cell = cell_of(m, n);
	struct buf content auto_buf = {0};
	int r;

	if (cell && cell->json_size >= 0) {
		*ret = (uint64_t)cell->json_size;
		return 0;
	}
	r = show_result(m, n, &content);
	*ret = content.len;
	if (r == 0 && cell_is_over(cell))
		cell->json_size = (int64_t)content.len;
	return r;
}

static ssize_t read_wait(
	struct mount *m, const struct synth_node *n, void *data, size_t len, uint64_t off)
{
	struct cell *cell = cell_of(m, n);
	char text[16];
	size_t size;

	if (!cell)
		return -ESTALE;
	if (!cell_is_over(cell))
		return -EAGAIN;
	size = (size_t)snprintf(text, sizeof(text), "%s\n", cell_status_name(cell));
	return synth_output_part(text, size, data, len, off);
}

static int size_wait(struct mount *m, const struct synth_node *n, uint64_t *ret)
{
	char text[16];
	ssize_t size = read_wait(m, n, text, sizeof(text), 0);

	*ret = size > 0 ? (uint64_t)size : 0;
	return 0;
}

static const struct synth_file cell_files[] = {
	{.name = "code",
		.help = "the source as given",
		.mode = 0444,
		.show = show_code,
		.size = size_code},
	{.name = "stdout",
		.help = "what it wrote, byte for byte, growing while it runs",
		.mode = 0444,
		.pread = synth_output_read_stdout,
		.size = synth_output_size_stdout},
	{.name = "stderr",
		.help = "the same of its standard error",
		.mode = 0444,
		.pread = synth_output_read_stderr,
		.size = synth_output_size_stderr},
	{.name = "results",
		.help = "a file a result and format: 0.txt, 0.png, 1.html...",
		.type = SYNTH_DIRECTORY,
		.child = &synth_results},
	{.name = "error",
		.help = "the traceback, only when there was an error",
		.mode = 0444,
		.present = has_error,
		.show = show_error},
	{.name = "error.json",
		.help = "{\"name\",\"value\",\"traceback\":[...]}",
		.mode = 0444,
		.present = has_error,
		.show = show_error_json},
	{.name = "status",
		.help = "running, ok, error, timeout, interrupted or died",
		.mode = 0444,
		.show = show_status},
	{.name = "live",
		.help = "the output from the start, and more as it comes until the end",
		.mode = 0444,
		.pread = synth_output_read_live,
		.size = synth_output_size_both,
		.waiters = grown},
	{.name = "wait",
		.help = "reading waits for the end, then gives the status",
		.mode = 0444,
		.pread = read_wait,
		.size = size_wait,
		.waiters = ended},
	{.name = "events",
		.help = "JSON lines as things happen, until the end",
		.mode = 0444,
		.pread = read_events,
		.size = size_events,
		.waiters = grown},
	{.name = "result.json",
		.help = "all of it in one document",
		.mode = 0444,
		.show = show_result,
		.size = size_result},
};

static bool cell_exists(struct mount *m, uint32_t object)
{
	return cells_at(contexts_cells(m->contexts), object);
}

static void cell_name(struct mount *m, uint32_t object, struct buf *ret)
{
	struct cell *cell = cells_at(contexts_cells(m->contexts), object);

	if (cell)
		cells_name(m, cell->context, ret);
	buf_printf(ret, "/%u", cell ? cell->count : 0);
}

static void cell_times(struct mount *m, uint32_t object, struct synth_times *ret)
{
	struct cell *cell = cells_at(contexts_cells(m->contexts), object);

	if (!cell)
		return;
	ret->made_usec = cell->made_usec;
	ret->changed_usec = cell->ended_usec ? cell->ended_usec : cell->made_usec;
}

static int unlink_file(struct mount *m, const struct synth_node *n, struct fail *f)
{
	struct cell *cell = cell_of(m, n);

	if (!cell)
		return -ENOENT;
	if (!cell_is_over(cell))
		return fail_set(f, -EBUSY, "it is running; write to `interrupt` first");
	return fail_set(f, -EACCES, "rmdir the directory: it takes its files along");
}

static void cell_parent(struct mount *m, uint32_t object, struct synth_node *ret)
{
	struct cell *cell = cells_at(contexts_cells(m->contexts), object);

	*ret = (struct synth_node){.dir = &synth_cells, .object = cell ? cell->context : 0};
}

static struct run_output *cell_output_of(struct mount *m, uint32_t object, bool *ret_over)
{
	struct cell *cell = cells_at(contexts_cells(m->contexts), object);

	*ret_over = !cell || cell_is_over(cell);
	return cell ? &cell->output : NULL;
}

const struct synth_dir synth_cell = {
	.path = "code/NAME/out/N",
	.help = "what one execution did",
	.files = cell_files,
	.files_len = ARRAY_LEN(cell_files),
	.exists = cell_exists,
	.name = cell_name,
	.times = cell_times,
	.output = cell_output_of,
	.unlink = unlink_file,
	.parent = cell_parent,
};
