// Persist, restore and plan: what is common to them.
#include "runner/checkpoint/checkpoint.h"

#include <errno.h>
#include <malloc.h>
#include <string.h>

#include "common/json_out.h"
#include "runner/checkpoint/archive_out.h"

#define CONTENT_MIN (4ULL << 30)
#define CONTENT_RATIO 100

uint64_t checkpoint_max_content(uint64_t max_bytes)
{
	uint64_t scaled =
		max_bytes > UINT64_MAX / CONTENT_RATIO ? UINT64_MAX : max_bytes * CONTENT_RATIO;

	return scaled > CONTENT_MIN ? scaled : CONTENT_MIN;
}

int checkpoint_error(enum task_code code, const struct fail *f, struct buf *ret)
{
	struct json_out j;

	json_out_begin(&j, ret);
	json_out_object(&j, NULL);
	json_out_object(&j, "error");
	json_out_string(&j, "code", task_code_name(code));
	json_out_bytes(&j, "message", f->text, strlen(f->text));
	json_out_object_end(&j);
	json_out_object_end(&j);
	return buf_add_char(ret, '\n');
}

int checkpoint_check(struct fail *f)
{
	static const atomic_bool never;
	struct task task = {.cancelled = &never};
	struct archive_out *out = NULL;
	int r = archive_out_open(&task, -1, 0, &out, f);

	archive_out_free(out);
	return r;
}

static int run(const struct checkpoint_env *env, const struct checkpoint_request *request,
	struct task *t, struct buf *ret, struct fail *f)
{
	switch (request->op) {
	case CHECKPOINT_PERSIST:
		return checkpoint_persist(env, request, t, ret, f);
	case CHECKPOINT_RESTORE:
		return checkpoint_restore(env, request, t, ret, f);
	default:
		return checkpoint_plan(env, request, t, ret, f);
	}
}

int checkpoint_run(const struct checkpoint_env *env, const struct checkpoint_request *request,
	struct task *t, struct buf *ret, struct fail *f)
{
	int r = run(env, request, t, ret, f);

	/* What compression took is given back now, not kept by an idle daemon. */
	malloc_trim(0);
	if (r == 0)
		return ret->error;
	if (!*f->text)
		fail_errno(f, r, "it failed");
	if (t->code == TASK_OK) {
		t->code = TASK_FAILED_OPERATION;
		r = -EIO;
	}
	buf_reset(ret);
	checkpoint_error(t->code, f, ret);
	return r;
}
