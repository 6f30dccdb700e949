// checkpoints/: what is stored of the sandbox's project, and checkpoints/N/.
#include "fs/synth/synth.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/json_out.h"
#include "common/scope.h"
#include "fs/checkpoint_jobs.h"
#include "fs/mount.h"
#include "runner/checkpoint/checkpoint_row.h"
#include "runner/checkpoint/checkpoint_view.h"

static const struct store_row *row_of(struct mount *m, uint32_t number)
{
	return checkpoint_view_find(m->view, number);
}

static int lookup(struct mount *m, uint32_t object, const char *name, struct synth_node *ret)
{
	char *end;
	uint64_t number = strtoull(name, &end, 10);

	(void)object;
	if (*name < '1' || *name > '9' || *end || number > UINT32_MAX ||
		!row_of(m, (uint32_t)number))
		return -ENOENT;
	*ret = (struct synth_node){.dir = &synth_checkpoint, .object = (uint32_t)number};
	return 0;
}

static int list(struct mount *m, uint32_t object, synth_emit emit, void *arg)
{
	const struct store_row *rows;
	size_t len = checkpoint_view_rows(m->view, &rows);
	char name[16];
	int r = 0;

	(void)object;
	for (size_t i = 0; i < len && r == 0; i++) {
		const struct synth_node n = {.dir = &synth_checkpoint, .object = rows[i].number};

		snprintf(name, sizeof(name), "%" PRIu32, n.object);
		r = emit(arg, name, &n);
	}
	return r;
}

static int remove_checkpoint(struct mount *m, const struct synth_node *child, struct fail *f)
{
	const struct store_row *row = row_of(m, child->object);
	char sha256[SHA256_HEX_LEN + 1];
	int r;

	if (!row)
		return -ENOENT;
	memcpy(sha256, row->sha256, sizeof(sha256));
	r = checkpoint_view_remove(m->view, child->object, f);
	if (r < 0)
		return r;
	mount_log(m, "checkpoint %" PRIu32 " deleted", child->object);
	checkpoint_jobs_collect(m->checkpoints, sha256);
	return 0;
}

const struct synth_dir synth_checkpoints = {
	.path = "checkpoints",
	.help = "what is stored, newest last",
	.lookup = lookup,
	.list = list,
	.rmdir = remove_checkpoint,
};

/* checkpoints/N/ */

static bool always(struct mount *m, const struct synth_node *n)
{
	(void)m;
	(void)n;
	return true;
}

static int archive_size(struct mount *m, const struct synth_node *n, uint64_t *ret)
{
	const struct store_row *row = row_of(m, n->object);

	*ret = row ? row->size : 0;
	return row ? 0 : -ESTALE;
}

static ssize_t archive_read(
	struct mount *m, const struct synth_node *n, void *data, size_t len, uint64_t off)
{
	const struct store_row *row = row_of(m, n->object);
	ssize_t r = row ? checkpoint_view_read(m->view, row, data, len, off) : -ESTALE;

	return r == -ENOENT ? -EIO : r;
}

static int show_info(struct mount *m, const struct synth_node *n, struct buf *ret)
{
	const struct store_row *row = row_of(m, n->object);
	struct json_out j;

	if (!row)
		return -ESTALE;
	json_out_begin(&j, ret);
	json_out_object(&j, NULL);
	json_out_uint(&j, "number", row->number);
	json_out_string(&j, "project", row->project);
	json_out_bytes(&j, "path", row->path, strlen(row->path));
	checkpoint_row_json(row, &j);
	json_out_uint(&j, "files", row->files);
	json_out_uint(&j, "bytes", row->bytes);
	json_out_object_end(&j);
	return buf_add_char(ret, '\n');
}

/* The node of `tree` is not synthetic; see checkpoint_tree_lookup(). */
static const struct synth_file checkpoint_files[] = {
	{.name = "archive.tar.zst",
		.help = "the archive: tar, compressed with zstd",
		.mode = 0444,
		.pread = archive_read,
		.size = archive_size,
		.final = always},
	{.name = "info.json",
		.help = "its project, path, size, hash and time",
		.mode = 0444,
		.show = show_info},
	{.name = "tree", .help = "its content, read-only", .type = SYNTH_TREE},
};

static bool exists(struct mount *m, uint32_t object)
{
	return row_of(m, object);
}

static void name(struct mount *m, uint32_t object, struct buf *ret)
{
	(void)m;
	buf_printf(ret, "checkpoints/%" PRIu32, object);
}

static void times(struct mount *m, uint32_t object, struct synth_times *ret)
{
	const struct store_row *row = row_of(m, object);

	if (row)
		*ret = (struct synth_times){row->persisted_usec, row->persisted_usec};
}

static void parent(struct mount *m, uint32_t object, struct synth_node *ret)
{
	(void)m;
	(void)object;
	*ret = (struct synth_node){.dir = &synth_checkpoints};
}

const struct synth_dir synth_checkpoint = {
	.path = "checkpoints/N",
	.help = "one checkpoint",
	.files = checkpoint_files,
	.files_len = ARRAY_LEN(checkpoint_files),
	.exists = exists,
	.name = name,
	.times = times,
	.whole = true,
	.parent = parent,
};
