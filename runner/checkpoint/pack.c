// Packs a directory into an archive while others may be changing it.
#include "runner/checkpoint/pack.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <search.h>
#include <stdlib.h>
#include <string.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "common/scope.h"
#include "runner/checkpoint/pack_file.h"
#include "runner/checkpoint/pack_names.h"
#include "runner/checkpoint/tree_walk.h"

#define NO_ID 65534 /* of files whose owner is not one of the sandbox's */

struct pack {
	const struct pack_config *config; /* borrowed, all three */
	struct archive_out *out;
	struct pack_result *result;
	struct pack_file file;
	void *links; /* tsearch() tree of struct hardlink */
	uint64_t *sums; /* owned; bytes in each directory of the present path */
	size_t depth, room;
	struct buf path; /* of the present item */
};

/* The first name of an inode that has several. */
struct hardlink {
	uint64_t ino;
	uint32_t major, minor;
	char path[];
};

static int by_inode(const void *a, const void *b)
{
	const struct hardlink *x = a, *y = b;

	if (x->ino != y->ino)
		return x->ino < y->ino ? -1 : 1;
	if (x->major != y->major)
		return x->major < y->major ? -1 : 1;
	return x->minor < y->minor ? -1 : x->minor > y->minor;
}

static const char *first_name(const struct pack *p, const struct statx *sx)
{
	const struct hardlink key = {
		.ino = sx->stx_ino, .major = sx->stx_dev_major, .minor = sx->stx_dev_minor};
	struct hardlink **found = tfind(&key, &p->links, by_inode);

	return found ? (*found)->path : NULL;
}

static int keep_name(struct pack *p, const struct tree_entry *entry)
{
	size_t len = strlen(entry->path) + 1;
	struct hardlink *link;

	if (S_ISDIR(entry->sx.stx_mode) || entry->sx.stx_nlink < 2)
		return 0;
	link = calloc(1, sizeof(*link) + len);
	if (!link)
		return -ENOMEM;
	link->ino = entry->sx.stx_ino;
	link->major = entry->sx.stx_dev_major;
	link->minor = entry->sx.stx_dev_minor;
	memcpy(link->path, entry->path, len);
	if (tsearch(link, &p->links, by_inode))
		return 0;
	free(link);
	return -ENOMEM;
}

static int64_t shown_id(const struct pack *p, uid_t id)
{
	return id >= p->config->ids_base && id - p->config->ids_base < p->config->ids_len
		       ? (int64_t)(id - p->config->ids_base)
		       : NO_ID;
}

static void fill_item(
	const struct pack *p, const struct tree_entry *entry, struct archive_item *ret)
{
	*ret = (struct archive_item){
		.path = *entry->path ? entry->path : ".",
		.mode = entry->sx.stx_mode,
		.uid = shown_id(p, entry->sx.stx_uid),
		.gid = shown_id(p, entry->sx.stx_gid),
		.mtime_sec = entry->sx.stx_mtime.tv_sec,
		.mtime_nsec = entry->sx.stx_mtime.tv_nsec,
	};
}

static int pack_link(
	struct pack *p, const struct tree_entry *entry, struct archive_item *item, struct fail *f)
{
	char target[PATH_MAX];
	ssize_t len = readlinkat(entry->fd, "", target, sizeof(target) - 1);
	int r;

	if (len < 0)
		return task_failed(p->config->task, -errno, f, "%s", entry->path);
	target[len] = '\0';
	item->target = target;
	r = archive_out_item(p->out, item, f);
	item->target = NULL;
	return r;
}

static int pack_dir(
	struct pack *p, const struct tree_entry *entry, struct archive_item *item, struct fail *f)
{
	size_t room = p->room ? 2 * p->room : 16;
	uint64_t *sums;
	int r = pack_file_dir(&p->file, entry, item, f);

	if (r < 0)
		return r;
	if (p->depth == p->room) {
		sums = realloc(p->sums, room * sizeof(*sums));
		if (!sums)
			return -ENOMEM;
		p->sums = sums;
		p->room = room;
	}
	p->sums[p->depth++] = 0;
	return 0;
}

static int pack_item(struct pack *p, const struct tree_entry *entry, struct fail *f)
{
	struct archive_item item;
	bool changed = false;
	uint64_t bytes = 0;
	int r;

	fill_item(p, entry, &item);
	if (!S_ISDIR(item.mode) && entry->sx.stx_nlink > 1)
		item.hardlink = first_name(p, &entry->sx);
	if (item.hardlink) {
		return archive_out_item(p->out, &item, f);
	} else if (S_ISDIR(item.mode)) {
		return pack_dir(p, entry, &item, f);
	} else if (S_ISLNK(item.mode)) {
		r = pack_link(p, entry, &item, f);
	} else {
		r = pack_file_content(&p->file, entry, &item, &bytes, &changed, f);
		p->result->bytes += bytes;
		p->sums[p->depth - 1] += bytes;
	}
	if (r == 0 && changed)
		r = pack_names_add(&p->result->changed, entry->path);
	return r < 0 ? r : keep_name(p, entry);
}

static int count(struct pack *p, struct fail *f)
{
	p->result->files++;
	atomic_fetch_add_explicit(&p->config->task->files, 1, memory_order_relaxed);
	if (p->result->files <= p->config->max_files)
		return 0;
	return task_refuse(p->config->task, TASK_LIMIT_EXCEEDED, f,
		"the directory holds more than %" PRIu64 " files", p->config->max_files);
}

static bool is_excluded(void *arg, const struct tree_entry *entry)
{
	const struct pack *p = arg;

	return *entry->path && S_ISDIR(entry->sx.stx_mode) &&
	       pack_names_is_excluded(entry->name, p->config->exclude);
}

static bool is_special(const struct tree_entry *entry)
{
	mode_t type = entry->sx.stx_mode & S_IFMT;

	if (type == S_IFDIR)
		return *entry->path && (entry->sx.stx_attributes & STATX_ATTR_MOUNT_ROOT);
	return type != S_IFREG && type != S_IFLNK;
}

static int visit(void *arg, const struct tree_entry *entry, struct fail *f)
{
	struct pack *p = arg;
	int r;

	if (is_special(entry))
		return pack_names_add(&p->result->skipped, entry->path);
	if (is_excluded(p, entry))
		return p->config->measure_excluded
			       ? pack_names_measure(p->config->task, entry, &p->result->excluded, f)
			       : 0;
	buf_reset(&p->path);
	r = buf_add_str(&p->path, entry->path);
	if (r == 0 && *entry->path)
		r = count(p, f);
	return r < 0 ? r : pack_item(p, entry, f);
}

static int leave(void *arg, const struct tree_entry *entry, struct fail *f)
{
	struct pack *p = arg;
	uint64_t bytes = p->sums[--p->depth];

	(void)f;
	if (p->depth)
		p->sums[p->depth - 1] += bytes;
	return *entry->path ? pack_names_largest(p->result, entry->path, bytes) : 0;
}

static int vanished(void *arg, const char *path)
{
	struct pack *p = arg;

	return pack_names_add(&p->result->changed, path);
}

/* A limit was exceeded in the middle: the directories under way count with what they had so far. */
static void leave_all(struct pack *p)
{
	char *path = p->path.data;

	while (p->depth > 1) {
		uint64_t bytes = p->sums[--p->depth];
		char *slash = path ? strrchr(path, '/') : NULL;

		p->sums[p->depth - 1] += bytes;
		if (slash) {
			*slash = '\0';
			pack_names_largest(p->result, path, bytes);
		}
	}
}

static void free_link(void *link)
{
	free(link);
}

int pack_directory(const struct pack_config *config, struct archive_out *out,
	struct pack_result *ret, struct fail *f)
{
	static const struct tree_visitor visitor = {
		.visit = visit, .leave = leave, .excluded = is_excluded, .vanished = vanished};
	struct pack p = {.config = config, .out = out, .result = ret};
	int r;

	*ret = (struct pack_result){0};
	r = pack_file_begin(&p.file, config->task, out, config->max_content);
	if (r == 0)
		r = tree_walk(config->task, config->dir_fd, &visitor, &p, f);
	if (r < 0 && config->task->code == TASK_LIMIT_EXCEEDED) {
		leave_all(&p);
		pack_names_advise(ret, f);
	}
	pack_file_end(&p.file);
	tdestroy(p.links, free_link);
	free(p.sums);
	buf_clear(&p.path);
	return r;
}

void pack_result_clear(struct pack_result *result)
{
	for (size_t i = 0; i < PACK_LARGEST; i++)
		free(result->largest[i].path);
	buf_clear(&result->skipped.text);
	buf_clear(&result->changed.text);
	buf_clear(&result->excluded);
}
