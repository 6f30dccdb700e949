// The drivers' end of the framed protocol, for those that are written in C: descriptor 3 of a
// process in the sandbox. Blocking.
#pragma once

#include "common/buf.h"
#include "kernels/kernel_wire.h"

#define DRIVER_FD 3

/* The next frame from the daemon: 1; 0 at the end (the daemon has gone); -errno. in keeps what was
 * read and is cut by the frame at the next call; the frame is borrowed from it. */
int driver_wire_next(struct buf *in, struct kernel_frame *ret);

/* Whether a whole frame is in `in` already. */
bool driver_wire_has(const struct buf *in);

/* Sends a frame and empties it. 0 or -errno. */
int driver_wire_send(struct buf *frame);

/* One without fields. */
int driver_wire_note(enum kernel_frame_type type, uint32_t execution);

/* KERNEL_END of an execution that ended the kernel on purpose. */
int driver_wire_exit(uint32_t execution);

/* An error with its parts as text; NULL: none. */
int driver_wire_error(
	uint32_t execution, const char *name, const char *value, const char *traceback);
