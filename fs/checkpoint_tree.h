// checkpoints/N/tree/: the content of an archive as files, from a copy that is extracted when it is
// first looked at.
#pragma once

#include "fs/libfuse.h"

#include <stdint.h>

#include "common/fail.h"

struct mount;
struct synth_node;

/* Opens the directory that holds the copies, empty: m->trees_fd and m->trees. */
int checkpoint_tree_open(struct mount *m, struct fail *f);
/* Removes them. */
void checkpoint_tree_close(struct mount *m);

/* Answers a lookup of a checkpoint's `tree`. By the leader; the baton is lent meanwhile, and the
 * caller looks whether it still has it. */
void checkpoint_tree_lookup(struct mount *m, fuse_req_t req, const struct synth_node *n);
