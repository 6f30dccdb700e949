// The index of a store in SQLite: which checkpoints there are, of which project.
#pragma once

#include "runner/checkpoint/store.h"

struct store_index;

/* dir_path: the store's directory; busy_msec: how long to wait for others that change it. The errors of SQLite as -errno (-ENOSPC, -EBADMSG: the index is
 * damaged, -EPROTO: written by a newer version), with words. */
int store_index_open(
	const char *dir_path, unsigned busy_msec, struct store_index **ret, struct fail *f);
void store_index_close(struct store_index *ix);

/* As struct store_ops. */
int store_index_head(
	struct store_index *ix, const char *project, struct store_row *ret, struct fail *f);
int store_index_add(struct store_index *ix, const char *etag, uint64_t keep, struct store_row *row,
	struct fail *f);
int store_index_list(struct store_index *ix, const char *project,
	int (*each)(void *arg, const struct store_row *row), void *arg, struct fail *f);
int store_index_remove(
	struct store_index *ix, const char *project, uint32_t number, struct fail *f);
int store_index_version(struct store_index *ix, uint32_t *ret);

/* 1 when a row names this archive, 0, -errno. */
int store_index_names(struct store_index *ix, const char *sha256, struct fail *f);
