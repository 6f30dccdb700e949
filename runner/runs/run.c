// One run: starting, what the sandbox tells of it, killing, its end.
#include "runner/runs/run_internal.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "common/clock.h"
#include "common/scope.h"
#include "common/signal_name.h"
#include "common/waiters.h"

static const char *const status_names[] = {
	[RUN_NEW] = "new",
	[RUN_RUNNING] = "running",
	[RUN_EXITED] = "exited",
	[RUN_SIGNALED] = "signaled",
	[RUN_TIMEOUT] = "timeout",
	[RUN_KILLED] = "killed",
	[RUN_OOM] = "oom",
	[RUN_FAILED] = "failed",
	[RUN_LOST] = "lost",
	[RUN_LIMIT] = "limit",
};

static const struct {
	const char *name;
	int err;
	const char *words;
} limits[] = {
	[RUN_LIMIT_MEMORY] = {"memory", -ENOMEM, "memory ran out: a process was killed for it"},
	[RUN_LIMIT_PIDS] = {"pids", -EAGAIN, "a process was refused: there are as many as allowed"},
	[RUN_LIMIT_FSIZE] = {"fsize", -EFBIG, "a file would have become larger than allowed"},
	[RUN_LIMIT_DISK] = {"disk", -ENOSPC, "the sandbox's disk is full: the run was ended"},
};

const char *run_limit_name(enum run_limit limit)
{
	return limit < ARRAY_LEN(limits) ? limits[limit].name : NULL;
}

const char *run_status_name(enum run_status status)
{
	return status < ARRAY_LEN(status_names) ? status_names[status] : "lost";
}

/* The last step of every run: all that others see is in place before they are told. */
static void end(struct run *run, enum run_status status)
{
	struct runs *runs = run->runs;

	run->status = status;
	run->ending = false;
	run->ended_usec = clock_wall_usec();
	run->duration_usec = clock_monotonic_usec() - run->started_mono_usec;
	runs->live--;
	loop_timer_cancel(runs->config.loop, &run->timeout);
	run_stdin_shut(run);
	run_save(run);
	if (status == RUN_LOST)
		runs_log(runs, "lost %s", run->id);
	else
		runs_log(runs, "ended %s: %s %d", run->id, run_status_name(status), run->exit_code);
	waiters_wake(&run->grown);
	waiters_wake(&run->ended);
	runs_prune(runs);
}

static void try_end(struct run *run)
{
	if (!run_output_is_stored(&run->output, &run->end_mark))
		return;
	if (!run->output.job)
		run_output_flush(&run->output);
	end(run, run->end_status);
}

/* What was written before the end is stored before it is told; what a child in the background
 * writes later is not waited for. */
static void begin_end(struct run *run, enum run_status status)
{
	run->ending = true;
	run->end_status = status;
	loop_timer_cancel(run->runs->config.loop, &run->timeout);
	run_output_mark(&run->output, &run->end_mark);
	try_end(run);
}

/* A process of it may have been killed or refused although it went on by itself. */
static enum run_limit limit_of(const struct run *run, int wait_status)
{
	struct sandbox_hits hits;

	if (run->limit)
		return run->limit;
	if (WIFSIGNALED(wait_status) && WTERMSIG(wait_status) == SIGXFSZ)
		return RUN_LIMIT_FSIZE;
	sandbox_hits(run->runs->config.sandbox, run->number, &hits);
	if (hits.memory > run->hits.memory)
		return RUN_LIMIT_MEMORY;
	return hits.pids > run->hits.pids ? RUN_LIMIT_PIDS : RUN_LIMIT_NONE;
}

static void tell_failure(struct run *run, int err, const char *words)
{
	const struct runs_hooks *hooks = &run->runs->config.hooks;
	char path[RUN_NAME_MAX + 8];
	struct fail f;

	if (!hooks->failed)
		return;
	snprintf(path, sizeof(path), "out/%s", run->id);
	fail_set(&f, 0, "%s", words);
	hooks->failed(hooks->arg, path, err, &f);
}

static void tell_limit(struct run *run)
{
	runs_log(run->runs, "limit %s: %s", run->id, limits[run->limit].name);
	tell_failure(run, limits[run->limit].err, limits[run->limit].words);
}

static enum run_status status_of(struct run *run, int wait_status)
{
	if (WIFEXITED(wait_status)) {
		run->exit_code = WEXITSTATUS(wait_status);
	} else {
		run->signal = WTERMSIG(wait_status);
		run->exit_code = 128 + run->signal;
	}
	run->limit = limit_of(run, wait_status);
	if (run->limit)
		tell_limit(run);
	if (run->timed_out) {
		run->exit_code = 124;
		return RUN_TIMEOUT;
	}
	if (WIFEXITED(wait_status))
		return RUN_EXITED;
	if (run->signal == SIGKILL && run->limit == RUN_LIMIT_DISK)
		return RUN_LIMIT;
	if (run->kill_asked)
		return RUN_KILLED;
	return run->signal == SIGKILL && run->limit == RUN_LIMIT_MEMORY ? RUN_OOM : RUN_SIGNALED;
}

unsigned runs_end_for_disk(struct runs *runs)
{
	struct list *item;
	unsigned ended = 0;

	list_for_each(item, &runs->all)
	{
		struct run *run = list_entry(item, struct run, link);

		if (!run->in_sandbox)
			continue;
		if (run->status == RUN_RUNNING && !run->ending)
			run->limit = RUN_LIMIT_DISK;
		sandbox_kill(runs->config.sandbox, run->number, SIGKILL, SANDBOX_TREE);
		ended++;
	}
	return ended;
}

static void fail_start(struct run *run, int err, const char *text)
{
	struct fail words;
	char line[sizeof(words.text) + 16];
	int len;

	fail_set(&words, 0, "%s", text);
	len = snprintf(line, sizeof(line), "sandpit: %s\n", words.text);
	run_take(run, RUN_STDERR, line, (size_t)len);
	tell_failure(run, err, words.text);
	run->exit_code = err == -ENOENT ? 127 : 126;
	run->in_sandbox = false;
	run_pipes_close(run);
	end(run, RUN_FAILED);
}

void run_on_event(struct run *run, const struct sandbox_event *event)
{
	if (event->kind == SANDBOX_EMPTY) {
		run->in_sandbox = false;
		loop_timer_cancel(run->runs->config.loop, &run->kill_later);
		return;
	}
	if (run->status != RUN_RUNNING)
		return;
	if (event->kind == SANDBOX_FAILED) {
		fail_start(run, event->err, event->text);
	} else if (event->kind == SANDBOX_ENDED && !run->ending) {
		run_pipes_drain(run);
		begin_end(run, status_of(run, event->wait_status));
	}
}

void run_on_written(struct run_output *output)
{
	struct run *run = container_of(output, struct run, output);

	if (!run_output_is_behind(output))
		run_pipes_resume(run);
	if (run->ending)
		try_end(run);
}

void run_on_sandbox_death(struct run *run)
{
	run->in_sandbox = false;
	run_pipes_drain(run);
	run_pipes_close(run);
	run_output_flush(&run->output);
	if (run->status == RUN_RUNNING)
		end(run, run->ending ? run->end_status : RUN_LOST);
}

int run_kill(struct run *run, int sig)
{
	struct runs *runs = run->runs;
	int r;

	if (!run->in_sandbox)
		return -ESRCH;
	if (run->status == RUN_RUNNING)
		run->kill_asked = true;
	r = sandbox_kill(runs->config.sandbox, run->number, sig ? sig : SIGTERM, SANDBOX_TREE);
	if (r == 0 && !sig)
		loop_timer_set(runs->config.loop, &run->kill_later,
			clock_monotonic_usec() + RUN_KILL_GRACE_USEC);
	if (r == 0)
		runs_log(runs, "killed %s: %s", run->id, signal_name(sig ? sig : SIGTERM));
	return r;
}

void run_cancel(struct run *run)
{
	struct runs *runs = run->runs;

	if (!run->in_sandbox)
		return;
	run->kill_asked = true;
	sandbox_kill(runs->config.sandbox, run->number, SIGINT, SANDBOX_TREE);
	loop_timer_set(
		runs->config.loop, &run->kill_later, clock_monotonic_usec() + RUN_KILL_GRACE_USEC);
	runs_log(runs, "canceled %s", run->id);
}

static void on_kill_later(struct loop_timer *timer)
{
	struct run *run = container_of(timer, struct run, kill_later);

	if (run->in_sandbox)
		sandbox_kill(run->runs->config.sandbox, run->number, SIGKILL, SANDBOX_TREE);
}

static void on_timeout(struct loop_timer *timer)
{
	struct run *run = container_of(timer, struct run, timeout);

	run->timed_out = true;
	runs_log(run->runs, "timeout %s", run->id);
	sandbox_kill(run->runs->config.sandbox, run->number, SIGKILL, SANDBOX_TREE);
}

int run_forget(struct run *run)
{
	if (run->status == RUN_RUNNING)
		return -EBUSY;
	runs_log(run->runs, "removed %s", run->id);
	run_free(run);
	return 0;
}

/* A script too long for one argument (MAX_ARG_STRLEN, 128 KiB) is read from descriptor 3. */
#define SCRIPT_ARG_MAX (128 * 1024 - 1)

static int script_file(const struct run_request *request, int *ret_fd)
{
	struct run_request as_input = {.stdin_data = request->cmd, .stdin_len = request->cmd_len};
	struct run none = {0};

	*ret_fd = -1;
	if (request->argv || request->cmd_len <= SCRIPT_ARG_MAX)
		return 0;
	return run_stdin_open(&none, &as_input, ret_fd);
}

struct start {
	struct sandbox_user user;
	char **env; /* owned */
	int in_fd, out_fd, err_fd, script_fd; /* owned */
};

static void start_clear(struct start *start)
{
	run_request_free_strings(&start->env);
	close_fd(&start->in_fd);
	close_fd(&start->out_fd);
	close_fd(&start->err_fd);
	close_fd(&start->script_fd);
}

static int spawn(struct run *run, struct run_request *request, struct start *start, struct fail *f)
{
	const char *shell = request->shell ? request->shell : "/bin/sh";
	const char *text = start->script_fd >= 0 ? ". /proc/self/fd/3" : request->cmd;
	const char *const by_shell[] = {shell, "-c", text, NULL};
	const struct sandbox_spawn spawn = {
		.id = run->number,
		.argv = request->argv ? (const char *const *)request->argv : by_shell,
		.env = (const char *const *)start->env,
		.cwd = run->cwd,
		.user = &start->user,
		.in_fd = start->in_fd,
		.out_fd = start->out_fd,
		.err_fd = start->err_fd,
		.extra_fd = start->script_fd,
		.limits = request->limits,
	};

	return sandbox_spawn(run->runs->config.sandbox, &spawn, f);
}

/* Everything that can be refused is refused here, before the run has an id. */
static int check(
	struct runs *runs, struct run_request *request, struct start *start, struct fail *f)
{
	const char *user = request->user ? request->user : runs->user;
	int r;

	if (!runs->sandbox_alive)
		return fail_set(f, -EIO, "the sandbox has died; umount and mount it again");
	if (request->id && runs_find(runs, request->id))
		return fail_set(f, -EEXIST, "a run \"%s\" exists already", request->id);
	r = sandbox_find_user(runs->config.sandbox, user, &start->user, f);
	if (r == 0 && request->cwd)
		r = runs_check_cwd(runs, request->cwd, f);
	if (r == 0)
		r = run_environment(runs, &start->user, request->env, &start->env);
	return r == 0 ? script_file(request, &start->script_fd) : r;
}

static int fill(struct run *run, struct run_request *request, const struct start *start)
{
	struct runs *runs = run->runs;

	run->cwd = strdup(request->cwd ? request->cwd : runs->cwd);
	run->user = strdup(start->user.name);
	run->cmd_len = request->cmd_len;
	run->background = request->background;
	run->limits = request->limits;
	run->in_open = request->stdin_open;
	run->timeout.fire = on_timeout;
	run->kill_later.fire = on_kill_later;
	return run->cwd && run->user ? 0 : -ENOMEM;
}

static void begin(struct run *run, const struct run_request *request)
{
	struct runs *runs = run->runs;
	uint64_t timeout = request->has_timeout ? request->timeout_usec : runs->timeout_usec;

	run->status = RUN_RUNNING;
	run_set_reserved(run, false);
	run->in_sandbox = true;
	run->started_usec = clock_wall_usec();
	run->started_mono_usec = clock_monotonic_usec();
	runs->live++;
	runs->total++;
	runs->last = run;
	if (timeout)
		loop_timer_set(runs->config.loop, &run->timeout, run->started_mono_usec + timeout);
}

int run_start(struct runs *runs, struct run_request *request, struct run *into, struct run **ret,
	struct fail *f)
{
	struct start start auto_call(start_clear) = {
		.in_fd = -1, .out_fd = -1, .err_fd = -1, .script_fd = -1};
	struct run *run = into;
	int r = check(runs, request, &start, f);

	if (r == 0 && !run)
		r = run_new(runs, request->id, &run);
	if (r < 0)
		return r;
	r = fill(run, request, &start);
	if (r == 0)
		r = run_stdin_open(run, request, &start.in_fd);
	if (r == 0)
		r = run_pipes_open(run, &start.out_fd, &start.err_fd);
	if (r < 0) {
		fail_errno(f, r, "cannot start the command");
		if (!into)
			run_free(run);
		return r;
	}
	begin(run, request);
	/* Those of a group of its own start at nothing; of the sandbox's at what there was. */
	sandbox_hits(runs->config.sandbox, run->number, &run->hits);
	r = spawn(run, request, &start, f);
	run_save_start(run, request->cmd);
	runs_log(runs, "started %s: %.*s", run->id, (int)strcspn(request->cmd, "\n"), request->cmd);
	if (r < 0)
		fail_start(run, r, f && *f->text ? f->text : strerror(-r));
	run_request_clear(request);
	*ret = run;
	return 0;
}
