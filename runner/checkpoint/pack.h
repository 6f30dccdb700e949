// Packs a directory into an archive while others may be changing it.
#pragma once

#include <stdint.h>
#include <sys/types.h>

#include "common/buf.h"
#include "common/fail.h"
#include "common/json_out.h"
#include "runner/checkpoint/archive_out.h"
#include "runner/checkpoint/task.h"

#define PACK_LARGEST 10
#define PACK_LISTED_MAX 1000 /* names of skipped and changed files that are kept */

/* Names that are told: each followed by NUL. */
struct pack_names {
	struct buf text;
	uint64_t count; /* of all, also of those that were not kept */
};

struct pack_config {
	struct task *task; /* borrowed */
	int dir_fd; /* borrowed */
	uid_t ids_base;
	uint32_t ids_len;
	const struct buf *exclude; /* borrowed; names of directories besides the usual ones */
	uint64_t max_files, max_content;
	bool measure_excluded; /* look into what is left out, too */
};

struct pack_largest {
	char *path; /* owned */
	uint64_t bytes;
};

struct pack_result {
	uint64_t files, bytes; /* items without the directory itself, and content */
	struct pack_names skipped; /* sockets, FIFOs, devices, mounts */
	struct pack_names changed; /* files that changed while they were read */
	struct pack_largest
		largest[PACK_LARGEST]; /* directories with their content, largest first */
	struct buf excluded; /* of struct pack_excluded; with measure_excluded */
};

/* What leaving out directories of one name saves. */
struct pack_excluded {
	char name[256];
	uint64_t directories, files, bytes;
};

/* Walks the directory into out. ret is to be cleared also after an error; when a limit was exceeded
 * f names the largest directories. */
int pack_directory(const struct pack_config *config, struct archive_out *out,
	struct pack_result *ret, struct fail *f);
void pack_result_clear(struct pack_result *result);

/* An array of the names. */
void pack_names_json(const struct pack_names *names, const char *key, struct json_out *j);
