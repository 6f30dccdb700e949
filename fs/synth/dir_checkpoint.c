// `checkpoint` and `checkpoint.plan`: persist, restore and what a persist would make.
#include "fs/synth/dir_checkpoint.h"

#include <errno.h>

#include "common/scope.h"
#include "fs/checkpoint_jobs.h"
#include "fs/mount.h"

static void on_ended(struct waiter *waiter)
{
	struct control_call *call = container_of(waiter, struct control_call, waiter);

	control_call_end(call, checkpoint_jobs_error(call->m->checkpoints, call->object));
}

static int begin(struct control_call *call, const char *text, size_t len, bool plan, struct fail *f)
{
	struct checkpoint_jobs *jobs = call->m->checkpoints;
	int r = checkpoint_jobs_begin(jobs, text, len, plan, &call->object, f);
	struct list *ended = r == 0 ? checkpoint_jobs_ended(jobs, call->object) : NULL;

	if (!ended)
		return r;
	call->going = true;
	call->waiter.wake = on_ended;
	list_add_tail(ended, &call->waiter.link);
	return 0;
}

static int begin_checkpoint(struct control_call *call, const char *text, size_t len, struct fail *f)
{
	return begin(call, text, len, false, f);
}

static int begin_plan(struct control_call *call, const char *text, size_t len, struct fail *f)
{
	return begin(call, text, len, true, f);
}

/* What the handle still waits for keeps its number. */
static void refused(struct control_call *call, int err, bool plan, struct fail *f)
{
	uint32_t id = call->object;

	checkpoint_jobs_refuse(call->m->checkpoints, err, plan, &id, f);
	if (!call->going)
		call->object = id;
}

static void refused_checkpoint(struct control_call *call, int err, struct fail *f)
{
	refused(call, err, false, f);
}

static void refused_plan(struct control_call *call, int err, struct fail *f)
{
	refused(call, err, true, f);
}

static void cancel(struct control_call *call, struct fail *f)
{
	checkpoint_jobs_cancel(call->m->checkpoints, call->object, f);
}

static int answer(struct control_call *call, struct buf *ret)
{
	return checkpoint_jobs_answer(call->m->checkpoints, call->object, false, ret);
}

const struct control dir_checkpoint_control = {
	.syntax = CONTROL_LINE_OR_JSON,
	.waits_in_write = true,
	.answers_refusals = true,
	.usage =
		"# Write one line, or the same as JSON; reading gives the result or the progress:\n"
		"# persist PATH [exclude=NAME,NAME...] [timeout=SECONDS] [if_match=ETAG]\n"
		"# restore PATH [timeout=SECONDS] [etag=ETAG]\n"
		"# {\"op\": \"persist\", \"path\": \"/work/app\", \"exclude\": [\"tmp\"], \"timeout\": 180}\n",
	.begin = begin_checkpoint,
	.refused = refused_checkpoint,
	.cancel = cancel,
	.answer = answer,
};

const struct control dir_checkpoint_plan_control = {
	.syntax = CONTROL_LINE_OR_JSON,
	.waits_in_write = true,
	.answers_refusals = true,
	.usage = "# Write PATH [exclude=NAME,NAME...]; reading tells what a persist would make:\n"
		 "# its size, whether it fits, the largest directories, what is left out.\n",
	.begin = begin_plan,
	.refused = refused_plan,
	.cancel = cancel,
	.answer = answer,
};

static int show(struct mount *m, const struct synth_node *n, bool plan, struct buf *ret)
{
	int r = checkpoint_jobs_answer(m->checkpoints, 0, plan, ret);

	return r == -ENODATA ? control_usage(synth_file_of(n), ret) : r;
}

int dir_checkpoint_show(struct mount *m, const struct synth_node *n, struct buf *ret)
{
	return show(m, n, false, ret);
}

int dir_checkpoint_show_plan(struct mount *m, const struct synth_node *n, struct buf *ret)
{
	return show(m, n, true, ret);
}
