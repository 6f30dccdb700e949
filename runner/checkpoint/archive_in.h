// Reads an archive that may be hostile: only tar and zstd are understood.
#pragma once

#include <stdint.h>
#include <sys/types.h>

#include "common/fail.h"
#include "runner/checkpoint/archive_item.h"
#include "runner/checkpoint/task.h"

struct archive_in;

/* fd is borrowed and read from its beginning. */
int archive_in_open(struct task *t, int fd, struct archive_in **ret, struct fail *f);
void archive_in_free(struct archive_in *in);

/* The next item; 1, 0 at the end, or -errno (TASK_DATA_CORRUPTED). What it points to is valid until
 * the next call. Links' names and the type are as the archive says: nothing is checked here. */
int archive_in_next(struct archive_in *in, struct archive_item *ret, struct fail *f);

/* The next block of the item's content: 1, 0 at its end, -errno. Between blocks are holes. */
int archive_in_data(struct archive_in *in, const void **ret, size_t *ret_len, uint64_t *ret_off,
	struct fail *f);
