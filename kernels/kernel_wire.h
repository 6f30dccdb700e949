// The framed protocol between the daemon and a kernel's driver (docs/kernel-protocol.md). Parses
// bytes that a hostile process wrote; knows nothing of kernels.
//
// A frame is a header of 12 bytes (u32 length of the payload, u8 type, 3 zero bytes, u32 execution;
// little-endian) and a payload, which is a list of fields: u32 length of the name, u32 length of the
// value, name, value.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/types.h>

#include "common/buf.h"

#define KERNEL_WIRE_HEADER 12
#define KERNEL_WIRE_MAX (32 * 1024 * 1024) /* bytes of a payload */

enum kernel_frame_type {
	/* To the driver. */
	KERNEL_SETUP = 1, /* cwd, env (K=V lines): once, before the first execution */
	KERNEL_EXECUTE = 2, /* code */
	KERNEL_INTERRUPT = 3, /* nothing; beside SIGINT, for engines that need it */
	KERNEL_LINE = 4, /* line: the answer to KERNEL_INPUT; without it: end of file */
	KERNEL_SYNCED = 5, /* nothing; the answer to KERNEL_SYNC */
	KERNEL_PREPARE = 6, /* nothing; it is held ready, and there is time to load more */
	/* From the driver. */
	KERNEL_READY = 16, /* nothing, or fields for people */
	KERNEL_RESULT = 17, /* @main, @id, MIME types */
	KERNEL_UPDATE = 18, /* @id, MIME types: what a display shows now */
	KERNEL_CLEAR = 19, /* @wait: when the next result comes */
	KERNEL_ERROR = 20, /* name, value, traceback (once a part, in order) */
	KERNEL_INPUT = 21, /* prompt, password */
	KERNEL_END = 22, /* exit: the kernel ends now, as the code asked */
	KERNEL_SYNC = 23, /* nothing: asks that output so far be filed */
};

struct kernel_frame {
	uint8_t type;
	uint32_t execution;
	const unsigned char *payload; /* borrowed from the bytes given */
	size_t len;
};

struct kernel_field {
	const char *name; /* borrowed; not NUL-terminated */
	size_t name_len;
	const void *value;
	size_t len;
};

/* The frame at the beginning of data: its size in bytes, 0 when it is not complete yet, -EPROTO
 * when it cannot be one (reserved bytes, a payload over KERNEL_WIRE_MAX). */
ssize_t kernel_wire_frame(const void *data, size_t len, struct kernel_frame *ret);

/* The next field of a frame's payload, which is cut accordingly: 1 and the field, 0 at the end,
 * -EPROTO. */
int kernel_wire_field(struct kernel_frame *frame, struct kernel_field *ret);

/* The first field of that name; false when there is none. */
bool kernel_wire_find(const struct kernel_frame *frame, const char *name, struct kernel_field *ret);

static inline bool kernel_wire_is(const struct kernel_field *field, const char *name)
{
	return field->name_len == strlen(name) && !memcmp(field->name, name, field->name_len);
}

/* Writing: begin() returns where the frame starts, which end() needs to fill in its length. Errors
 * stay in the buffer. */
size_t kernel_wire_begin(struct buf *to, enum kernel_frame_type type, uint32_t execution);
void kernel_wire_add(struct buf *to, const char *name, const void *value, size_t len);
void kernel_wire_end(struct buf *to, size_t start);
