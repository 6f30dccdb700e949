// What a run writes: two streams and their interleaving, kept in files of the state directory.
// Files are made when they are needed; until both streams have written, `output` is the one
// that has, and is not stored twice. Once writing has taken long, a thread writes what is much: a
// disk that is busy, or made busy by the run itself, holds a writer up for tenths of a second.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "common/buf.h"
#include "common/loop.h"
#include "common/spill.h"

enum run_stream { RUN_STDOUT, RUN_STDERR, RUN_OUTPUT };

struct run_output_job;

struct run_output {
	int dir_fd; /* borrowed; STATE/runs */
	uint32_t number; /* names the files */
	uint64_t limit_bytes; /* kept of each stream */
	uint64_t total[2]; /* bytes that the command wrote */
	uint64_t kept[3]; /* bytes in the file of each; [RUN_OUTPUT] counts without a file, too */
	uint64_t stored[3]; /* of those, bytes in the file; the rest is in memory */
	/* Owned; what is small, waits for the thread, or came when the disk took no more. */
	struct buf memory[3];
	struct buf spare[3]; /* owned; empty: room for what comes while the thread writes */
	bool refused[3]; /* the disk took no more: what is in memory stays there */
	/* Borrowed; where set, what is small stays in memory and counts there. NULL: all of it goes
	 * to the files, since it is to survive the daemon. */
	struct spill_dir *spill;
	int fd[3]; /* owned; -1 until needed */
	bool made[3]; /* there may be a file */
	bool mixed; /* `output` has a file of its own... */
	uint64_t mix_base; /* ...from here on; before, it is */
	enum run_stream mix_first; /* this stream */
	bool settled; /* nothing more comes: no descriptor is kept */
	bool dropped; /* bytes beyond the limit, or that the disk refused */

	struct loop *loop; /* borrowed; NULL: no thread writes for this one */
	uint64_t *slow_until_usec; /* borrowed, of all outputs: until then the thread writes */
	void (*written)(struct run_output *o); /* by the leader, when the thread has written */
	struct run_output_job *job; /* owned; what the thread writes now; NULL: nothing */
};

/* A place in all streams: how many bytes there are of each. */
struct run_output_mark {
	uint64_t kept[3];
};

void run_output_init(struct run_output *o, int dir_fd, uint32_t number, uint64_t limit_bytes);

/* Closes descriptors; the files stay. */
void run_output_close(struct run_output *o);

/* Writes what waits for the thread, now. */
void run_output_flush(struct run_output *o);

/* Whether so much waits for the thread that no more should be read from the pipes. */
bool run_output_is_behind(const struct run_output *o);

/* Where the streams are, and whether the disk has (or has refused) all that came before a mark. */
void run_output_mark(const struct run_output *o, struct run_output_mark *ret);
bool run_output_is_stored(const struct run_output *o, const struct run_output_mark *mark);

/* From the next byte of stream on, `output` has a file of its own, when the other stream has
 * written. Whether that is so from now on. */
bool run_output_begin_mix(struct run_output *o, enum run_stream stream);

/* Writes what waits, closes, and frees what is in memory; the files stay. */
void run_output_free(struct run_output *o);

/* Nothing more will be added: closes descriptors, and reads open what they need for themselves. */
void run_output_settle(struct run_output *o);

/* Removes the files. */
void run_output_remove(struct run_output *o);

/* Adds bytes to a stream (RUN_STDOUT or RUN_STDERR). Bytes over the limit are counted and dropped.
 * 0, or -errno when the disk refused: the bytes are counted as dropped then. */
int run_output_add(struct run_output *o, enum run_stream stream, const void *data, size_t len);

/* Counts bytes that were thrown away unseen. */
void run_output_drop(struct run_output *o, enum run_stream stream, uint64_t len);

/* Whether a stream is full, so that the rest need not be read into memory. */
bool run_output_full(const struct run_output *o, enum run_stream stream);

/* Reads kept bytes. The count, 0 at the present end, or -errno. */
ssize_t run_output_read(
	struct run_output *o, enum run_stream stream, void *data, size_t len, uint64_t off);
