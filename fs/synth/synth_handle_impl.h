// An open synthetic file: what fs/synth/synth_open.c and fs/synth/synth_io.c share.
#pragma once

#include "fs/synth/control.h"
#include "fs/synth/synth_handle.h"

struct synth_handle {
	struct list link; /* in mount.handles */
	struct mount *m; /* borrowed */
	struct synth_node node;
	const struct synth_file *file; /* NULL: a scratch file */
	struct scratch *scratch; /* counted as open */
	bool writer;
	pid_t opener; /* the thread */
	bool is_control;
	bool closed; /* by the last of those who had it, as far as could be told */
	struct control_handle control;
	struct buf content; /* what `show` gave at the first read */
	bool shown;
	struct synth_freeze *frozen; /* owned; NULL: the content was not taken at open */
	uint64_t read_end; /* for poll: where the reader is */
	struct waiter poll_waiter;
	struct fuse_pollhandle *poll; /* owned; NULL: nobody polls */
};

static inline struct synth_handle *synth_handle_of(const struct fuse_file_info *fi)
{
	return (struct synth_handle *)(uintptr_t)fi->fh;
}
