// What persist, restore and the listings do alike with a project's checkpoints.
#pragma once

#include "common/json_out.h"
#include "runner/checkpoint/store.h"
#include "runner/checkpoint/task.h"

/* Locks the project: TASK_CONFLICT when somebody else persists or restores it. */
int checkpoint_row_lock(
	struct task *t, struct store *store, const char *project, int *ret, struct fail *f);

/* "size", "sha256", "etag", "persistedAt" of an object. */
void checkpoint_row_json(const struct store_row *row, struct json_out *j);

/* Opens a checkpoint's archive and verifies size and hash: TASK_DATA_CORRUPTED. */
int checkpoint_row_open(
	struct task *t, struct store *store, const struct store_row *row, int *ret, struct fail *f);

/* Extracts an open archive below dir_fd and compares what came out with the row. */
struct extract_config;
int checkpoint_row_extract(const struct store_row *row, int archive_fd,
	const struct extract_config *config, struct fail *f);
