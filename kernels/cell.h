// One execution of a context: its source, its streams, results and events, in memory while they are
// small and else on disk, and its outcome. Belongs to the loop's leader.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "common/buf.h"
#include "common/list.h"
#include "common/spill.h"
#include "kernels/kernel_wire.h"
#include "runner/runs/run_output.h"

enum cell_status {
	CELL_QUEUED,
	CELL_RUNNING,
	CELL_OK,
	CELL_ERROR,
	CELL_TIMEOUT,
	CELL_INTERRUPTED,
	CELL_DIED,
};

/* A format that a result has in a file of its own. */
struct cell_format {
	const char *suffix; /* of the file in results/ */
	const char *key; /* in result.json */
	const char *mime;
	enum { CELL_TEXT, CELL_BINARY, CELL_JSON } kind;
};

extern const struct cell_format cell_formats[];
extern const size_t cell_formats_len;

struct cell_part {
	const struct cell_format *format; /* NULL: extra */
	char *mime; /* owned; of an extra one, else NULL */
	struct spill data;
};

struct cell_result {
	struct list link; /* in the cell's, in order */
	struct cell *cell; /* borrowed */
	struct cell_result *next_in_bucket;
	uint32_t number; /* of all results; names the nodes */
	unsigned index; /* in the cell */
	char *display; /* owned; its id for later updates; NULL: none */
	bool is_main;
	struct cell_part *parts; /* owned */
	size_t parts_len;
};

#define CELL_BUCKETS 1024

/* What the cells of a sandbox share. */
struct cells {
	int dir_fd; /* owned; STATE/code */
	struct spill_dir spill; /* in it: what is not small */
	uint64_t output_bytes; /* kept of each stream, and of the results of one cell */
	struct cell *buckets[CELL_BUCKETS];
	struct cell_result *result_buckets[CELL_BUCKETS];
	uint32_t next_cell, next_result;
};

struct cell {
	struct cells *cells; /* borrowed */
	struct list link; /* in its context's, oldest first */
	struct cell *next_in_bucket;
	uint32_t number; /* of all cells; names the files and nodes */
	uint32_t count; /* the execution number in its context */
	uint32_t context; /* its context's number */
	const char *language; /* borrowed from the table of languages */
	enum cell_status status;
	bool timed_out, interrupted; /* what was asked of it */
	bool restarted; /* it runs in a fresh kernel, after one that ended */
	bool discard; /* clear_output(wait): with the next result */
	uint64_t timeout_usec; /* 0: none */
	struct spill code;
	uint64_t made_usec, started_usec, ended_usec; /* wall clock */
	uint64_t started_mono_usec, duration_usec;

	struct run_output output;
	unsigned char carry[2][4]; /* the beginning of a character that is not complete yet */
	uint8_t carry_len[2];
	struct spill events;
	bool events_full; /* some are left out, which the last one says */

	struct list results; /* of struct cell_result.link */
	unsigned results_len;
	uint64_t results_bytes;
	bool results_dropped;

	bool failed;
	char *error_name, *error_value; /* owned; NULL also where there was no memory */
	char **traceback; /* owned */
	size_t traceback_len;

	int64_t json_size; /* of result.json once nothing can change it; -1: not computed */
	struct list grown; /* waiters: more output or events, or the end */
	struct list ended; /* waiters: the end */
};

/* Makes (and empties) STATE/code. */
int cells_open(struct cells *cells, int state_fd, uint64_t output_bytes);
void cells_close(struct cells *cells); /* all cells were freed before */

struct cell *cells_at(struct cells *cells, uint32_t number);
struct cell_result *cells_result_at(struct cells *cells, uint32_t number);

/* A new execution, with its source. The caller lists it and sets count and so on. */
int cell_new(struct cells *cells, const char *code, size_t len, struct cell **ret);

/* Wakes who waits, removes the files. */
void cell_free(struct cell *cell);

static inline bool cell_is_over(const struct cell *cell)
{
	return cell->status >= CELL_OK;
}

const char *cell_status_name(const struct cell *cell);

/* Its source, added to ret. 0 or -errno. */
int cell_code(struct cell *cell, struct buf *ret);

void cell_begin(struct cell *cell);

/* Output of the kernel, also after the end (late). */
void cell_output(struct cell *cell, enum run_stream stream, const void *data, size_t len);
void cell_output_dropped(struct cell *cell, enum run_stream stream, uint64_t len);

/* Records an error (the first one stays). Nothing needs to be NUL-terminated. */
void cell_error(
	struct cell *cell, const char *name, size_t name_len, const char *value, size_t value_len);
void cell_traceback(struct cell *cell, const char *text, size_t len);

/* The last step; waiters are told. */
void cell_end(struct cell *cell, enum cell_status status);

/* cell_result.c: what a frame brings; a wrong frame is -EPROTO. */
int cell_add_result(struct cell *cell, const struct kernel_frame *frame);
int cell_update_result(struct cell_result *result, const struct kernel_frame *frame);
void cell_clear_results(struct cell *cell);
void cell_free_results(struct cell *cell);
struct cell_result *cell_find_display(struct cell *cell, const char *id, size_t len);
ssize_t cell_result_read(
	struct cell_result *result, size_t part, void *data, size_t len, uint64_t off);
/* The part of that format; -1: none. */
int cell_result_part(const struct cell_result *result, const struct cell_format *format);

/* cell_event.c: a line of `events`. */
void cell_event_output(struct cell *cell, enum run_stream stream, const void *data, size_t len);
void cell_event_result(struct cell *cell, const struct cell_result *result, const char *type);
void cell_event_clear(struct cell *cell);
void cell_event_error(struct cell *cell);
void cell_event_end(struct cell *cell);
ssize_t cell_events_read(struct cell *cell, void *data, size_t len, uint64_t off);

/* cell_json.c */
int cell_result_json(struct cell *cell, struct buf *ret);
int cell_error_json(struct cell *cell, struct buf *ret);
/* The readable traceback. */
int cell_error_text(struct cell *cell, struct buf *ret);
