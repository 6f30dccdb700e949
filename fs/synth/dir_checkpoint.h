// `checkpoint` and `checkpoint.plan` in the mount's root, for its table.
#pragma once

#include "fs/synth/control.h"
#include "fs/synth/synth.h"

extern const struct control dir_checkpoint_control, dir_checkpoint_plan_control;

int dir_checkpoint_show(struct mount *m, const struct synth_node *n, struct buf *ret);
int dir_checkpoint_show_plan(struct mount *m, const struct synth_node *n, struct buf *ret);
