// The browser's own frames, in the form of kernel_wire.h; `execution` is a request's or page's
// number. The other end is wire.js.
#pragma once

#include "kernels/kernel_wire.h"

enum browser_frame_type {
	/* To the driver. */
	BROWSER_SETUP = 64, /* config (JSON), once */
	BROWSER_REQUEST = 65, /* op, page, text, read */
	BROWSER_ABORT = 66, /* nothing */
	/* From the driver. */
	BROWSER_DATA = 96, /* data: a part of the answer */
	BROWSER_ANSWER = 97, /* errno, message, result: the end of a request */
	BROWSER_STATE = 98, /* state: JSON */
	BROWSER_TAB = 99, /* of a page: url, title, status, opener, crashed, active, closed */
	BROWSER_LINE = 100, /* of a page: kind, text */
	BROWSER_LOG = 101, /* text */
	BROWSER_PORT = 102, /* port: what Chromium's debugger listens on */
};

static inline size_t browser_frame_begin(
	struct buf *to, enum browser_frame_type type, uint32_t number)
{
	return kernel_wire_begin(to, (enum kernel_frame_type)type, number);
}
