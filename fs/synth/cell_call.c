// Control requests that execute source in a context and wait for its end.
#include "fs/synth/cell_call.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/clock.h"
#include "common/json_in.h"
#include "common/scope.h"
#include "fs/mount.h"
#include "fs/synth/dir_code.h"

#define TIMEOUT_MAX (10 * 366 * 86400.0) /* seconds */

static struct cell *cell_of(struct control_call *call)
{
	return call->object ? cells_at(contexts_cells(call->m->contexts), call->object) : NULL;
}

/* A context that was removed takes its executions along, and its name, which is kept in call->data. */
static void on_ended(struct waiter *waiter)
{
	struct control_call *call = container_of(waiter, struct control_call, waiter);
	struct fail f;
	int r = cell_of(call) ? 0 : -ECANCELED;

	if (r < 0) {
		fail_set(&f, r, "the context was removed before the end of the execution");
		call->m->failures++;
		mount_failed(call->m, call->data, r, &f);
	}
	control_call_end(call, r);
}

static int keep_path(struct control_call *call)
{
	struct buf path = {0};

	synth_path(call->m, &call->node, &path);
	call->data = buf_take(&path);
	return call->data ? 0 : -ENOMEM;
}

void cell_call_release(struct control_call *call)
{
	free(call->data);
}

static int begin(struct control_call *call, const char *code, size_t len,
	const uint64_t *timeout_usec, bool wait, struct fail *f)
{
	struct context *context = dir_code_context(call->m, &call->node);
	struct cell *cell;
	int r = context ? context_execute(context, code, len, timeout_usec, &cell, f) : -ESTALE;

	if (r < 0)
		return r;
	call->object = cell->number;
	if (!wait || cell_is_over(cell))
		return 0;
	r = keep_path(call);
	if (r < 0)
		return r;
	call->going = true;
	call->waiter.wake = on_ended;
	list_add_tail(&cell->ended, &call->waiter.link);
	return 0;
}

int cell_call_begin_in(struct control_call *call, const char *text, size_t len, struct fail *f)
{
	return begin(call, text, len, NULL, true, f);
}

int cell_call_begin_start(struct control_call *call, const char *text, size_t len, struct fail *f)
{
	return begin(call, text, len, NULL, false, f);
}

struct request {
	const char *code; /* borrowed from the JSON */
	size_t len;
	uint64_t timeout_usec;
	bool has_timeout;
	struct fail *fail; /* borrowed */
};

static int take_key(const char *key, const struct json_object *value, void *arg)
{
	struct request *request = arg;
	double seconds;

	if (!strcmp(key, "code")) {
		if (json_in_type(value) != JSON_IN_STRING)
			return fail_set(request->fail, -EINVAL, "\"code\" must be a string");
		request->code = json_in_string(value, &request->len);
		return 0;
	}
	if (strcmp(key, "timeout") != 0)
		return fail_set(request->fail, -EINVAL,
			"unknown key \"%.60s\"; allowed: code, timeout", key);
	seconds = json_in_type(value) == JSON_IN_NUMBER ? json_in_number(value) : -1;
	if (!(seconds >= 0 && seconds <= TIMEOUT_MAX))
		return fail_set(request->fail, -EINVAL,
			"\"timeout\" must be a number of seconds, 0 for none");
	request->timeout_usec = (uint64_t)(seconds * 1e6);
	request->has_timeout = true;
	return 0;
}

int cell_call_begin_json(struct control_call *call, const char *text, size_t len, struct fail *f)
{
	struct json_object *object auto_call(json_in_free) = NULL;
	struct context *context = dir_code_context(call->m, &call->node);
	struct request request = {.fail = f};
	int r = json_in_object(text, len, &object, f);

	if (r == 0)
		r = json_in_each(object, take_key, &request);
	if (r == 0 && !request.code)
		r = fail_set(f, -EINVAL, "\"code\" is missing");
	if (r == 0)
		r = begin(call, request.code, request.len,
			request.has_timeout ? &request.timeout_usec : NULL, true, f);
	if (r == 0 && context)
		context->json_cell = call->object;
	return r;
}

void cell_call_cancel(struct control_call *call, struct fail *f)
{
	struct context *context = dir_code_context(call->m, &call->node);
	struct cell *cell = cell_of(call);

	if (!context || !cell)
		return;
	fail_set(f, 0, "execution %u is interrupted", cell->count);
	context_cancel(context, cell);
}

int cell_call_answer_count(struct control_call *call, struct buf *ret)
{
	struct cell *cell = cell_of(call);

	return cell ? buf_printf(ret, "%u\n", cell->count) : -ENOENT;
}

int cell_call_answer_result(struct control_call *call, struct buf *ret)
{
	struct cell *cell = cell_of(call);

	return cell ? cell_result_json(cell, ret) : -ENOENT;
}
