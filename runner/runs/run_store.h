// The index of runs that survives the daemon: STATE/sandpit.db. The only home of SQLite in here.
#pragma once

#include <stdint.h>

#include "common/fail.h"
#include "common/loop.h"

struct run_store;

#define RUN_ROW_LIMIT_SHIFT 8

/* One row. Text is borrowed by the store while it is called. */
struct run_row {
	uint32_t number; /* order of creation; never reused */
	const char *id;
	const char *cmd;
	uint64_t cmd_len;
	const char *cwd;
	const char *user;
	int status; /* enum run_status */
	int exit_code;
	int signal;
	int timed_out; /* 0 or 1, and above RUN_ROW_LIMIT_SHIFT enum run_limit */
	int dropped;
	uint64_t mixed; /* 0, 1, or of which stream and from where on: see runs.c */
	uint64_t started_usec, ended_usec; /* wall clock; 0: not yet */
	uint64_t total[2];
	uint64_t kept[3];
};

/* Opens or makes the index; what is slow about it is done beside the loop (borrowed). -EPROTO: of a
 * newer version than this program knows. */
int run_store_open(
	const char *state_path, struct loop *loop, struct run_store **ret, struct fail *f);
void run_store_close(struct run_store *store);

/* Calls each() for every row in order; what it returns below 0 ends the walk and is returned. */
int run_store_load(
	struct run_store *store, int (*each)(const struct run_row *row, void *arg), void *arg);

int run_store_insert(struct run_store *store, const struct run_row *row);
int run_store_update(struct run_store *store, const struct run_row *row);
int run_store_delete(struct run_store *store, uint32_t number);

/* The command of a run; *ret is owned by the caller, NUL-terminated. */
int run_store_cmd(struct run_store *store, uint32_t number, char **ret, uint64_t *ret_len);

/* Small values that outlive a mount: the next id, ctl/cwd... -ENOENT when unset. */
int run_store_get(struct run_store *store, const char *key, char **ret);
int run_store_set(struct run_store *store, const char *key, const char *value);
