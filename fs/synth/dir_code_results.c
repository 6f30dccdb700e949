// code/NAME/out/N/results/: a file a result and format.
//
// A file's node is that of its result, in a class whose table is the formats: 3.png is the entry
// "png" of the fourth result.
#include "fs/synth/dir_code.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/scope.h"
#include "fs/mount.h"

static struct cell_result *result_of(struct mount *m, const struct synth_node *n)
{
	return cells_result_at(contexts_cells(m->contexts), n->object);
}

static int part_of(const struct cell_result *result, const struct synth_node *n)
{
	return cell_result_part(result, &cell_formats[n->slot - 1]);
}

static ssize_t read_part(
	struct mount *m, const struct synth_node *n, void *data, size_t len, uint64_t off)
{
	struct cell_result *result = result_of(m, n);
	int part = result ? part_of(result, n) : -1;

	return part < 0 ? -ESTALE : cell_result_read(result, (size_t)part, data, len, off);
}

static int size_part(struct mount *m, const struct synth_node *n, uint64_t *ret)
{
	struct cell_result *result = result_of(m, n);
	int part = result ? part_of(result, n) : -1;

	if (part < 0)
		return -ESTALE;
	*ret = result->parts[part].data.size;
	return 0;
}

#define FORMAT(suffix, words)                                                                      \
	{                                                                                          \
		.name = suffix, .help = words, .mode = 0444, .pread = read_part, .size = size_part \
	}

/* In the order of cell_formats. */
static const struct synth_file result_files[] = {
	FORMAT("txt", "as text"),
	FORMAT("html", "as HTML"),
	FORMAT("png", "an image"),
	FORMAT("jpeg", "an image"),
	FORMAT("svg", "an image"),
	FORMAT("tex", "as LaTeX"),
	FORMAT("md", "as Markdown"),
	FORMAT("json", "as JSON"),
	FORMAT("chart.json", "the figure's data and labels"),
	FORMAT("data.json", "the table's rows"),
	FORMAT("pdf", "a document"),
	FORMAT("js", "JavaScript for a page"),
};

static bool result_exists(struct mount *m, uint32_t object)
{
	return cells_result_at(contexts_cells(m->contexts), object);
}

static void result_name(struct mount *m, uint32_t object, struct buf *ret)
{
	struct cell_result *result = cells_result_at(contexts_cells(m->contexts), object);

	if (!result)
		return;
	synth_cell.name(m, result->cell->number, ret);
	buf_printf(ret, "/results/%u.", result->index);
}

static void result_parent(struct mount *m, uint32_t object, struct synth_node *ret)
{
	struct cell_result *result = cells_result_at(contexts_cells(m->contexts), object);

	*ret = (struct synth_node){
		.dir = &synth_results, .object = result ? result->cell->number : 0};
}

const struct synth_dir synth_result = {
	.path = "code/NAME/out/N/results/R.",
	.help = "the formats of a result",
	.files = result_files,
	.files_len = ARRAY_LEN(result_files),
	.exists = result_exists,
	.name = result_name,
	.parent = result_parent,
};

static int emit_result(const struct cell_result *result, synth_emit emit, void *arg)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < cell_formats_len; i++) {
		const struct synth_node n = {
			.dir = &synth_result, .object = result->number, .slot = (unsigned)i + 1};
		char name[48];

		if (cell_result_part(result, &cell_formats[i]) < 0)
			continue;
		snprintf(name, sizeof(name), "%u.%s", result->index, cell_formats[i].suffix);
		r = emit(arg, name, &n);
	}
	return r;
}

static int list_results(struct mount *m, uint32_t object, synth_emit emit, void *arg)
{
	struct cell *cell = cells_at(contexts_cells(m->contexts), object);
	struct list *item;
	int r = 0;

	if (!cell)
		return -ESTALE;
	list_for_each(item, &cell->results)
	{
		r = emit_result(list_entry(item, struct cell_result, link), emit, arg);
		if (r)
			break;
	}
	return r;
}

struct wanted {
	const char *name;
	struct synth_node *ret;
};

static int match(void *arg, const char *name, const struct synth_node *n)
{
	struct wanted *wanted = arg;

	if (strcmp(name, wanted->name) != 0)
		return 0;
	*wanted->ret = *n;
	return 1;
}

static int lookup_result(struct mount *m, uint32_t object, const char *name, struct synth_node *ret)
{
	struct wanted wanted = {.name = name, .ret = ret};
	int r = list_results(m, object, match, &wanted);

	return r == 1 ? 0 : -ENOENT;
}

static bool cell_exists(struct mount *m, uint32_t object)
{
	return cells_at(contexts_cells(m->contexts), object);
}

static void results_name(struct mount *m, uint32_t object, struct buf *ret)
{
	synth_cell.name(m, object, ret);
	buf_add_str(ret, "/results");
}

static void results_parent(struct mount *m, uint32_t object, struct synth_node *ret)
{
	(void)m;
	*ret = (struct synth_node){.dir = &synth_cell, .object = object};
}

const struct synth_dir synth_results = {
	.path = "code/NAME/out/N/results",
	.help = "a file a result and format",
	.exists = cell_exists,
	.name = results_name,
	.lookup = lookup_result,
	.list = list_results,
	.parent = results_parent,
};
