// Synthetic directories listed.
#include "fs/synth_ops.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/scope.h"
#include "fs/files.h"
#include "fs/synth.h"
#include "fs/synth_handle.h"

/* The names of a directory, frozen when it was opened. */
struct names {
	struct mount *m; /* borrowed */
	struct buf text; /* names, each followed by NUL */
	struct buf entries; /* of struct entry, sorted */
	int error;
	struct list link; /* in mount.open_dirs */
	bool whole; /* its parts go with it only */
	pid_t pid; /* who opened it */
};

/* A file server opens the directory anew for each part of a listing and goes on behind the entry that
 * it has seen last, whatever has come and gone. So entries are sorted, and found, by what they are. */
struct entry {
	struct synth_node node;
	uint64_t key; /* the offset behind it */
	ino_t ino;
	size_t name_at; /* in text */
};

bool synth_is_removing(struct mount *m, fuse_req_t req)
{
	struct list *item;

	list_for_each(item, &m->open_dirs)
	{
		const struct names *names = list_entry(item, struct names, link);

		if (names->whole && names->pid == fuse_req_ctx(req)->pid)
			return true;
	}
	return false;
}

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

static void free_names(struct names *names)
{
	list_remove(&names->link);
	buf_clear(&names->text);
	buf_clear(&names->entries);
	free(names);
}

void synth_opendir(struct mount *m, fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	struct names *names = calloc(1, sizeof(*names));
	struct synth_node dir, parent;
	int r = names ? synth_node_of(m, ino, &dir) : -ENOMEM;

	if (names) {
		names->m = m;
		list_init(&names->link);
	}
	if (r == 0) {
		synth_parent(m, &dir, &parent);
		r = add_name(names, ".", &dir);
	}
	if (r == 0)
		r = add_name(names, "..", &parent);
	if (r == 0)
		r = synth_list(m, &dir, add_name, names);
	if (r == 0)
		qsort(names->entries.data, names->entries.len / sizeof(struct entry),
			sizeof(struct entry), compare_keys);
	fi->fh = (uintptr_t)names;
	if (r == 0) {
		names->whole = dir.dir->whole;
		names->pid = fuse_req_ctx(req)->pid;
		list_add_tail(&m->open_dirs, &names->link);
	}
	if (r == 0 && fuse_reply_open(req, fi) == 0)
		return;
	if (names)
		free_names(names);
	if (r < 0)
		fuse_reply_err(req, -r);
}

void synth_releasedir(struct mount *m, fuse_req_t req, struct fuse_file_info *fi)
{
	struct names *names = (struct names *)(uintptr_t)fi->fh;

	(void)m;
	free_names(names);
	fuse_reply_err(req, 0);
}

void synth_dirs_close(struct mount *m)
{
	while (!list_empty(&m->open_dirs))
		free_names(list_entry(m->open_dirs.next, struct names, link));
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

void synth_readdir(struct mount *m, fuse_req_t req, size_t size, off_t off,
	struct fuse_file_info *fi, bool plus)
{
	const struct names *names = (const struct names *)(uintptr_t)fi->fh;
	const struct entry *entries = (const struct entry *)names->entries.data;
	size_t count = names->entries.len / sizeof(*entries), used = 0;
	char *data auto_free = malloc(size);

	(void)m;
	if (!data) {
		fuse_reply_err(req, ENOMEM);
		return;
	}
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
	fuse_reply_buf(req, data, used);
}
