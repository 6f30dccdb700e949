// What persist, restore and the listings do alike with a project's checkpoints.
#include "runner/checkpoint/checkpoint_row.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/scope.h"
#include "runner/checkpoint/archive_in.h"
#include "runner/checkpoint/extract.h"

#define BLOCK (256 * 1024)

int checkpoint_row_lock(
	struct task *t, struct store *store, const char *project, int *ret, struct fail *f)
{
	int r = store->ops->lock(store, project, ret, f);

	if (r == -EBUSY)
		return task_refuse(t, TASK_CONFLICT, f,
			"another persist or restore of project %s is in progress", project);
	return r;
}

void checkpoint_row_json(const struct store_row *row, struct json_out *j)
{
	char text[CLOCK_ISO_LEN];

	clock_iso(row->persisted_usec, text);
	json_out_uint(j, "size", row->size);
	json_out_string(j, "sha256", row->sha256);
	json_out_string(j, "etag", row->etag);
	json_out_string(j, "persistedAt", text);
}

static int corrupted(struct task *t, const struct store_row *row, const char *why, struct fail *f)
{
	return task_refuse(t, TASK_DATA_CORRUPTED, f, "checkpoint %" PRIu32 " of project %s: %s",
		row->number, row->project, why);
}

static int hash_file(struct task *t, int fd, struct sha256 *hash, struct fail *f)
{
	char *block auto_free = malloc(BLOCK);
	off_t off = 0;
	int r = block ? 0 : -ENOMEM;

	while (r == 0) {
		ssize_t n = pread(fd, block, BLOCK, off);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return task_failed(t, -errno, f, "reading the archive");
		if (n == 0)
			break;
		sha256_add(hash, block, (size_t)n);
		off += n;
		r = task_check(t, f);
	}
	return r;
}

int checkpoint_row_open(
	struct task *t, struct store *store, const struct store_row *row, int *ret, struct fail *f)
{
	char hex[SHA256_HEX_LEN + 1];
	struct sha256 hash auto_call(sha256_clear) = {0};
	auto_close int fd = -1;
	struct stat st;
	int r = store->ops->get(store, row->sha256, &fd);

	if (r == -ENOENT || r == -ELOOP)
		return corrupted(t, row, "its archive is missing", f);
	if (r < 0)
		return task_failed(
			t, r, f, "opening the archive of checkpoint %" PRIu32, row->number);
	if (fstat(fd, &st) < 0)
		return task_failed(t, -errno, f, "the archive");
	if (!S_ISREG(st.st_mode) || (uint64_t)st.st_size != row->size)
		return corrupted(t, row, "its archive is not of the size that was stored", f);
	r = sha256_begin(&hash, f);
	if (r == 0)
		r = hash_file(t, fd, &hash, f);
	if (r < 0)
		return r;
	sha256_end(&hash, hex);
	if (strcmp(hex, row->sha256) != 0)
		return corrupted(t, row, "its archive is damaged: the hash does not match", f);
	*ret = take_fd(&fd);
	return 0;
}

static int extract_content(struct archive_in *in, struct extract *ex, struct fail *f)
{
	const void *data;
	uint64_t off;
	size_t len;
	int r;

	while ((r = archive_in_data(in, &data, &len, &off, f)) > 0) {
		r = extract_data(ex, data, len, off, f);
		if (r < 0)
			return r;
	}
	return r < 0 ? r : extract_item_end(ex, f);
}

static int extract_all(struct archive_in *in, struct extract *ex, struct fail *f)
{
	struct archive_item item;
	int r;

	while ((r = archive_in_next(in, &item, f)) > 0) {
		r = extract_item(ex, &item, f);
		if (r == 0 && S_ISREG(item.mode) && !item.hardlink)
			r = extract_content(in, ex, f);
		if (r < 0)
			return r;
	}
	return r < 0 ? r : extract_end(ex, f);
}

static void free_in(struct archive_in **in)
{
	archive_in_free(*in);
}

int checkpoint_row_extract(const struct store_row *row, int archive_fd,
	const struct extract_config *config, struct fail *f)
{
	struct archive_in *in auto_call(free_in) = NULL;
	struct extract *ex auto_extract = NULL;
	int r = archive_in_open(config->task, archive_fd, &in, f);

	if (r == 0)
		r = extract_begin(config, &ex);
	if (r == 0)
		r = extract_all(in, ex, f);
	if (r < 0)
		return r;
	if (extract_files(ex) != row->files || extract_bytes(ex) != row->bytes)
		return corrupted(config->task, row, "its archive does not hold what was stored", f);
	return 0;
}
