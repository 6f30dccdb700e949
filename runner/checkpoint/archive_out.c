// Writes an archive: tar (pax) compressed with zstd, its hash computed on the way.
#include "runner/checkpoint/archive_out.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "runner/checkpoint/archive_lib.h"

#define BLOCK (128 * 1024)
#define ZEROS_LEN ((size_t)1 << 20)

struct archive_out {
	const struct archive_lib *lib;
	struct archive *archive; /* owned */
	struct archive_entry *entry; /* owned, used for each item */
	struct task *task; /* borrowed */
	struct sha256 hash;
	int fd; /* borrowed; -1: measure only */
	uint64_t size, max_bytes;
	int error; /* of writing, -errno */
	char *zeros; /* owned; ZEROS_LEN bytes of untouched memory */
	bool closed;
	bool given_up; /* what is still written is thrown away */
};

static int write_all(int fd, const char *data, size_t len)
{
	while (len) {
		ssize_t n = write(fd, data, len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		data += n;
		len -= (size_t)n;
	}
	return 0;
}

/* libarchive's writer; -1 ends the archive. */
static la_ssize_t take(struct archive *archive, void *arg, const void *data, size_t len)
{
	struct archive_out *out = arg;

	(void)archive;
	if (out->given_up)
		return (la_ssize_t)len;
	if (out->error == 0 && out->max_bytes && len > out->max_bytes - out->size)
		out->error = -EFBIG;
	if (out->error == 0 && out->fd >= 0) {
		sha256_add(&out->hash, data, len);
		out->error = write_all(out->fd, data, len);
	}
	if (out->error < 0)
		return -1;
	out->size += len;
	return (la_ssize_t)len;
}

/* Why a call of libarchive failed. */
static int failed(struct archive_out *out, struct fail *f)
{
	const char *words = out->lib->archive_error_string(out->archive);

	if (out->error == -EFBIG)
		return task_refuse(out->task, TASK_LIMIT_EXCEEDED, f,
			"the archive exceeds %" PRIu64 " bytes (max_bytes=)", out->max_bytes);
	if (out->error < 0)
		return task_failed(out->task, out->error, f, "writing the archive");
	return task_refuse(out->task, TASK_FAILED_OPERATION, f, "writing the archive: %s",
		words ? words : "out of memory");
}

static int set_up(struct archive_out *out, struct fail *f)
{
	const struct archive_lib *lib = out->lib;
	int r;

	out->archive = lib->archive_write_new();
	out->entry = lib->archive_entry_new();
	out->zeros = mmap(NULL, ZEROS_LEN, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (!out->archive || !out->entry || out->zeros == MAP_FAILED)
		return -ENOMEM;
	r = sha256_begin(&out->hash, f);
	if (r < 0)
		return r;
	/* Names are of any bytes; extended attributes as GNU tar and bsdtar both read them. */
	if (lib->archive_write_set_format_pax(out->archive) != ARCHIVE_OK ||
		lib->archive_write_add_filter_zstd(out->archive) != ARCHIVE_OK ||
		lib->archive_write_set_options(out->archive,
			"pax:hdrcharset=BINARY,pax:xattrheader=SCHILY,zstd:compression-level=3") !=
			ARCHIVE_OK ||
		lib->archive_write_set_bytes_per_block(out->archive, BLOCK) != ARCHIVE_OK ||
		lib->archive_write_set_bytes_in_last_block(out->archive, 1) != ARCHIVE_OK ||
		lib->archive_write_open2(out->archive, out, NULL, take, NULL, NULL) != ARCHIVE_OK)
		return failed(out, f);
	return 0;
}

int archive_out_open(
	struct task *t, int fd, uint64_t max_bytes, struct archive_out **ret, struct fail *f)
{
	const struct archive_lib *lib;
	struct archive_out *out;
	int r = archive_lib_get(&lib, f);

	if (r < 0)
		return r;
	out = calloc(1, sizeof(*out));
	if (!out)
		return -ENOMEM;
	out->lib = lib;
	out->task = t;
	out->fd = fd;
	out->max_bytes = max_bytes;
	r = set_up(out, f);
	if (r < 0) {
		archive_out_free(out);
		return r;
	}
	*ret = out;
	return 0;
}

void archive_out_free(struct archive_out *out)
{
	if (!out)
		return;
	/* A failed archive is not filled up to its last entry's size; closed, it gives its memory back,
	 * which freeing alone does not (libarchive 3.6). What closing writes goes nowhere. */
	if (out->archive && !out->closed) {
		out->given_up = true;
		out->lib->archive_write_fail(out->archive);
		out->lib->archive_write_close(out->archive);
	}
	if (out->archive)
		out->lib->archive_write_free(out->archive);
	if (out->entry)
		out->lib->archive_entry_free(out->entry);
	if (out->zeros && out->zeros != MAP_FAILED)
		munmap(out->zeros, ZEROS_LEN);
	sha256_clear(&out->hash);
	free(out);
}

static void fill_entry(
	const struct archive_lib *lib, struct archive_entry *e, const struct archive_item *item)
{
	lib->archive_entry_clear(e);
	lib->archive_entry_copy_pathname(e, item->path);
	lib->archive_entry_set_mode(e, item->mode);
	lib->archive_entry_set_uid(e, item->uid);
	lib->archive_entry_set_gid(e, item->gid);
	lib->archive_entry_set_mtime(e, item->mtime_sec, (long)item->mtime_nsec);
	lib->archive_entry_set_size(e, item->hardlink ? 0 : (la_int64_t)item->size);
	if (item->hardlink)
		lib->archive_entry_copy_hardlink(e, item->hardlink);
	else if (item->target)
		lib->archive_entry_copy_symlink(e, item->target);
	for (size_t i = 0; i < item->xattrs_len; i++)
		lib->archive_entry_xattr_add_entry(
			e, item->xattrs[i].name, item->xattrs[i].data, item->xattrs[i].len);
	if (!item->sparse)
		return;
	for (size_t i = 0; i < item->ranges_len; i++)
		lib->archive_entry_sparse_add_entry(
			e, (la_int64_t)item->ranges[i].off, (la_int64_t)item->ranges[i].len);
	if (item->ranges_len == 0) /* all of it is a hole */
		lib->archive_entry_sparse_add_entry(e, (la_int64_t)item->size, 0);
}

int archive_out_item(struct archive_out *out, const struct archive_item *item, struct fail *f)
{
	int r;

	fill_entry(out->lib, out->entry, item);
	r = out->lib->archive_write_header(out->archive, out->entry);
	/* A warning is about names that are not UTF-8: they are stored as they are. */
	return r < ARCHIVE_WARN ? failed(out, f) : 0;
}

int archive_out_data(struct archive_out *out, const void *data, size_t len, struct fail *f)
{
	const char *at = data;

	while (len) {
		la_ssize_t n = out->lib->archive_write_data(out->archive, at, len);

		if (n <= 0)
			return failed(out, f);
		at += n;
		len -= (size_t)n;
	}
	return 0;
}

int archive_out_zeros(struct archive_out *out, uint64_t len, struct fail *f)
{
	int r = 0;

	while (len && r == 0) {
		size_t part = len < ZEROS_LEN ? (size_t)len : ZEROS_LEN;

		r = archive_out_data(out, out->zeros, part, f);
		if (r == 0)
			r = task_check(out->task, f);
		len -= part;
	}
	return r;
}

int archive_out_close(struct archive_out *out, uint64_t *ret_size,
	char ret_sha256[SHA256_HEX_LEN + 1], struct fail *f)
{
	out->closed = true;
	if (out->lib->archive_write_close(out->archive) != ARCHIVE_OK || out->error < 0)
		return failed(out, f);
	*ret_size = out->size;
	sha256_end(&out->hash, ret_sha256);
	return 0;
}

uint64_t archive_out_size(const struct archive_out *out)
{
	return out->size;
}
