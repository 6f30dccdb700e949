// code/: contexts, and code/NAME/: what one takes and tells.
#include "fs/synth/dir_code.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/clock.h"
#include "common/json_out.h"
#include "common/scope.h"
#include "fs/mount.h"
#include "fs/synth/cell_call.h"
#include "fs/synth/control.h"

struct context *dir_code_context(struct mount *m, const struct synth_node *n)
{
	return contexts_at(m->contexts, n->object);
}

/* code/ */

static void context_node(const struct context *context, struct synth_node *ret)
{
	*ret = (struct synth_node){.dir = &synth_context, .object = context->number};
}

static int lookup_context(
	struct mount *m, uint32_t object, const char *name, struct synth_node *ret)
{
	struct context *context = contexts_find(m->contexts, name);

	(void)object;
	if (!context)
		return -ENOENT;
	context_node(context, ret);
	return 0;
}

static int list_contexts(struct mount *m, uint32_t object, synth_emit emit, void *arg)
{
	struct list *item;
	int r = 0;

	(void)object;
	list_for_each(item, contexts_list(m->contexts))
	{
		const struct context *context = list_entry(item, struct context, link);
		struct synth_node n;

		context_node(context, &n);
		r = emit(arg, context->name, &n);
		if (r)
			break;
	}
	return r;
}

static int make_context(
	struct mount *m, uint32_t object, const char *name, struct synth_node *ret, struct fail *f)
{
	struct context *context;
	int r = context_new(m->contexts, name, &context, f);

	(void)object;
	if (r == 0)
		context_node(context, ret);
	return r;
}

static int remove_context(struct mount *m, const struct synth_node *child, struct fail *f)
{
	struct context *context = dir_code_context(m, child);

	return context ? context_remove(context, f) : -ENOENT;
}

const struct synth_dir synth_code = {
	.path = "code",
	.help = "kernels with memory: a directory a context; mkdir makes one of your own",
	.lookup = lookup_context,
	.list = list_contexts,
	.mkdir = make_context,
	.rmdir = remove_context,
};

/* code/NAME/ */

static int show_code(struct mount *m, const struct synth_node *n, struct buf *ret)
{
	struct context *context = dir_code_context(m, n);
	struct cell *cell = context ? context_newest(context) : NULL;

	return cell ? cell_code(cell, ret) : 0;
}

static int size_code(struct mount *m, const struct synth_node *n, uint64_t *ret)
{
	struct context *context = dir_code_context(m, n);
	struct cell *cell = context ? context_newest(context) : NULL;

	*ret = cell ? cell->code.size : 0;
	return 0;
}

static int show_json(struct mount *m, const struct synth_node *n, struct buf *ret)
{
	struct context *context = dir_code_context(m, n);
	struct cell *cell = context && context->json_cell
				    ? cells_at(contexts_cells(m->contexts), context->json_cell)
				    : NULL;

	return cell ? cell_result_json(cell, ret) : control_usage(synth_file_of(n), ret);
}

static int add_line(struct buf *ret, const char *text)
{
	buf_add_str(ret, text);
	return buf_add_char(ret, '\n');
}

static int show_language(struct mount *m, const struct synth_node *n, struct buf *ret)
{
	struct context *context = dir_code_context(m, n);

	return context ? add_line(ret, context->language->name) : -ESTALE;
}

static int show_cwd(struct mount *m, const struct synth_node *n, struct buf *ret)
{
	struct context *context = dir_code_context(m, n);

	return context ? add_line(ret, context->cwd) : -ESTALE;
}

static int show_env(struct mount *m, const struct synth_node *n, struct buf *ret)
{
	struct context *context = dir_code_context(m, n);

	return context ? buf_add_str(ret, context->env) : -ESTALE;
}

static int show_timeout(struct mount *m, const struct synth_node *n, struct buf *ret)
{
	struct context *context = dir_code_context(m, n);

	return context ? add_line(ret, context->timeout) : -ESTALE;
}

static int show_status(struct mount *m, const struct synth_node *n, struct buf *ret)
{
	struct context *context = dir_code_context(m, n);

	return context ? add_line(ret, context_status(context)) : -ESTALE;
}

static int show_info(struct mount *m, const struct synth_node *n, struct buf *ret)
{
	struct context *context = dir_code_context(m, n);
	char made[CLOCK_ISO_LEN], used[CLOCK_ISO_LEN];
	struct json_out j;

	if (!context)
		return -ESTALE;
	clock_iso(context->made_usec, made);
	clock_iso(context->used_usec, used);
	json_out_begin(&j, ret);
	json_out_object(&j, NULL);
	json_out_string(&j, "id", context->name);
	json_out_string(&j, "language", context->language->name);
	json_out_string(&j, "cwd", context->cwd);
	json_out_string(&j, "createdAt", made);
	json_out_string(&j, "lastUsed", used);
	json_out_string(&j, "status", context_status(context));
	json_out_uint(&j, "executionCount", context->count);
	json_out_object_end(&j);
	return buf_add_char(ret, '\n');
}

static struct context *context_of(const struct control_call *call)
{
	return dir_code_context(call->m, &call->node);
}

static int begin_language(struct control_call *call, const char *text, size_t len, struct fail *f)
{
	struct context *context = context_of(call);

	(void)len;
	return context ? context_set_language(context, text, f) : -ESTALE;
}

static int begin_cwd(struct control_call *call, const char *text, size_t len, struct fail *f)
{
	struct context *context = context_of(call);

	(void)len;
	return context ? context_set_cwd(context, text, f) : -ESTALE;
}

static int begin_env(struct control_call *call, const char *text, size_t len, struct fail *f)
{
	struct context *context = context_of(call);

	return context ? context_set_env(context, text, len, f) : -ESTALE;
}

static int begin_timeout(struct control_call *call, const char *text, size_t len, struct fail *f)
{
	struct context *context = context_of(call);

	(void)len;
	return context ? context_set_timeout(context, text, f) : -ESTALE;
}

/* What it did is told in the answer. */
static int act(struct control_call *call, bool (*action)(struct context *context))
{
	struct context *context = context_of(call);

	if (!context)
		return -ESTALE;
	call->object = action(context);
	return 0;
}

static int begin_interrupt(struct control_call *call, const char *text, size_t len, struct fail *f)
{
	(void)text;
	(void)len;
	(void)f;
	return act(call, context_interrupt);
}

static int answer_interrupt(struct control_call *call, struct buf *ret)
{
	return buf_printf(ret, "{\"interrupted\":%s}\n", call->object ? "true" : "false");
}

static int begin_restart(struct control_call *call, const char *text, size_t len, struct fail *f)
{
	(void)text;
	(void)len;
	(void)f;
	return act(call, context_restart);
}

static int answer_restart(struct control_call *call, struct buf *ret)
{
	return buf_printf(ret, "{\"restarted\":%s}\n", call->object ? "true" : "false");
}

static int begin_stdin(struct control_call *call, const char *text, size_t len, struct fail *f)
{
	struct context *context = context_of(call);

	return context ? context_input(context, text, len, f) : -ESTALE;
}

static int show_nothing(struct mount *m, const struct synth_node *n, struct buf *ret)
{
	(void)m;
	(void)n;
	(void)ret;
	return 0;
}

static const struct control in_control = {
	.syntax = CONTROL_TEXT,
	.begin = cell_call_begin_in,
	.cancel = cell_call_cancel,
	.release = cell_call_release,
	.answers_early = true,
	.answer = cell_call_answer_count,
};
static const struct control start_control = {
	.syntax = CONTROL_TEXT,
	.begin = cell_call_begin_start,
	.answers_early = true,
	.answer = cell_call_answer_count,
};
static const struct control json_control = {
	.syntax = CONTROL_JSON,
	.usage = "# Write one JSON object; only \"code\" is required:\n"
		 "# {\"code\": \"1 + 1\", \"timeout\": 60}\n"
		 "# The close returns when it has been executed; then read the result here.\n",
	.begin = cell_call_begin_json,
	.cancel = cell_call_cancel,
	.release = cell_call_release,
	.answer = cell_call_answer_result,
};
static const struct control language_control = {.syntax = CONTROL_LINE, .begin = begin_language};
static const struct control cwd_control = {.syntax = CONTROL_LINE, .begin = begin_cwd};
static const struct control env_control = {
	.syntax = CONTROL_TEXT, .no_nul = true, .begin = begin_env};
static const struct control timeout_control = {.syntax = CONTROL_LINE, .begin = begin_timeout};
static const struct control interrupt_control = {.syntax = CONTROL_LINE,
	.usage = "# Write anything: what executes is interrupted.\n",
	.begin = begin_interrupt,
	.answer = answer_interrupt};
static const struct control restart_control = {.syntax = CONTROL_LINE,
	.usage = "# Write anything: the kernel ends; the next request starts a new one.\n",
	.begin = begin_restart,
	.answer = answer_restart};
static const struct control stdin_control = {.syntax = CONTROL_TEXT, .begin = begin_stdin};

static const struct synth_file context_files[] = {
	{.name = "in",
		.help = "write source: it runs, the close returns when it has been executed",
		.mode = 0644,
		.show = show_code,
		.size = size_code,
		.control = &in_control},
	{.name = "start",
		.help = "the same, but the close returns once it is queued",
		.mode = 0644,
		.show = show_code,
		.size = size_code,
		.control = &start_control},
	{.name = "in.json",
		.help = "{\"code\": \"...\", \"timeout\": 60}; reads back as result.json",
		.mode = 0644,
		.show = show_json,
		.control = &json_control},
	{.name = "language",
		.help = "python, javascript, typescript, r, bash or jupyter:KERNELSPEC",
		.mode = 0644,
		.show = show_language,
		.control = &language_control},
	{.name = "cwd",
		.help = "the directory in which the kernel starts",
		.mode = 0644,
		.show = show_cwd,
		.control = &cwd_control},
	{.name = "env",
		.help = "K=V lines added to the kernel's environment",
		.mode = 0644,
		.show = show_env,
		.control = &env_control},
	{.name = "timeout",
		.help = "seconds after which an execution is interrupted; 0 is never",
		.mode = 0644,
		.show = show_timeout,
		.control = &timeout_control},
	{.name = "info.json",
		.help = "all about the context in one document",
		.mode = 0444,
		.show = show_info},
	{.name = "status",
		.help = "new, starting, idle, busy, input or dead",
		.mode = 0444,
		.show = show_status},
	{.name = "interrupt",
		.help = "write anything: what executes is interrupted",
		.mode = 0644,
		.control = &interrupt_control},
	{.name = "restart",
		.help = "write anything: the kernel ends and forgets; the next request starts anew",
		.mode = 0644,
		.control = &restart_control},
	{.name = "stdin",
		.help = "a line for code that asks, as input() does",
		.mode = 0644,
		.show = show_nothing,
		.control = &stdin_control},
	{.name = "out",
		.help = "a directory an execution, and `last`",
		.type = SYNTH_DIRECTORY,
		.child = &synth_cells},
};

static bool context_exists(struct mount *m, uint32_t object)
{
	return contexts_at(m->contexts, object);
}

static void context_name(struct mount *m, uint32_t object, struct buf *ret)
{
	struct context *context = contexts_at(m->contexts, object);

	buf_printf(ret, "code/%s", context ? context->name : "?");
}

static void context_times(struct mount *m, uint32_t object, struct synth_times *ret)
{
	struct context *context = contexts_at(m->contexts, object);

	if (!context)
		return;
	ret->made_usec = context->made_usec;
	ret->changed_usec = context->used_usec;
}

static void context_parent(struct mount *m, uint32_t object, struct synth_node *ret)
{
	(void)m;
	(void)object;
	*ret = (struct synth_node){.dir = &synth_code};
}

const struct synth_dir synth_context = {
	.path = "code/NAME",
	.help = "one context",
	.files = context_files,
	.files_len = ARRAY_LEN(context_files),
	.scratch = true,
	.exists = context_exists,
	.name = context_name,
	.times = context_times,
	.parent = context_parent,
};
