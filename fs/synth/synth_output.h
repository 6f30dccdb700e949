// The files of what a command or an execution writes: out/ID/ and code/NAME/out/N/ have the same.
#pragma once

#include "fs/synth/synth.h"

/* Handlers of a table's entries. The directory says where the output is (synth_dir.output). */
ssize_t synth_output_read_stdout(
	struct mount *m, const struct synth_node *n, void *data, size_t len, uint64_t off);
ssize_t synth_output_read_stderr(
	struct mount *m, const struct synth_node *n, void *data, size_t len, uint64_t off);
ssize_t synth_output_read_both(
	struct mount *m, const struct synth_node *n, void *data, size_t len, uint64_t off);
/* The same, and -EAGAIN at the present end as long as there may be more. */
ssize_t synth_output_read_live(
	struct mount *m, const struct synth_node *n, void *data, size_t len, uint64_t off);
int synth_output_size_stdout(struct mount *m, const struct synth_node *n, uint64_t *ret);
int synth_output_size_stderr(struct mount *m, const struct synth_node *n, uint64_t *ret);
int synth_output_size_both(struct mount *m, const struct synth_node *n, uint64_t *ret);

/* Part of a short text, as a pread handler gives it: the count, 0 behind its end. */
ssize_t synth_output_part(const char *text, size_t size, void *data, size_t len, uint64_t off);
