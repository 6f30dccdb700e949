// What is written to `checkpoint` and `checkpoint.plan`: words or JSON.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/buf.h"
#include "common/fail.h"

#define CHECKPOINT_TIMEOUT_SEC 180

enum checkpoint_op { CHECKPOINT_PERSIST, CHECKPOINT_RESTORE, CHECKPOINT_PLAN };

struct checkpoint_request {
	enum checkpoint_op op;
	char *path; /* owned, all; as written */
	struct buf exclude; /* names, each followed by NUL */
	uint64_t timeout_sec;
	char *if_match; /* NULL: not given */
	char *etag;
};

/* Reads a request. plan: it is for checkpoint.plan, where the operation is not named. -EINVAL with
 * words. ret is to be cleared also after an error. */
int checkpoint_request_parse(
	const char *text, size_t len, bool plan, struct checkpoint_request *ret, struct fail *f);
void checkpoint_request_clear(struct checkpoint_request *request);

/* Makes its path absolute, below cwd. */
int checkpoint_request_below(struct checkpoint_request *request, const char *cwd);

#define auto_request __attribute__((cleanup(checkpoint_request_clear)))
