// Editors' temporary files beside control files: in memory, small, few, never executed by
// themselves.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "common/buf.h"
#include "common/list.h"
#include "fs/synth/synth.h"

#define SCRATCH_BYTES (1024 * 1024) /* at most, each */
#define SCRATCH_FILES 64 /* at most, a directory */

struct scratch {
	struct list link; /* in mount.scratch */
	struct synth_node node;
	char *name; /* owned; NULL once unlinked while open */
	struct buf data;
	uint64_t changed_usec;
	unsigned open; /* handles */
};

/* Whether an editor would name a temporary file so: .NAME, NAME~, digits, sedXXXXXX, #NAME#,
 * tmpXXX, or a control file's name with a suffix (run.tmp, run-new). */
bool scratch_name_ok(const struct synth_dir *dir, const char *name);

/* flags are open()'s. -ENOENT: no name for a temporary file, -EEXIST, -ENOSPC: too many, -ENOMEM. */
int scratch_create(struct mount *m, const struct synth_node *dir, const char *name, int flags,
	struct scratch **ret);
bool scratch_find(
	struct mount *m, const struct synth_node *dir, const char *name, struct synth_node *ret);
struct scratch *scratch_of(struct mount *m, const struct synth_node *n);
int scratch_list(struct mount *m, const struct synth_node *dir, synth_emit emit, void *arg);

/* -EFBIG over SCRATCH_BYTES. */
int scratch_write(struct scratch *s, const void *data, size_t len, uint64_t off);
int scratch_truncate(struct scratch *s, uint64_t size);
int scratch_rename(struct mount *m, struct scratch *s, const char *name);

/* Takes the name away; the rest goes with the last handle. */
void scratch_unlink(struct scratch *s);
void scratch_close(struct scratch *s);
void scratch_free_all(struct mount *m);
