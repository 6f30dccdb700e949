// Synthetic directories listed.
#include "fs/synth/synth_ops.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/scope.h"
#include "fs/files/files.h"
#include "fs/synth/synth.h"
#include "fs/synth/synth_handle.h"

/* The names of a directory as it is now. */
struct names {
	struct mount *m; /* borrowed */
	struct buf text; /* names, each followed by NUL */
	struct buf entries; /* of struct entry, sorted */
};

/* Each part of a listing is made anew and goes on behind the entry that was seen last, whatever has
 * come and gone. So entries are sorted, and found, by what they are. */
struct entry {
	struct synth_node node;
	uint64_t key; /* the offset behind it */
	ino_t ino;
	size_t name_at; /* in text */
};

/* Those of "." and ".." come before all node ids that a table's entry can have. */
static uint64_t key_of(const char *name, const struct synth_node *n)
{
	if (!strcmp(name, "."))
		return 1;
	return strcmp(name, "..") ? synth_ino(n) & INT64_MAX : 2;
}

/* The number that stat gives: a file server's handle of a directory is good only if the directory
 * above lists it under that. */
static ino_t listed_ino(struct mount *m, const struct synth_node *n)
{
	const struct synth_file *file = synth_file_of(n);
	struct stat st;

	if (file && file->type == SYNTH_FILES_ROOT && files_root_attr(m->files, &st) == 0)
		return st.st_ino;
	return synth_st_ino(n);
}

static int add_name(void *arg, const char *name, const struct synth_node *child)
{
	struct names *names = arg;
	struct entry entry = {
		.node = *child,
		.key = key_of(name, child),
		.ino = listed_ino(names->m, child),
		.name_at = names->text.len,
	};

	buf_add(&names->text, name, strlen(name) + 1);
	buf_add(&names->entries, &entry, sizeof(entry));
	return names->text.error ? names->text.error : names->entries.error;
}

static int compare_keys(const void *a, const void *b)
{
	const struct entry *x = a, *y = b;

	return x->key < y->key ? -1 : x->key > y->key;
}

static void clear_names(struct names *names)
{
	buf_clear(&names->text);
	buf_clear(&names->entries);
}

static int list_names(struct mount *m, fuse_ino_t ino, struct names *names)
{
	struct synth_node dir, parent;
	int r = synth_node_of(m, ino, &dir);

	if (r < 0)
		return r;
	synth_parent(m, &dir, &parent);
	r = add_name(names, ".", &dir);
	if (r == 0)
		r = add_name(names, "..", &parent);
	if (r == 0)
		r = synth_list(m, &dir, add_name, names);
	if (r == 0)
		qsort(names->entries.data, names->entries.len / sizeof(struct entry),
			sizeof(struct entry), compare_keys);
	return r;
}

static size_t add_entry(fuse_req_t req, char *at, size_t room, const char *name,
	const struct entry *listed, bool plus)
{
	/* Node id 0: the kernel looks the name up itself when it needs more. */
	struct fuse_entry_param entry = {.attr = {
						 .st_ino = listed->ino,
						 .st_mode = synth_mode(&listed->node),
					 }};
	off_t next = (off_t)listed->key;

	return plus ? fuse_add_direntry_plus(req, at, room, name, &entry, next)
		    : fuse_add_direntry(req, at, room, name, &entry.attr, next);
}

static size_t add_entries(
	fuse_req_t req, const struct names *names, char *data, size_t size, off_t off, bool plus)
{
	const struct entry *entries = (const struct entry *)names->entries.data;
	size_t count = names->entries.len / sizeof(*entries), used = 0;

	for (size_t i = 0; i < count; i++) {
		const struct entry *entry = &entries[i];
		size_t need;

		if (entry->key <= (uint64_t)off)
			continue;
		need = add_entry(req, data + used, size - used, names->text.data + entry->name_at,
			entry, plus);
		if (need > size - used)
			break;
		used += need;
	}
	return used;
}

void synth_readdir(
	struct mount *m, fuse_req_t req, fuse_ino_t ino, size_t size, off_t off, bool plus)
{
	struct names names auto_call(clear_names) = {.m = m};
	char *data auto_free = malloc(size);
	int r = data ? list_names(m, ino, &names) : -ENOMEM;
	size_t len = 0;

	if (r == 0)
		len = add_entries(req, &names, data, size, off, plus);
	/* The kernel, which now has all, keeps nothing of it. */
	if (r == 0 && !len)
		fuse_lowlevel_notify_inval_inode(m->session, ino, 0, 0);
	if (r < 0)
		fuse_reply_err(req, -r);
	else
		fuse_reply_buf(req, data, len);
}
