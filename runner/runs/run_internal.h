// What the files that make up runs share. For runner/run*.c only.
#pragma once

#include "runner/runs/run.h"
#include "runner/runs/run_store.h"
#include "runner/runs/runs_environment.h"

#define RUN_BUCKETS 1024
#define RUN_KEEP_COUNT 1000
#define RUN_RESERVED_MAX 1000 /* that were named and not started */
#define RUN_KEEP_BYTES (1024ULL * 1024 * 1024)
#define RUN_KILL_GRACE_USEC (2 * 1000000ULL)

struct runs {
	struct runs_config config;
	struct run_store *store; /* owned */
	int dir_fd; /* owned; STATE/runs */
	int null_fd; /* owned; /dev/null, where dropped output goes */
	struct list all; /* oldest first */
	struct run *buckets[RUN_BUCKETS]; /* by number, chained by run->next_in_bucket */
	unsigned count, live;
	unsigned reserved; /* of count: those named and not started */
	uint64_t slow_until_usec; /* the disk was: see run_output */
	uint64_t kept_at_most; /* bytes of all output; counted anew when it seems too much */
	unsigned unsaved; /* how many the index does not have as they are */
	uint64_t total;
	uint32_t next_number;
	uint32_t next_id;
	struct run *last; /* newest started; in all */
	struct loop_source link; /* the sandbox's events */
	bool sandbox_alive;
	char *cwd, *env, *user, *timeout; /* owned; defaults as written */
	uint64_t timeout_usec;
	char **env_pairs; /* owned; of env */
};

#define runs_log(runs, ...)                                                                        \
	do {                                                                                       \
		if ((runs)->config.hooks.log)                                                      \
			(runs)->config.hooks.log((runs)->config.hooks.arg, __VA_ARGS__);           \
	} while (0)

/* Makes a record and its row; not started. The id is copied, NULL: the next number. */
int run_new(struct runs *runs, const char *id, struct run **ret);

/* Whether it waits to be started: such runs have a limit of their own, and those that have ended are kept
 * beside them. */
void run_set_reserved(struct run *run, bool reserved);

/* Takes a record and all that it owns away, from the index too. */
void run_free(struct run *run);

/* Writes the record's present state to the index. If that fails it is logged, and done again when the
 * index has taken another. */
void run_save(struct run *run);

/* The same with its command, for one that starts. */
void run_save_start(struct run *run, const char *cmd);

/* The first row of one that is to start later: 0 or -errno. */
int run_save_reserved(struct run *run);

/* Adds to the output of a run what it wrote; a failure is logged. */
void run_take(struct run *run, enum run_stream stream, const void *data, size_t len);

/* Removes the oldest ended runs beyond the limits. */
void runs_prune(struct runs *runs);

/* The pipes of standard output and error: makes them, *ret_out and *ret_err for the command. */
int run_pipes_open(struct run *run, int *ret_out, int *ret_err);
/* Takes in what they hold now. */
void run_pipes_drain(struct run *run);
/* Goes on taking in what they get, if that was held up. */
void run_pipes_resume(struct run *run);
void run_pipes_close(struct run *run);

/* The standard input as asked: *ret_in is owned by the caller, -1 for none. */
int run_stdin_open(struct run *run, struct run_request *request, int *ret_in);
void run_stdin_shut(struct run *run);

/* The defaults as the last mount left them. */
int runs_defaults_load(struct runs *runs, struct fail *f);

/* Whether commands can start in path: 0, or a negative errno with words. */
int runs_check_cwd(struct runs *runs, const char *path, struct fail *f);

/* An event of the sandbox that concerns this run. */
void run_on_event(struct run *run, const struct sandbox_event *event);

/* The thread has written some of a run's output. */
void run_on_written(struct run_output *output);

/* Ends a run that can get no further event. */
void run_on_sandbox_death(struct run *run);
