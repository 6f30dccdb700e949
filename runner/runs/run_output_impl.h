// What the files of a run's output share. For runner/run_output*.c only.
#pragma once

#include "runner/runs/run_output.h"

#define RUN_OUTPUT_MEMORY_MAX 65536 /* bytes of a stream kept in memory when the disk is full */
#define RUN_OUTPUT_BEHIND (1024 * 1024) /* bytes of a stream that wait: the pipe waits, too */

/* The descriptor of a stream's file, which stays run_output's; or -errno. */
int run_output_open_file(struct run_output *o, enum run_stream stream, int flags);

/* Whether the next bytes of a stream are for the thread. */
bool run_output_job_takes(const struct run_output *o, enum run_stream stream);

/* A write that was begun then has ended: when it took long the thread is to do the next ones. */
void run_output_note_write(const struct run_output *o, uint64_t begun_usec);

/* Lets the thread write what is in memory, if it is not at work already. */
void run_output_job_start(struct run_output *o);

/* Frees the memory that nothing is in. */
void run_output_free_room(struct run_output *o);

/* How many bytes of a stream it is writing. */
size_t run_output_job_len(const struct run_output *o, enum run_stream stream);

/* Of these: copies from off on. */
void run_output_job_read(
	const struct run_output *o, enum run_stream stream, void *data, size_t len, uint64_t off);

/* Waits for the thread; what is in memory then stays there. */
void run_output_job_finish(struct run_output *o);
