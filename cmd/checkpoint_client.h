// A client of a mounted sandbox's `checkpoint`, by its files alone: asks, and shows how far it is.
#pragma once

#include "common/buf.h"
#include "common/fail.h"

/* Writes a request to DIR/checkpoint and waits for its end; on a terminal standard error shows a
 * progress bar. ret: the answer as JSON. 0 or -errno with the sandbox's own words. */
int checkpoint_client_ask(
	const char *dir, const struct buf *request, struct buf *ret, struct fail *f);
