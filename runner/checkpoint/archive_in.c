// Reads an archive that may be hostile: only tar and zstd are understood.
#include "runner/checkpoint/archive_in.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "runner/checkpoint/archive_lib.h"

#define BLOCK (128 * 1024)
#define XATTRS_MAX 256

struct archive_in {
	const struct archive_lib *lib;
	struct archive *archive; /* owned */
	struct archive_entry *entry; /* of archive */
	struct task *task; /* borrowed */
	int fd; /* borrowed */
	off_t off;
	int error; /* of reading, -errno */
	struct archive_xattr xattrs[XATTRS_MAX];
	char block[BLOCK];
};

static la_ssize_t give(struct archive *archive, void *arg, const void **ret)
{
	struct archive_in *in = arg;
	ssize_t n = pread(in->fd, in->block, sizeof(in->block), in->off);

	(void)archive;
	*ret = in->block;
	if (n < 0) {
		in->error = -errno;
		return -1;
	}
	in->off += n;
	return n;
}

static int failed(struct archive_in *in, struct fail *f)
{
	const char *words = in->lib->archive_error_string(in->archive);

	if (in->error < 0)
		return task_failed(in->task, in->error, f, "reading the archive");
	return task_refuse(in->task, TASK_DATA_CORRUPTED, f, "the archive is damaged: %s",
		words ? words : "it cannot be read");
}

int archive_in_open(struct task *t, int fd, struct archive_in **ret, struct fail *f)
{
	const struct archive_lib *lib;
	struct archive_in *in;
	int r = archive_lib_get(&lib, f);

	if (r < 0)
		return r;
	in = calloc(1, sizeof(*in));
	if (!in)
		return -ENOMEM;
	in->lib = lib;
	in->task = t;
	in->fd = fd;
	in->archive = lib->archive_read_new();
	if (!in->archive) {
		free(in);
		return -ENOMEM;
	}
	if (lib->archive_read_support_format_tar(in->archive) != ARCHIVE_OK ||
		lib->archive_read_support_filter_zstd(in->archive) != ARCHIVE_OK ||
		lib->archive_read_open(in->archive, in, NULL, give, NULL) != ARCHIVE_OK) {
		r = failed(in, f);
		archive_in_free(in);
		return r;
	}
	*ret = in;
	return 0;
}

void archive_in_free(struct archive_in *in)
{
	if (!in)
		return;
	in->lib->archive_read_free(in->archive);
	free(in);
}

static size_t read_xattrs(struct archive_in *in)
{
	size_t len = 0;

	in->lib->archive_entry_xattr_reset(in->entry);
	while (len < XATTRS_MAX &&
		in->lib->archive_entry_xattr_next(in->entry, &in->xattrs[len].name,
			&in->xattrs[len].data, &in->xattrs[len].len) == ARCHIVE_OK)
		len++;
	return len;
}

static void read_item(struct archive_in *in, struct archive_item *ret)
{
	const struct archive_lib *lib = in->lib;
	la_int64_t size = lib->archive_entry_size(in->entry);
	long nsec = lib->archive_entry_mtime_nsec(in->entry);

	*ret = (struct archive_item){
		.path = lib->archive_entry_pathname(in->entry),
		.mode = lib->archive_entry_mode(in->entry),
		.uid = lib->archive_entry_uid(in->entry),
		.gid = lib->archive_entry_gid(in->entry),
		.mtime_sec = lib->archive_entry_mtime(in->entry),
		.mtime_nsec = nsec >= 0 && nsec < 1000000000 ? (uint32_t)nsec : 0,
		.size = size > 0 ? (uint64_t)size : 0,
		.target = lib->archive_entry_symlink(in->entry),
		.hardlink = lib->archive_entry_hardlink(in->entry),
		.sparse = lib->archive_entry_sparse_count(in->entry) > 0,
		.xattrs = in->xattrs,
		.xattrs_len = read_xattrs(in),
	};
}

int archive_in_next(struct archive_in *in, struct archive_item *ret, struct fail *f)
{
	int r = in->lib->archive_read_next_header(in->archive, &in->entry);

	if (r == ARCHIVE_EOF)
		return 0;
	if (r < ARCHIVE_WARN)
		return failed(in, f);
	read_item(in, ret);
	return 1;
}

int archive_in_data(
	struct archive_in *in, const void **ret, size_t *ret_len, uint64_t *ret_off, struct fail *f)
{
	la_int64_t off;
	int r = in->lib->archive_read_data_block(in->archive, ret, ret_len, &off);

	if (r == ARCHIVE_EOF)
		return 0;
	if (r < ARCHIVE_WARN || off < 0)
		return failed(in, f);
	*ret_off = (uint64_t)off;
	return 1;
}
