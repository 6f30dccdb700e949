// Which directories are left out of an archive, and the names that are told about it.
#pragma once

#include "runner/checkpoint/pack.h"
#include "runner/checkpoint/tree_walk.h"

/* Whether a directory of this name is left out: one of the usual ones, or of exclude. */
bool pack_names_is_excluded(const char *name, const struct buf *exclude);

int pack_names_add(struct pack_names *names, const char *path);

/* A directory with so many bytes in it: remembered if it is one of the largest. */
int pack_names_largest(struct pack_result *result, const char *path, uint64_t bytes);

/* Adds to the words of f which directories are the largest. */
void pack_names_advise(const struct pack_result *result, struct fail *f);

/* Adds a directory that is left out to what its name saves (struct pack_excluded in to). */
int pack_names_measure(
	struct task *t, const struct tree_entry *entry, struct buf *to, struct fail *f);
