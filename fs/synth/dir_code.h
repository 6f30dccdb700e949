// What the tables below code/ share.
#pragma once

#include "fs/synth/synth.h"
#include "kernels/context.h"

/* The context of a node in code/NAME or code/NAME/out; NULL: it is gone. */
struct context *dir_code_context(struct mount *m, const struct synth_node *n);
