// out/: the runs, and out/ID/: what each of them did.
#include "fs/synth/synth.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "common/json_in.h"
#include "common/json_out.h"
#include "common/scope.h"
#include "common/signal_name.h"
#include "fs/mount.h"
#include "fs/synth/control.h"
#include "fs/synth/run_call.h"
#include "fs/synth/synth_output.h"
#include "fs/synth/synth_refusal.h"

static struct run *run_of(struct mount *m, const struct synth_node *n)
{
	return runs_at(m->runs, n->object);
}

/* out/last */

static bool has_last(struct mount *m, const struct synth_node *n)
{
	(void)n;
	return runs_last(m->runs);
}

static int link_last(struct mount *m, const struct synth_node *n, struct buf *ret)
{
	struct run *last = runs_last(m->runs);

	(void)n;
	return last ? buf_add_str(ret, last->id) : -ENOENT;
}

static const struct synth_file out_files[] = {
	{.name = "last",
		.help = "a link to the newest run",
		.type = SYNTH_LINK,
		.present = has_last,
		.link = link_last},
};

static void run_node(const struct run *run, struct synth_node *ret)
{
	*ret = (struct synth_node){.dir = &synth_run, .object = run->number};
}

static int lookup_run(struct mount *m, uint32_t object, const char *name, struct synth_node *ret)
{
	struct run *run = runs_find(m->runs, name);

	(void)object;
	if (!run)
		return -ENOENT;
	run_node(run, ret);
	return 0;
}

static int list_runs(struct mount *m, uint32_t object, synth_emit emit, void *arg)
{
	struct list *item;
	int r = 0;

	(void)object;
	list_for_each(item, runs_list(m->runs))
	{
		const struct run *run = list_entry(item, struct run, link);
		struct synth_node n;

		run_node(run, &n);
		r = emit(arg, run->id, &n);
		if (r)
			break;
	}
	return r;
}

static int make_run(
	struct mount *m, uint32_t object, const char *name, struct synth_node *ret, struct fail *f)
{
	struct run *run;
	int r = run_reserve(m->runs, name, &run, f);

	(void)object;
	if (r == 0)
		run_node(run, ret);
	return r;
}

static int remove_run(struct mount *m, const struct synth_node *child, struct fail *f)
{
	struct run *run = run_of(m, child);
	int r = run ? run_forget(run) : -ENOENT;

	return r == -EBUSY ? fail_set(f, r, "it is running; write to its `kill` first") : r;
}

const struct synth_dir synth_out = {
	.path = "out",
	.help = "a directory a run, and `last`",
	.files = out_files,
	.files_len = ARRAY_LEN(out_files),
	.lookup = lookup_run,
	.list = list_runs,
	.mkdir = make_run,
	.rmdir = remove_run,
};

/* out/ID/ */

static bool hidden(const struct run *run, const struct synth_node *n)
{
	return run->hidden & 1U << n->slot;
}

static bool always(struct mount *m, const struct synth_node *n)
{
	struct run *run = run_of(m, n);

	return run && !hidden(run, n);
}

static bool once_started(struct mount *m, const struct synth_node *n)
{
	return always(m, n) && run_of(m, n)->status != RUN_NEW;
}

/* Also after the start, so that a repeat finds it. */
static bool takes_request(struct mount *m, const struct synth_node *n)
{
	struct run *run = run_of(m, n);

	return always(m, n) && (run->status == RUN_NEW || run->id[strspn(run->id, "0123456789")]);
}

static int show_request(struct mount *m, const struct synth_node *n, struct buf *ret)
{
	struct run *run = run_of(m, n);

	if (!run)
		return -ESTALE;
	return run->status == RUN_NEW ? control_usage(synth_file_of(n), ret) : run_result(run, ret);
}

static bool once_over(struct mount *m, const struct synth_node *n)
{
	return always(m, n) && run_is_over(run_of(m, n)) && run_of(m, n)->status != RUN_LOST;
}

static int show_cmd(struct mount *m, const struct synth_node *n, struct buf *ret)
{
	struct run *run = run_of(m, n);
	char *cmd auto_free = NULL;
	uint64_t len = 0;
	int r = run ? run_cmd(run, &cmd, &len) : -ESTALE;

	return r < 0 ? r : buf_add(ret, cmd, len);
}

static int size_cmd(struct mount *m, const struct synth_node *n, uint64_t *ret)
{
	struct run *run = run_of(m, n);

	*ret = run ? run->cmd_len : 0;
	return 0;
}

static struct list *grown(struct mount *m, const struct synth_node *n)
{
	struct run *run = run_of(m, n);

	return run ? &run->grown : NULL;
}

/* Nothing is added any more: the run is over and has left nothing behind that could write. */
static bool final(struct mount *m, const struct synth_node *n)
{
	struct run *run = run_of(m, n);

	return run && run_is_over(run) && !run->in_sandbox && run->pipes[0].pipe.source.fd < 0 &&
	       run->pipes[1].pipe.source.fd < 0;
}

static int show_status(struct mount *m, const struct synth_node *n, struct buf *ret)
{
	struct run *run = run_of(m, n);

	return run ? buf_printf(ret, "%s\n", run_status_name(run->status)) : -ESTALE;
}

static int show_exit_code(struct mount *m, const struct synth_node *n, struct buf *ret)
{
	struct run *run = run_of(m, n);

	return run ? buf_printf(ret, "%d\n", run->exit_code) : -ESTALE;
}

static int show_result(struct mount *m, const struct synth_node *n, struct buf *ret)
{
	struct run *run = run_of(m, n);

	return run ? run_result(run, ret) : -ESTALE;
}

static int size_result(struct mount *m, const struct synth_node *n, uint64_t *ret)
{
	struct run *run = run_of(m, n);
	struct buf content auto_buf = {0};
	int r;

	if (run && run->result_size >= 0) {
		*ret = (uint64_t)run->result_size;
		return 0;
	}
	r = show_result(m, n, &content);
	*ret = content.len;
	if (r == 0 && final(m, n))
		run->result_size = (int64_t)content.len;
	return r;
}

static ssize_t write_stdin(
	struct mount *m, const struct synth_node *n, const void *data, size_t len)
{
	struct run *run = run_of(m, n);
	ssize_t written;

	if (!run)
		return -ESTALE;
	if (!run->in_open && !run_is_over(run))
		return synth_refuse_node(m, n, -EPIPE, "the run was started without \"stdinOpen\"");
	written = run_write_stdin(run, data, len);
	if (written == -EPIPE)
		synth_refuse_node(m, n, -EPIPE,
			run_is_over(run) ? "the run has ended"
					 : "the command has closed it, or a writer before did");
	return written;
}

static struct list *stdin_ready(struct mount *m, const struct synth_node *n)
{
	struct run *run = run_of(m, n);

	return run ? &run->in_ready : NULL;
}

static bool stdin_full(struct mount *m, const struct synth_node *n)
{
	struct run *run = run_of(m, n);

	return run && run_stdin_is_full(run);
}

static void stdin_opened(struct mount *m, const struct synth_node *n)
{
	struct run *run = run_of(m, n);

	if (run)
		run_open_stdin(run);
}

static void stdin_released(struct mount *m, const struct synth_node *n)
{
	struct run *run = run_of(m, n);

	if (run)
		run_close_stdin(run);
}

static ssize_t read_wait(
	struct mount *m, const struct synth_node *n, void *data, size_t len, uint64_t off)
{
	struct run *run = run_of(m, n);
	char text[16];
	size_t size;

	if (!run)
		return -ESTALE;
	if (!run_is_over(run))
		return -EAGAIN;
	size = run->status == RUN_LOST
		       ? 0
		       : (size_t)snprintf(text, sizeof(text), "%d\n", run->exit_code);
	return synth_output_part(text, size, data, len, off);
}

static int size_wait(struct mount *m, const struct synth_node *n, uint64_t *ret)
{
	char text[16];
	ssize_t size = read_wait(m, n, text, sizeof(text), 0);

	*ret = size > 0 ? (uint64_t)size : 0;
	return 0;
}

static struct list *ended(struct mount *m, const struct synth_node *n)
{
	struct run *run = run_of(m, n);

	return run ? &run->ended : NULL;
}

static int begin_kill(struct control_call *call, const char *text, size_t len, struct fail *f)
{
	struct run *run = run_of(call->m, &call->node);
	int sig = len ? signal_name_parse(text) : 0;
	int r;

	if (!run)
		return -ESTALE;
	if (sig < 0)
		return fail_set(f, -EINVAL,
			"no such signal: \"%.40s\" (write a name as TERM or SIGTERM, a number from 1 "
			"to %d, or an empty line)",
			text, SIGRTMAX);
	r = run_kill(run, sig);
	call->object = (uint32_t)(sig ? sig : SIGTERM);
	return r == -ESRCH ? fail_set(f, r, "nothing of run %s lives any more", run->id) : r;
}

static int answer_kill(struct control_call *call, struct buf *ret)
{
	return buf_printf(ret, "{\"signal\":\"%s\"}\n", signal_name((int)call->object));
}

static const struct control kill_control = {
	.syntax = CONTROL_LINE,
	.usage = "# Write a signal (TERM, 9, SIGINT...): all of the run's processes get it.\n"
		 "# An empty line is TERM, and KILL two seconds later.\n",
	.begin = begin_kill,
	.answer = answer_kill,
};

/* Whether a request asks for what was asked before: then it is a repeat, as NFS makes them. */
static int repeat(struct run *run, const struct run_request *request, struct fail *f)
{
	char *cmd auto_free = NULL;
	uint64_t len = 0;
	int r = run_cmd(run, &cmd, &len);

	if (r < 0)
		return r;
	if (len == request->cmd_len && !memcmp(cmd, request->cmd, len))
		return 0;
	return fail_set(f, -EBUSY, "run %s has another command already", run->id);
}

static int begin_named(struct control_call *call, struct run_request *request, struct fail *f)
{
	struct run *run = run_of(call->m, &call->node);

	if (!run)
		return -ESTALE;
	call->object = run->number;
	if (run->status != RUN_NEW)
		return repeat(run, request, f);
	request->background = true;
	return run_call_begin(call, request, run, f);
}

static int begin_cmd(struct control_call *call, const char *text, size_t len, struct fail *f)
{
	struct run_request request auto_call(run_request_clear) = {0};
	int r = run_request_shell(text, len, &request, f);

	return r < 0 ? r : begin_named(call, &request, f);
}

/* FNV-1a, never 0. White space at the end does not count. */
static uint64_t hash_request(const char *text, size_t len)
{
	uint64_t hash = 0xcbf29ce484222325u;

	while (len && json_in_is_space(text[len - 1]))
		len--;
	for (size_t i = 0; i < len; i++)
		hash = (hash ^ (unsigned char)text[i]) * 0x100000001b3u;
	return hash ? hash : 1;
}

static int begin_request(struct control_call *call, const char *text, size_t len, struct fail *f)
{
	struct run_request request auto_call(run_request_clear) = {0};
	struct run *run = run_of(call->m, &call->node);
	bool starts = run && run->status == RUN_NEW;
	uint64_t hash = hash_request(text, len);
	int r = run_request_parse(text, len, &request, f);

	if (r == 0 && request.id && run && strcmp(request.id, run->id))
		r = fail_set(f, -EINVAL, "\"id\" is not the directory's name");
	free(request.id);
	request.id = NULL;
	if (r == 0 && run && run->request_hash && run->request_hash != hash)
		r = fail_set(f, -EBUSY, "run %s was asked for otherwise", run->id);
	if (r == 0)
		r = begin_named(call, &request, f);
	if (r == 0 && starts)
		run->request_hash = hash;
	return r;
}

static const struct control cmd_control = {
	.syntax = CONTROL_TEXT,
	.no_nul = true,
	.begin = begin_cmd,
	.answers_early = true,
	.answer = run_call_answer_id,
};

static const struct control request_control = {
	.syntax = CONTROL_JSON,
	.usage =
		"# Write one JSON object as for ctl/run.json: it starts this run in the background.\n",
	.begin = begin_request,
	.answer = run_call_answer_result,
};

static const struct synth_file run_files[] = {
	{.name = "cmd",
		.help = "the command; in a directory made by mkdir, writing it starts it",
		.mode = 0644,
		.present = always,
		.show = show_cmd,
		.size = size_cmd,
		.control = &cmd_control},
	{.name = "request.json",
		.help = "in a directory made by mkdir: starts it with options",
		.mode = 0644,
		.present = takes_request,
		.show = show_request,
		.control = &request_control},
	{.name = "stdout",
		.help = "what it wrote, byte for byte, growing while it runs",
		.mode = 0444,
		.present = once_started,
		.pread = synth_output_read_stdout,
		.size = synth_output_size_stdout,
		.final = final},
	{.name = "stderr",
		.help = "the same of its standard error",
		.mode = 0444,
		.present = once_started,
		.pread = synth_output_read_stderr,
		.size = synth_output_size_stderr,
		.final = final},
	{.name = "output",
		.help = "both, in the order in which they arrived",
		.mode = 0444,
		.present = once_started,
		.pread = synth_output_read_both,
		.size = synth_output_size_both,
		.final = final},
	{.name = "status",
		.help = "running, exited, signaled, timeout, killed, oom, failed or lost",
		.mode = 0444,
		.present = once_started,
		.show = show_status},
	{.name = "exit_code",
		.help = "appears last, when everything else is complete",
		.mode = 0444,
		.present = once_over,
		.show = show_exit_code},
	{.name = "result.json",
		.help = "all of it in one document",
		.mode = 0444,
		.present = once_started,
		.show = show_result,
		.size = size_result},
	{.name = "stdin",
		.help = "of a run started with \"stdinOpen\": bytes for the command",
		.mode = 0644,
		.present = once_started,
		.write = write_stdin,
		.full = stdin_full,
		.waiters = stdin_ready,
		.opened = stdin_opened,
		.released = stdin_released},
	{.name = "kill",
		.help = "write a signal; an empty line is TERM, then KILL",
		.mode = 0644,
		.present = once_started,
		.control = &kill_control},
	{.name = "wait",
		.help = "reading waits for the end, then gives the exit code",
		.mode = 0444,
		.present = once_started,
		.pread = read_wait,
		.size = size_wait,
		.waiters = ended},
	{.name = "live",
		.help = "the output from the start, and more as it comes until the end",
		.mode = 0444,
		.present = once_started,
		.pread = synth_output_read_live,
		.size = synth_output_size_both,
		.waiters = grown},
};

static bool run_exists(struct mount *m, uint32_t object)
{
	return runs_at(m->runs, object);
}

static void run_name(struct mount *m, uint32_t object, struct buf *ret)
{
	struct run *run = runs_at(m->runs, object);

	buf_printf(ret, "out/%s", run ? run->id : "?");
}

static void run_times(struct mount *m, uint32_t object, struct synth_times *ret)
{
	struct run *run = runs_at(m->runs, object);

	if (!run || !run->started_usec)
		return;
	ret->made_usec = run->started_usec;
	ret->changed_usec = run->ended_usec ? run->ended_usec : run->started_usec;
}

static int unlink_file(struct mount *m, const struct synth_node *n, struct fail *f)
{
	struct run *run = run_of(m, n);

	if (!run)
		return -ENOENT;
	if (run->status == RUN_RUNNING)
		return fail_set(f, -EBUSY, "it is running; write to its `kill` first");
	run->hidden |= 1U << n->slot;
	return 0;
}

static void run_parent(struct mount *m, uint32_t object, struct synth_node *ret)
{
	(void)m;
	(void)object;
	*ret = (struct synth_node){.dir = &synth_out};
}

static struct run_output *run_output_of(struct mount *m, uint32_t object, bool *ret_over)
{
	struct run *run = runs_at(m->runs, object);

	*ret_over = !run || run_is_over(run);
	return run ? &run->output : NULL;
}

const struct synth_dir synth_run = {
	.path = "out/ID",
	.help = "what one run did",
	.files = run_files,
	.files_len = ARRAY_LEN(run_files),
	.scratch = true,
	.exists = run_exists,
	.name = run_name,
	.times = run_times,
	.output = run_output_of,
	.unlink = unlink_file,
	.parent = run_parent,
};
