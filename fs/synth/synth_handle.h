// What fs/synth/synth_names.c, fs/synth/synth_list.c, fs/synth/synth_open.c and fs/synth/synth_io.c share.
#pragma once

#include "fs/synth/synth_ops.h"
#include "fs/synth/synth.h"

uint64_t synth_st_ino(const struct synth_node *n);
mode_t synth_mode(const struct synth_node *n);
/* The directory above one. */
void synth_parent(struct mount *m, const struct synth_node *n, struct synth_node *ret);
int synth_stat(struct mount *m, const struct synth_node *n, struct stat *ret);

/* Opens a node for a thread into fi->fh and the flags of fi. 0 or -errno. */
int synth_handle_open(
	struct mount *m, const struct synth_node *n, pid_t opener, struct fuse_file_info *fi);
void synth_handle_close(struct fuse_file_info *fi);
/* ftruncate() on it. */
void synth_handle_truncate(struct fuse_file_info *fi, uint64_t size);
