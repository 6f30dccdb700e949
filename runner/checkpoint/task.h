// What every step of a persist, a restore or a plan shares: whether to go on, how far it is, and
// why it failed.
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "common/fail.h"

/* The codes that users and SDKs see, SANDBOX_... */
enum task_code {
	TASK_OK,
	TASK_LIMIT_EXCEEDED,
	TASK_CONFLICT,
	TASK_DATA_CORRUPTED,
	TASK_FAILED_OPERATION,
	TASK_INVALID_ARGUMENT,
};

struct task {
	const atomic_bool *cancelled; /* borrowed */
	uint64_t deadline_usec; /* monotonic; 0: none */
	uint64_t timeout_sec; /* for the words */
	_Atomic uint64_t files, bytes; /* done so far; other threads may read them */
	enum task_code code; /* why it failed, once a step said so */
};

/* Whether to go on: 0, -EINTR (cancelled) or -ETIMEDOUT, with words. */
int task_check(struct task *t, struct fail *f);

/* Records the code and the words; returns the errno that belongs to the code. The first code that
 * was recorded stays. */
int task_refuse(struct task *t, enum task_code code, struct fail *f, const char *format, ...)
	__attribute__((format(printf, 4, 5)));

/* The same for a system call that failed with err: its reason is added to the words. */
int task_failed(struct task *t, int err, struct fail *f, const char *format, ...)
	__attribute__((format(printf, 4, 5)));

/* "SANDBOX_CONFLICT" and so on. */
const char *task_code_name(enum task_code code);
