// The reading end of a pipe on which a process of the sandbox writes its output.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "common/loop.h"

struct output_pipe;

/* Where the bytes go; all are called by the leader. */
struct output_pipe_ops {
	/* Bytes that came. */
	void (*take)(struct output_pipe *pipe, const void *data, size_t len);
	/* Whether more would be dropped anyway: then they are not even copied. May be NULL. */
	bool (*full)(struct output_pipe *pipe);
	/* Whether no more is to be taken now: until output_pipe_resume(), which its owner must call
	 * then. May be NULL. */
	bool (*held)(struct output_pipe *pipe);
	/* So many bytes were thrown away. Called only after full() said so. */
	void (*dropped)(struct output_pipe *pipe, uint64_t len);
	/* Some bytes came or were dropped, and no more are taken now. */
	void (*drained)(struct output_pipe *pipe);
	/* It is closed: its writers have gone, or output_pipe_close() was called. May be NULL. */
	void (*closed)(struct output_pipe *pipe);
};

struct output_pipe {
	struct loop_source source; /* fd -1: closed */
	struct loop *loop; /* borrowed */
	const struct output_pipe_ops *ops; /* borrowed */
	int null_fd; /* borrowed; /dev/null, where dropped output goes */
	bool large;
	struct loop_timer rest; /* ends a pause of what is thrown away */
	bool paused; /* not watched: what it holds waits for output_pipe_resume() */
};

/* Makes the pipe and watches it; *ret_write, the process' end, is the caller's to close. 0 or
 * -errno. */
int output_pipe_open(struct output_pipe *pipe, struct loop *loop, int null_fd,
	const struct output_pipe_ops *ops, int *ret_write);

/* Takes in what it holds now, and no more: a writer that goes on cannot hold the caller up. */
void output_pipe_drain(struct output_pipe *pipe);

/* Takes what comes again; harmless on one that was not held. */
void output_pipe_resume(struct output_pipe *pipe);

/* Harmless on one that is closed. */
void output_pipe_close(struct output_pipe *pipe);
