// Control requests that start a run and wait for its end.
#include "fs/synth/run_call.h"

#include <errno.h>

#include "fs/mount.h"

static void on_ended(struct waiter *waiter)
{
	control_call_end(container_of(waiter, struct control_call, waiter), 0);
}

int run_call_begin(
	struct control_call *call, struct run_request *request, struct run *into, struct fail *f)
{
	bool background = request->background;
	struct run *run;
	int r = run_start(call->m->runs, request, into, &run, f);

	if (r < 0)
		return r;
	call->object = run->number;
	if (background || run_is_over(run))
		return 0;
	call->going = true;
	call->waiter.wake = on_ended;
	list_add_tail(&run->ended, &call->waiter.link);
	return 0;
}

void run_call_cancel(struct control_call *call, struct fail *f)
{
	struct run *run = runs_at(call->m->runs, call->object);

	if (!run)
		return;
	run_cancel(run);
	fail_set(f, 0, "run %s is ended", run->id);
}

int run_call_answer_id(struct control_call *call, struct buf *ret)
{
	struct run *run = runs_at(call->m->runs, call->object);

	return run ? buf_printf(ret, "%s\n", run->id) : -ENOENT;
}

int run_call_answer_result(struct control_call *call, struct buf *ret)
{
	struct run *run = runs_at(call->m->runs, call->object);

	return run ? run_result(run, ret) : -ENOENT;
}
