// What every step of a persist, a restore or a plan shares.
#include "runner/checkpoint/task.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <string.h>

#include "common/buf.h"
#include "common/clock.h"

static const struct {
	const char *name;
	int err;
} codes[] = {
	[TASK_OK] = {"", 0},
	[TASK_LIMIT_EXCEEDED] = {"SANDBOX_LIMIT_EXCEEDED", -EFBIG},
	[TASK_CONFLICT] = {"SANDBOX_CONFLICT", -EBUSY},
	[TASK_DATA_CORRUPTED] = {"SANDBOX_DATA_CORRUPTED", -EBADMSG},
	[TASK_FAILED_OPERATION] = {"SANDBOX_FAILED_OPERATION", -EIO},
	[TASK_INVALID_ARGUMENT] = {"SANDBOX_INVALID_ARGUMENT", -EINVAL},
};

const char *task_code_name(enum task_code code)
{
	return codes[code].name;
}

static int fail_as(struct task *t, enum task_code code, int err, struct fail *f, const char *words)
{
	if (t->code == TASK_OK)
		t->code = code;
	return fail_set(f, err, "%s", words);
}

int task_check(struct task *t, struct fail *f)
{
	struct fail words;

	if (atomic_load_explicit(t->cancelled, memory_order_relaxed))
		return fail_as(t, TASK_FAILED_OPERATION, -EINTR, f, "it was interrupted");
	if (!t->deadline_usec || clock_monotonic_usec() < t->deadline_usec)
		return 0;
	fail_set(&words, -ETIMEDOUT,
		"it was not done within %" PRIu64 " s; give it longer with timeout=SECONDS",
		t->timeout_sec);
	return fail_as(t, TASK_FAILED_OPERATION, -ETIMEDOUT, f, words.text);
}

int task_refuse(struct task *t, enum task_code code, struct fail *f, const char *format, ...)
{
	struct buf words auto_buf = {0};
	va_list args;

	va_start(args, format);
	buf_vprintf(&words, format, args);
	va_end(args);
	return fail_as(t, code, codes[code].err, f, buf_text(&words));
}

int task_failed(struct task *t, int err, struct fail *f, const char *format, ...)
{
	struct buf words auto_buf = {0};
	va_list args;

	va_start(args, format);
	buf_vprintf(&words, format, args);
	va_end(args);
	buf_printf(&words, ": %s", strerror(-err));
	return fail_as(t, TASK_FAILED_OPERATION, -EIO, f, buf_text(&words));
}
