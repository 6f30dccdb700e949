// Packs one file's content and extended attributes, whatever happens to it meanwhile: the archive
// stays well-formed.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "common/buf.h"
#include "common/fail.h"
#include "runner/checkpoint/archive_out.h"
#include "runner/checkpoint/task.h"
#include "runner/checkpoint/tree_walk.h"

struct pack_file {
	struct task *task; /* borrowed, both */
	struct archive_out *out;
	uint64_t max_content, content;
	char *block; /* owned; for reading */
	struct buf names, values; /* of extended attributes */
	struct archive_xattr *xattrs; /* owned */
	size_t xattrs_len, xattrs_room;
	struct buf ranges; /* of struct archive_range */
};

int pack_file_begin(
	struct pack_file *p, struct task *t, struct archive_out *out, uint64_t max_content);
void pack_file_end(struct pack_file *p);

/* A directory with its extended attributes. */
int pack_file_dir(struct pack_file *p, const struct tree_entry *entry, struct archive_item *item,
	struct fail *f);

/* A regular file: bytes of content that were read (holes do not count), and whether it changed. */
int pack_file_content(struct pack_file *p, const struct tree_entry *entry,
	struct archive_item *item, uint64_t *ret_bytes, bool *ret_changed, struct fail *f);
