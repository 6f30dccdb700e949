// Synthetic files: node ids, names and content, from the tables.
#include "fs/synth/synth.h"

#include <errno.h>
#include <string.h>

#include "common/scope.h"
#include "common/waiters.h"
#include "fs/mount.h"
#include "fs/synth/control.h"
#include "fs/synth/scratch.h"

#define SYNTH_BIT (1ULL << 63)

const struct synth_dir *const synth_dirs[] = {&synth_root, &synth_ctl, &synth_out, &synth_run,
	&synth_code, &synth_context, &synth_cells, &synth_cell, &synth_results, &synth_result,
	&synth_checkpoints, &synth_checkpoint, &synth_browser, &synth_pages, &synth_page,
	&synth_ports};
const size_t synth_dirs_len = ARRAY_LEN(synth_dirs);

uint64_t synth_ino(const struct synth_node *n)
{
	uint64_t class = 0;

	if (n->dir == &synth_root && n->slot == 0)
		return 1;
	while (synth_dirs[class] != n->dir)
		class ++;
	return SYNTH_BIT | class << 57 | (uint64_t)n->object << 25 | (uint64_t)n->slot << 16 |
	       n->instance;
}

uint64_t synth_ino_plain(uint64_t ino)
{
	return (ino >> 16 & 511) == SYNTH_SCRATCH ? ino : ino & ~(uint64_t)UINT16_MAX;
}

int synth_node_of(struct mount *m, uint64_t ino, struct synth_node *ret)
{
	size_t class = ino >> 57 & 63;

	if (ino == 1) {
		*ret = (struct synth_node){.dir = &synth_root};
		return 0;
	}
	if (!(ino & SYNTH_BIT) || class >= synth_dirs_len)
		return -ESTALE;
	*ret = (struct synth_node){
		.dir = synth_dirs[class],
		.object = (uint32_t)(ino >> 25),
		.slot = ino >> 16 & 511,
		.instance = (uint16_t)ino,
	};
	if (ret->slot != SYNTH_SCRATCH && ret->slot > ret->dir->files_len)
		return -ESTALE;
	if (ret->slot == SYNTH_SCRATCH && !scratch_of(m, ret))
		return -ESTALE;
	return !ret->dir->exists || ret->dir->exists(m, ret->object) ? 0 : -ESTALE;
}

const struct synth_file *synth_file_of(const struct synth_node *n)
{
	return n->slot && n->slot <= n->dir->files_len ? &n->dir->files[n->slot - 1] : NULL;
}

const struct synth_file *synth_find(const struct synth_dir *dir, const char *name)
{
	for (size_t i = 0; i < dir->files_len; i++)
		if (!strcmp(dir->files[i].name, name))
			return &dir->files[i];
	return NULL;
}

/* The node of a table's entry; false when it is not present now. */
static bool entry_node(struct mount *m, const struct synth_node *dir, const struct synth_file *file,
	struct synth_node *ret)
{
	*ret = (struct synth_node){.dir = dir->dir,
		.object = dir->object,
		.slot = (unsigned)(file - dir->dir->files) + 1};
	if (file->present && !file->present(m, ret))
		return false;
	if (file->type == SYNTH_DIRECTORY)
		*ret = (struct synth_node){.dir = file->child, .object = dir->object};
	return true;
}

int synth_child(
	struct mount *m, const struct synth_node *dir, const char *name, struct synth_node *ret)
{
	const struct synth_file *file;

	if (dir->slot)
		return -ENOTDIR;
	file = synth_find(dir->dir, name);
	if (file && entry_node(m, dir, file, ret))
		return 0;
	if (dir->dir->scratch && scratch_find(m, dir, name, ret))
		return 0;
	return dir->dir->lookup ? dir->dir->lookup(m, dir->object, name, ret) : -ENOENT;
}

int synth_list(struct mount *m, const struct synth_node *dir, synth_emit emit, void *arg)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < dir->dir->files_len; i++) {
		struct synth_node child;

		if (entry_node(m, dir, &dir->dir->files[i], &child))
			r = emit(arg, dir->dir->files[i].name, &child);
	}
	if (r == 0 && dir->dir->list)
		r = dir->dir->list(m, dir->object, emit, arg);
	if (r == 0 && dir->dir->scratch)
		r = scratch_list(m, dir, emit, arg);
	return r;
}

void synth_path(struct mount *m, const struct synth_node *n, struct buf *ret)
{
	const struct synth_file *file = synth_file_of(n);
	const struct scratch *scratch = n->slot == SYNTH_SCRATCH ? scratch_of(m, n) : NULL;
	const char *name = file ? file->name : scratch ? scratch->name : NULL;

	if (n->dir->name)
		n->dir->name(m, n->object, ret);
	else
		buf_add_str(ret, n->dir->path);
	if (!name || !*name)
		return;
	if (ret->len)
		buf_add_char(ret, '/');
	buf_add_str(ret, name);
}

int synth_content(struct mount *m, const struct synth_node *n, struct buf *ret)
{
	const struct synth_file *file = synth_file_of(n);

	if (!file)
		return -EISDIR;
	if (file->show)
		return file->show(m, n, ret);
	if (file->control)
		return control_usage(file, ret);
	return 0;
}

void synth_freeze_end(struct synth_freeze *freeze, int error)
{
	freeze->going = false;
	freeze->error = error;
	waiters_wake(&freeze->ended);
}

/* What the reader that opened this node id holds; NULL: nobody does. */
static const struct synth_freeze *find_frozen(struct mount *m, const struct synth_node *n)
{
	struct list *item;

	list_for_each(item, &m->frozen)
	{
		const struct synth_freeze *freeze = list_entry(item, struct synth_freeze, link);

		if (freeze->node.dir == n->dir && freeze->node.object == n->object &&
			freeze->node.slot == n->slot && freeze->node.instance == n->instance)
			return freeze;
	}
	return NULL;
}

int synth_size(struct mount *m, const struct synth_node *n, uint64_t *ret)
{
	const struct synth_file *file = synth_file_of(n);
	const struct synth_freeze *frozen = file && file->freeze ? find_frozen(m, n) : NULL;
	struct buf content auto_buf = {0};
	int r;

	if (frozen && !frozen->going) {
		*ret = frozen->content.len;
		return 0;
	}

	if (file && file->size)
		return file->size(m, n, ret);
	if (!file || file->pread) {
		*ret = 0;
		return 0;
	}
	r = synth_content(m, n, &content);
	*ret = content.len;
	return r;
}
