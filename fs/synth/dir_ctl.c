// ctl/: running commands, and the defaults of runs.
#include "fs/synth/synth.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/scope.h"
#include "fs/mount.h"
#include "fs/synth/control.h"
#include "fs/synth/run_call.h"

/* The last text of ctl/run and ctl/start, for editors that open the file again. */
static int show_text(struct mount *m, const struct synth_node *n, struct buf *ret)
{
	const char *text = m->texts[n->slot % ARRAY_LEN(m->texts)];

	return text ? buf_add_str(ret, text) : 0;
}

static int keep_text(struct control_call *call, const char *text, size_t len)
{
	char **place = &call->m->texts[call->node.slot % ARRAY_LEN(call->m->texts)];
	char *copy = strndup(text, len);

	if (!copy)
		return -ENOMEM;
	free(*place);
	*place = copy;
	return 0;
}

static int begin_shell(
	struct control_call *call, const char *text, size_t len, bool background, struct fail *f)
{
	struct run_request request auto_call(run_request_clear) = {0};
	int r = run_request_shell(text, len, &request, f);

	if (r == 0)
		r = keep_text(call, text, len);
	request.background = background;
	return r < 0 ? r : run_call_begin(call, &request, NULL, f);
}

static int begin_run(struct control_call *call, const char *text, size_t len, struct fail *f)
{
	return begin_shell(call, text, len, false, f);
}

static int begin_start(struct control_call *call, const char *text, size_t len, struct fail *f)
{
	return begin_shell(call, text, len, true, f);
}

static int begin_json(struct control_call *call, const char *text, size_t len, struct fail *f)
{
	struct run_request request auto_call(run_request_clear) = {0};
	int r = run_request_parse(text, len, &request, f);

	if (r == 0)
		r = run_call_begin(call, &request, NULL, f);
	if (r == 0)
		call->m->json_run = call->object;
	return r;
}

static int show_json(struct mount *m, const struct synth_node *n, struct buf *ret)
{
	struct run *run = m->json_run ? runs_at(m->runs, m->json_run) : NULL;

	return run ? run_result(run, ret) : control_usage(synth_file_of(n), ret);
}

static const struct control run_control = {
	.syntax = CONTROL_TEXT,
	.no_nul = true,
	.begin = begin_run,
	.cancel = run_call_cancel,
	.answers_early = true,
	.answer = run_call_answer_id,
};

static const struct control start_control = {
	.syntax = CONTROL_TEXT,
	.no_nul = true,
	.begin = begin_start,
	.answers_early = true,
	.answer = run_call_answer_id,
};

static const struct control json_control = {
	.syntax = CONTROL_JSON,
	.usage =
		"# Write one JSON object; only \"cmd\" is required:\n"
		"# {\"cmd\": \"text\" or [\"argv0\", ...], \"cwd\": \"/work\", \"env\": {\"K\": \"V\"},\n"
		"#  \"user\": \"name\", \"timeout\": 60, \"stdin\": \"text\", \"stdinOpen\": false,\n"
		"#  \"id\": \"build\", \"background\": false, \"shell\": \"/bin/bash\",\n"
		"#  \"limits\": {\"memory\": \"256M\", \"pids\": 100}}\n"
		"# The close returns when the command has ended, unless \"background\" is true.\n",
	.begin = begin_json,
	.cancel = run_call_cancel,
	.answer = run_call_answer_result,
};

static int add_line(struct buf *ret, const char *text)
{
	buf_add_str(ret, text);
	return buf_add_char(ret, '\n');
}

static int show_cwd(struct mount *m, const struct synth_node *n, struct buf *ret)
{
	(void)n;
	return add_line(ret, runs_cwd(m->runs));
}

static int show_env(struct mount *m, const struct synth_node *n, struct buf *ret)
{
	(void)n;
	return buf_add_str(ret, runs_env(m->runs));
}

static int show_user(struct mount *m, const struct synth_node *n, struct buf *ret)
{
	(void)n;
	return add_line(ret, runs_user(m->runs));
}

static int show_timeout(struct mount *m, const struct synth_node *n, struct buf *ret)
{
	(void)n;
	return add_line(ret, runs_timeout(m->runs));
}

static int begin_cwd(struct control_call *call, const char *text, size_t len, struct fail *f)
{
	(void)len;
	return runs_set_cwd(call->m->runs, text, f);
}

static int begin_env(struct control_call *call, const char *text, size_t len, struct fail *f)
{
	return runs_set_env(call->m->runs, text, len, f);
}

static int begin_user(struct control_call *call, const char *text, size_t len, struct fail *f)
{
	(void)len;
	return runs_set_user(call->m->runs, text, f);
}

static int begin_timeout(struct control_call *call, const char *text, size_t len, struct fail *f)
{
	(void)len;
	return runs_set_timeout(call->m->runs, text, f);
}

static const struct control cwd_control = {.syntax = CONTROL_LINE, .begin = begin_cwd};
static const struct control env_control = {
	.syntax = CONTROL_TEXT, .no_nul = true, .begin = begin_env};
static const struct control user_control = {.syntax = CONTROL_LINE, .begin = begin_user};
static const struct control timeout_control = {.syntax = CONTROL_LINE, .begin = begin_timeout};

static const struct synth_file ctl_files[] = {
	{.name = "run",
		.help = "write shell text: it runs, the close returns when it has ended",
		.mode = 0644,
		.show = show_text,
		.control = &run_control},
	{.name = "start",
		.help = "the same, but the close returns as soon as it runs",
		.mode = 0644,
		.show = show_text,
		.control = &start_control},
	{.name = "run.json",
		.help = "the same with options; reading it without a request says which",
		.mode = 0644,
		.show = show_json,
		.control = &json_control},
	{.name = "cwd",
		.help = "the directory in which later commands start",
		.mode = 0644,
		.show = show_cwd,
		.control = &cwd_control},
	{.name = "env",
		.help = "K=V lines added to the environment of later commands",
		.mode = 0644,
		.show = show_env,
		.control = &env_control},
	{.name = "user",
		.help = "the user that later commands run as",
		.mode = 0644,
		.show = show_user,
		.control = &user_control},
	{.name = "timeout",
		.help = "seconds after which later commands are killed; 0 is never",
		.mode = 0644,
		.show = show_timeout,
		.control = &timeout_control},
};

const struct synth_dir synth_ctl = {
	.path = "ctl",
	.help = "run commands, and their defaults",
	.files = ctl_files,
	.files_len = ARRAY_LEN(ctl_files),
	.scratch = true,
};
