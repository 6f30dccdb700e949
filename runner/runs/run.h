// Runs: one command each, from its request to its result. All of it belongs to the loop's leader.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "common/list.h"
#include "common/loop.h"
#include "runner/runs/output_pipe.h"
#include "runner/runs/run_output.h"
#include "runner/runs/run_request.h"
#include "runner/sandbox.h"

enum run_status {
	RUN_NEW, /* named by mkdir, nothing asked yet */
	RUN_RUNNING,
	RUN_EXITED,
	RUN_SIGNALED,
	RUN_TIMEOUT,
	RUN_KILLED,
	RUN_OOM,
	RUN_FAILED,
	RUN_LOST,
	RUN_LIMIT, /* ended because the sandbox's disk was full */
};

/* Which limit a run came up against; it may have gone on. */
enum run_limit {
	RUN_LIMIT_NONE,
	RUN_LIMIT_MEMORY,
	RUN_LIMIT_PIDS,
	RUN_LIMIT_FSIZE,
	RUN_LIMIT_DISK,
};

struct runs;

struct run {
	struct runs *runs; /* borrowed */
	struct list link; /* in runs, oldest first */
	struct run *next_in_bucket;
	uint32_t number; /* order of creation; also the spawn id */
	char *id; /* owned */
	char *cwd, *user; /* owned; as used */
	uint64_t cmd_len;
	char *cmd; /* owned; as long as the index does not have it: see run_save.c */
	bool in_index, unsaved; /* it has a row; the row is not as the run is */
	enum run_status status;
	int exit_code;
	int signal; /* that ended it; 0: none */
	bool timed_out;
	enum run_limit limit;
	struct sandbox_limits limits; /* its own */
	struct sandbox_hits hits; /* as it started */
	bool kill_asked; /* through `kill` or an interrupted writer */
	bool in_sandbox; /* init knows it: its tree may still live */
	bool background; /* its writer does not wait */
	bool reserved; /* named and not started yet; counted in runs */
	uint64_t started_usec, ended_usec; /* wall clock */
	uint64_t started_mono_usec, duration_usec;
	struct run_output output;
	bool ending; /* it is over, and told so once its output is stored up to a mark... */
	struct run_output_mark end_mark;
	enum run_status end_status; /* ...with this */

	struct run_pipe {
		struct output_pipe pipe;
		struct run *run;
	} pipes[2]; /* by enum run_stream */
	struct loop_source in; /* write end of the standard input; fd -1: closed */
	unsigned in_writers; /* open handles on `stdin` */
	bool in_open; /* was asked for: stdinOpen */

	struct loop_timer timeout;
	struct loop_timer kill_later;

	struct list grown; /* waiters: more output, or the end */
	struct list ended; /* waiters: the end */
	struct list in_ready; /* waiters: standard input takes more, or is closed */

	int64_t result_size; /* of result.json once ended; -1: not computed yet */
	uint64_t request_hash; /* of the JSON by which it was asked for; 0: not known */
	uint32_t hidden; /* files of out/ID that were unlinked, by table index */
};

/* What others do when something happens; all may be NULL. */
struct runs_hooks {
	void (*log)(void *arg, const char *format, ...) __attribute__((format(printf, 2, 3)));
	/* An event of a spawn that is no run's. */
	void (*event)(void *arg, const struct sandbox_event *event);
	/* A run could not start, or came up against a limit: its path in the mount, -errno, words. */
	void (*failed)(void *arg, const char *path, int err, const struct fail *f);
	/* init has died: nothing runs in the sandbox any more. */
	void (*sandbox_died)(void *arg);
	void *arg;
};

struct runs_config {
	struct loop *loop; /* borrowed, all three */
	struct sandbox *sandbox;
	const char *state_path;
	int state_fd; /* borrowed */
	char *const *environment; /* borrowed; K=V of all commands, under ctl/env; NULL: none */
	uint64_t output_bytes; /* kept of each stream */
	uint64_t timeout_usec; /* the built-in default of runs */
	struct runs_hooks hooks;
};

/* Opens the index, marks runs that were going when the daemon died as lost. */
int runs_open(const struct runs_config *config, struct runs **ret, struct fail *f);
void runs_close(struct runs *runs);

/* Reads the sandbox's events; a loop_source of its own is watched by runs_open(). */
unsigned runs_live_count(const struct runs *runs); /* whose first process runs */
unsigned runs_count(const struct runs *runs);
uint64_t runs_total(const struct runs *runs); /* ever started */
struct list *runs_list(struct runs *runs); /* of struct run.link, oldest first */
struct run *runs_find(struct runs *runs, const char *id);
struct run *runs_at(struct runs *runs, uint32_t number);
struct run *runs_last(struct runs *runs); /* the newest started; NULL: none */
bool runs_sandbox_alive(const struct runs *runs);

/* The defaults of later runs (ctl/cwd, env, user, timeout), kept in the index. Text is checked by
 * the setters: -EINVAL, -ENOENT, -ENOTDIR with words. The getters' text is borrowed. */
const char *runs_cwd(const struct runs *runs);
const char *runs_env(const struct runs *runs);
const char *runs_user(const struct runs *runs);
const char *runs_timeout(const struct runs *runs);
int runs_set_cwd(struct runs *runs, const char *text, struct fail *f);
int runs_set_env(struct runs *runs, const char *text, size_t len, struct fail *f);
int runs_set_user(struct runs *runs, const char *text, struct fail *f);
int runs_set_timeout(struct runs *runs, const char *text, struct fail *f);

/* Starts a run; the request is emptied. -EEXIST: its id is in use; -EINVAL: user or cwd or name
 * are wrong; -ENOENT: cwd; -EIO: the sandbox is gone. Into `into` when not NULL: a run made by
 * run_reserve(). */
int run_start(struct runs *runs, struct run_request *request, struct run *into, struct run **ret,
	struct fail *f);

/* A name without a command yet: mkdir out/NAME. -EEXIST, -EINVAL (not a name). */
int run_reserve(struct runs *runs, const char *name, struct run **ret, struct fail *f);

static inline bool run_is_over(const struct run *run)
{
	return run->status > RUN_RUNNING;
}

/* Words, names and numbers as the files show them. */
const char *run_status_name(enum run_status status);

/* Its command; owned by the caller, NUL-terminated. */
int run_cmd(struct run *run, char **ret, uint64_t *ret_len);

/* Sends a signal to the whole tree, also after the run's end. sig 0: TERM, then KILL two seconds
 * later if anything lives. -ESRCH: nothing of it lives. */
int run_kill(struct run *run, int sig);

/* What Ctrl-C on the waiting writer does: INT, then KILL two seconds later. */
void run_cancel(struct run *run);

/* Standard input of a run started with stdinOpen: bytes taken, -EAGAIN (wait on run->in_ready),
 * -EPIPE. */
ssize_t run_write_stdin(struct run *run, const void *data, size_t len);
bool run_stdin_is_full(struct run *run); /* true: run->in_ready is told when it has room */
void run_open_stdin(struct run *run);
void run_close_stdin(struct run *run); /* one writer less; the last one is end of file */

/* "memory", "pids", "fsize", "disk"; NULL: none. */
const char *run_limit_name(enum run_limit limit);

/* Ends all runs that are going, whole trees, because the disk is full. Returns how many. */
unsigned runs_end_for_disk(struct runs *runs);

/* Forgets an ended run and its files. -EBUSY while it runs. */
int run_forget(struct run *run);

/* result.json. 0 or -errno. */
int run_result(struct run *run, struct buf *ret);
