// What is stored of one project, for those who list it: read again when it changed. By the loop's
// leader only; nothing in it waits long.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "common/fail.h"
#include "runner/checkpoint/store.h"

struct checkpoint_view;

/* Both paths are borrowed. A store that does not exist yet is no error. */
int checkpoint_view_new(const char *store_path, const char *project, struct checkpoint_view **ret);
void checkpoint_view_free(struct checkpoint_view *v);

/* The checkpoints as they are now, oldest first; valid until the next call of any of these. */
size_t checkpoint_view_rows(struct checkpoint_view *v, const struct store_row **ret);
/* NULL: there is none of this number. */
const struct store_row *checkpoint_view_find(struct checkpoint_view *v, uint32_t number);

/* A part of an archive; -ENOENT: it is missing. */
ssize_t checkpoint_view_read(struct checkpoint_view *v, const struct store_row *row, void *data,
	size_t len, uint64_t off);

/* Forgets a checkpoint; its archive is for a later collect(). */
int checkpoint_view_remove(struct checkpoint_view *v, uint32_t number, struct fail *f);
