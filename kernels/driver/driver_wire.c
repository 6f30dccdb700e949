// The drivers' end of the framed protocol, for those that are written in C.
#include "kernels/driver/driver_wire.h"

#include <errno.h>
#include <unistd.h>

#define READ_SIZE 65536

/* The size of the frame that was handed out last is kept in front of the data that follows it. */
static size_t handed;

bool driver_wire_has(const struct buf *in)
{
	struct kernel_frame frame;

	return in->len > handed &&
	       kernel_wire_frame(in->data + handed, in->len - handed, &frame) > 0;
}

int driver_wire_next(struct buf *in, struct kernel_frame *ret)
{
	if (handed) {
		in->len -= handed;
		memmove(in->data, in->data + handed, in->len);
		handed = 0;
	}
	for (;;) {
		ssize_t n = in->len ? kernel_wire_frame(in->data, in->len, ret) : 0;

		if (n < 0)
			return (int)n;
		if (n > 0) {
			handed = (size_t)n;
			return 1;
		}
		if (buf_reserve(in, READ_SIZE) < 0)
			return -ENOMEM;
		n = read(DRIVER_FD, in->data + in->len, READ_SIZE);
		if (n == 0)
			return 0;
		if (n < 0 && errno != EINTR)
			return -errno;
		in->len += n > 0 ? (size_t)n : 0;
	}
}

int driver_wire_send(struct buf *frame)
{
	int r = frame->error;

	for (size_t at = 0; r == 0 && at < frame->len;) {
		ssize_t n = write(DRIVER_FD, frame->data + at, frame->len - at);

		if (n < 0 && errno != EINTR)
			r = -errno;
		at += n > 0 ? (size_t)n : 0;
	}
	buf_clear(frame);
	return r;
}

int driver_wire_note(enum kernel_frame_type type, uint32_t execution)
{
	struct buf frame = {0};

	kernel_wire_end(&frame, kernel_wire_begin(&frame, type, execution));
	return driver_wire_send(&frame);
}

int driver_wire_exit(uint32_t execution)
{
	struct buf frame = {0};
	size_t start = kernel_wire_begin(&frame, KERNEL_END, execution);

	kernel_wire_add(&frame, "exit", "1", 1);
	kernel_wire_end(&frame, start);
	return driver_wire_send(&frame);
}

int driver_wire_error(
	uint32_t execution, const char *name, const char *value, const char *traceback)
{
	struct buf frame = {0};
	size_t start = kernel_wire_begin(&frame, KERNEL_ERROR, execution);

	kernel_wire_add(&frame, "name", name, strlen(name));
	kernel_wire_add(&frame, "value", value, strlen(value));
	if (traceback)
		kernel_wire_add(&frame, "traceback", traceback, strlen(traceback));
	kernel_wire_end(&frame, start);
	return driver_wire_send(&frame);
}
