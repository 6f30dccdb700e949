// Puts an archive's items below a directory, trusting neither the archive nor what others do there
// meanwhile: every name is taken one component at a time, no link is followed, nothing that exists
// is written to.
#pragma once

#include <stdint.h>
#include <sys/types.h>

#include "common/fail.h"
#include "runner/checkpoint/archive_item.h"
#include "runner/checkpoint/task.h"

struct extract_config {
	struct task *task; /* borrowed */
	int dir_fd; /* borrowed; an empty directory, not O_PATH */
	uid_t ids_base; /* sandbox id n becomes ids_base + n... */
	uint32_t ids_len; /* ...if it is below this, else that of sandbox id 0 */
	uint64_t max_files; /* items */
	uint64_t max_bytes; /* of content; holes do not count */
};

struct extract;

int extract_begin(const struct extract_config *config, struct extract **ret);
void extract_free(struct extract *ex);

/* Makes one item; what a directory is at its end (mode, time) comes when it is left. Refused as
 * TASK_DATA_CORRUPTED: a path that leads out, a name that was there already, a device, a link
 * to what is not there. TASK_LIMIT_EXCEEDED: too many or too large. */
int extract_item(struct extract *ex, const struct archive_item *item, struct fail *f);
/* A block of the content of the last item, a regular file. */
int extract_data(struct extract *ex, const void *data, size_t len, uint64_t off, struct fail *f);
/* The last item has all its content. */
int extract_item_end(struct extract *ex, struct fail *f);

/* All items were given. */
int extract_end(struct extract *ex, struct fail *f);

/* What was made: items without the directory itself, and bytes of content. */
uint64_t extract_files(const struct extract *ex);
uint64_t extract_bytes(const struct extract *ex);

#define auto_extract __attribute__((cleanup(extract_drop)))
static inline void extract_drop(struct extract **ex)
{
	extract_free(*ex);
}
