// Packs one file's content and extended attributes, whatever happens to it meanwhile.
#include "runner/checkpoint/pack_file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "common/scope.h"

#define BLOCK (256 * 1024)
#define RANGES_MAX 65536 /* of a sparse file; with more it is read through */
#define XATTRS_MAX 256

int pack_file_begin(
	struct pack_file *p, struct task *t, struct archive_out *out, uint64_t max_content)
{
	*p = (struct pack_file){.task = t, .out = out, .max_content = max_content};
	p->block = malloc(BLOCK);
	p->xattrs = calloc(XATTRS_MAX, sizeof(*p->xattrs));
	return p->block && p->xattrs ? 0 : -ENOMEM;
}

void pack_file_end(struct pack_file *p)
{
	free(p->block);
	free(p->xattrs);
	buf_clear(&p->names);
	buf_clear(&p->values);
	buf_clear(&p->ranges);
}

static int failed(struct pack_file *p, int err, const struct tree_entry *entry, struct fail *f)
{
	return task_failed(p->task, err, f, "reading %s", *entry->path ? entry->path : ".");
}

/* Adds the value of one to p->values; its length, or -errno. */
static ssize_t read_value(struct pack_file *p, int fd, const char *name)
{
	ssize_t len = fgetxattr(fd, name, NULL, 0);

	if (len < 0)
		return -errno;
	if (buf_reserve(&p->values, (size_t)len + 1) < 0)
		return -ENOMEM;
	len = fgetxattr(fd, name, p->values.data + p->values.len, (size_t)len + 1);
	if (len < 0)
		return -errno;
	p->values.len += (size_t)len;
	return len;
}

static int read_names(struct pack_file *p, int fd)
{
	ssize_t len = flistxattr(fd, NULL, 0);

	buf_reset(&p->names);
	buf_reset(&p->values);
	p->xattrs_len = 0;
	if (len == 0 || (len < 0 && errno == EOPNOTSUPP))
		return 0;
	if (len < 0)
		return -errno;
	if (buf_reserve(&p->names, (size_t)len + 256) < 0)
		return -ENOMEM;
	len = flistxattr(fd, p->names.data, (size_t)len + 256);
	if (len < 0)
		return -errno;
	p->names.len = (size_t)len;
	return 0;
}

/* Those that are gone when they are asked for are left out. */
static int read_xattrs(struct pack_file *p, int fd, struct archive_item *item)
{
	int r = read_names(p, fd);
	size_t value = 0;

	for (size_t at = 0; r == 0 && at < p->names.len && p->xattrs_len < XATTRS_MAX;
		at += strlen(p->names.data + at) + 1) {
		const char *name = p->names.data + at;
		ssize_t len;

		if (!archive_item_keeps_xattr(name))
			continue;
		len = read_value(p, fd, name);
		if (len < 0 && len != -ENODATA && len != -ERANGE)
			return (int)len;
		if (len >= 0)
			p->xattrs[p->xattrs_len++] =
				(struct archive_xattr){.name = name, .len = (size_t)len};
	}
	for (size_t i = 0; i < p->xattrs_len; i++) {
		p->xattrs[i].data = buf_text(&p->values) + value;
		value += p->xattrs[i].len;
	}
	item->xattrs = p->xattrs;
	item->xattrs_len = p->xattrs_len;
	return r;
}

int pack_file_dir(struct pack_file *p, const struct tree_entry *entry, struct archive_item *item,
	struct fail *f)
{
	auto_close int fd = tree_walk_reopen(entry->fd, O_RDONLY | O_DIRECTORY);
	int r = fd < 0 ? fd : read_xattrs(p, fd, item);

	return r < 0 ? failed(p, r, entry, f) : archive_out_item(p->out, item, f);
}

/* Where the data of a sparse file is, into p->ranges. */
static int find_ranges(struct pack_file *p, int fd, uint64_t size, struct archive_item *item)
{
	off_t at = 0;

	buf_reset(&p->ranges);
	while ((uint64_t)at < size && p->ranges.len < RANGES_MAX * sizeof(struct archive_range)) {
		struct archive_range range;
		off_t data = lseek(fd, at, SEEK_DATA), hole;

		if (data < 0 && errno != ENXIO)
			return 0;
		if (data < 0 || (uint64_t)data >= size) {
			at = (off_t)size;
			break;
		}
		hole = lseek(fd, data, SEEK_HOLE);
		if (hole <= data || (uint64_t)hole > size)
			hole = (off_t)size;
		range = (struct archive_range){(uint64_t)data, (uint64_t)(hole - data)};
		if (buf_add(&p->ranges, &range, sizeof(range)) < 0)
			return -ENOMEM;
		at = hole;
	}
	if ((uint64_t)at < size)
		return 0;
	item->sparse = true;
	item->ranges = (const struct archive_range *)p->ranges.data;
	item->ranges_len = p->ranges.len / sizeof(struct archive_range);
	return 0;
}

static int check_content(struct pack_file *p, uint64_t more, struct fail *f)
{
	p->content += more;
	atomic_fetch_add_explicit(&p->task->bytes, more, memory_order_relaxed);
	if (p->content > p->max_content)
		return task_refuse(p->task, TASK_LIMIT_EXCEEDED, f,
			"the directory holds more than %" PRIu64 " bytes", p->max_content);
	return task_check(p->task, f);
}

/* Copies a part; what is missing because the file became shorter is zeros. */
static int copy(struct pack_file *p, const struct tree_entry *entry, int fd,
	struct archive_range part, bool *changed, struct fail *f)
{
	int r = 0;

	while (part.len && r == 0) {
		size_t want = part.len < BLOCK ? (size_t)part.len : BLOCK;
		ssize_t n = pread(fd, p->block, want, (off_t)part.off);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return failed(p, -errno, entry, f);
		if (n == 0) {
			*changed = true;
			memset(p->block, 0, want);
			n = (ssize_t)want;
		}
		r = check_content(p, (uint64_t)n, f);
		if (r == 0)
			r = archive_out_data(p->out, p->block, (size_t)n, f);
		part.off += (uint64_t)n;
		part.len -= (uint64_t)n;
	}
	return r;
}

static int copy_sparse(struct pack_file *p, const struct tree_entry *entry, int fd,
	const struct archive_item *item, bool *changed, struct fail *f)
{
	uint64_t at = 0;
	int r = 0;

	for (size_t i = 0; i < item->ranges_len && r == 0; i++) {
		r = archive_out_zeros(p->out, item->ranges[i].off - at, f);
		if (r == 0)
			r = copy(p, entry, fd, item->ranges[i], changed, f);
		at = item->ranges[i].off + item->ranges[i].len;
	}
	return r < 0 ? r : archive_out_zeros(p->out, item->size - at, f);
}

static bool is_same(const struct stat *before, const struct stat *after)
{
	return before->st_size == after->st_size &&
	       before->st_mtim.tv_sec == after->st_mtim.tv_sec &&
	       before->st_mtim.tv_nsec == after->st_mtim.tv_nsec &&
	       before->st_ctim.tv_sec == after->st_ctim.tv_sec &&
	       before->st_ctim.tv_nsec == after->st_ctim.tv_nsec;
}

static int begin(struct pack_file *p, int fd, struct archive_item *item, struct stat *ret)
{
	int r;

	if (fd < 0)
		return fd;
	if (fstat(fd, ret) < 0)
		return -errno;
	item->size = (uint64_t)ret->st_size;
	item->mtime_sec = ret->st_mtim.tv_sec;
	item->mtime_nsec = (uint32_t)ret->st_mtim.tv_nsec;
	r = read_xattrs(p, fd, item);
	if (r == 0 && (uint64_t)ret->st_blocks * 512 < item->size)
		r = find_ranges(p, fd, item->size, item);
	return r;
}

int pack_file_content(struct pack_file *p, const struct tree_entry *entry,
	struct archive_item *item, uint64_t *ret_bytes, bool *ret_changed, struct fail *f)
{
	auto_close int fd = tree_walk_reopen(entry->fd, O_RDONLY | O_NONBLOCK);
	struct archive_range whole = {0};
	uint64_t content = p->content;
	struct stat before, after;
	int r = begin(p, fd, item, &before);

	if (r < 0)
		return failed(p, r, entry, f);
	whole.len = item->size;
	r = archive_out_item(p->out, item, f);
	if (r == 0)
		r = item->sparse ? copy_sparse(p, entry, fd, item, ret_changed, f)
				 : copy(p, entry, fd, whole, ret_changed, f);
	*ret_bytes = p->content - content;
	if (r == 0 && (fstat(fd, &after) < 0 || !is_same(&before, &after)))
		*ret_changed = true;
	return r;
}
