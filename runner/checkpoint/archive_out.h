// Writes an archive: tar (pax) compressed with zstd, its hash computed on the way.
#pragma once

#include <stdint.h>

#include "common/fail.h"
#include "runner/checkpoint/archive_item.h"
#include "runner/checkpoint/sha256.h"
#include "runner/checkpoint/task.h"

struct archive_out;

/* fd is borrowed and written from where it is; -1: the archive is only measured. More than
 * max_bytes is refused as TASK_LIMIT_EXCEEDED; 0: no limit. */
int archive_out_open(
	struct task *t, int fd, uint64_t max_bytes, struct archive_out **ret, struct fail *f);
void archive_out_free(struct archive_out *out);

/* Begins an item. A regular file's content follows: item->size bytes in all, data and holes in the
 * order of the ranges when it is sparse. */
int archive_out_item(struct archive_out *out, const struct archive_item *item, struct fail *f);
int archive_out_data(struct archive_out *out, const void *data, size_t len, struct fail *f);
/* So many bytes of a hole, or zeros where there is none. */
int archive_out_zeros(struct archive_out *out, uint64_t len, struct fail *f);

/* Completes the archive; its size and hash. */
int archive_out_close(struct archive_out *out, uint64_t *ret_size,
	char ret_sha256[SHA256_HEX_LEN + 1], struct fail *f);

/* Bytes of the archive so far. */
uint64_t archive_out_size(const struct archive_out *out);
