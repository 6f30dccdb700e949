// The files of what a command or an execution writes.
#include "fs/synth/synth_output.h"

#include <errno.h>
#include <string.h>

#include "runner/runs/run_output.h"

static ssize_t read_stream(struct mount *m, const struct synth_node *n, enum run_stream stream,
	void *data, size_t len, uint64_t off)
{
	bool over;
	struct run_output *output = n->dir->output(m, n->object, &over);

	return output ? run_output_read(output, stream, data, len, off) : -ESTALE;
}

ssize_t synth_output_read_stdout(
	struct mount *m, const struct synth_node *n, void *data, size_t len, uint64_t off)
{
	return read_stream(m, n, RUN_STDOUT, data, len, off);
}

ssize_t synth_output_read_stderr(
	struct mount *m, const struct synth_node *n, void *data, size_t len, uint64_t off)
{
	return read_stream(m, n, RUN_STDERR, data, len, off);
}

ssize_t synth_output_read_both(
	struct mount *m, const struct synth_node *n, void *data, size_t len, uint64_t off)
{
	return read_stream(m, n, RUN_OUTPUT, data, len, off);
}

ssize_t synth_output_read_live(
	struct mount *m, const struct synth_node *n, void *data, size_t len, uint64_t off)
{
	ssize_t got = read_stream(m, n, RUN_OUTPUT, data, len, off);
	bool over = true;

	if (got == 0)
		n->dir->output(m, n->object, &over);
	return over ? got : -EAGAIN;
}

static int size_stream(
	struct mount *m, const struct synth_node *n, enum run_stream stream, uint64_t *ret)
{
	bool over;
	const struct run_output *output = n->dir->output(m, n->object, &over);

	*ret = output ? output->kept[stream] : 0;
	return 0;
}

int synth_output_size_stdout(struct mount *m, const struct synth_node *n, uint64_t *ret)
{
	return size_stream(m, n, RUN_STDOUT, ret);
}

int synth_output_size_stderr(struct mount *m, const struct synth_node *n, uint64_t *ret)
{
	return size_stream(m, n, RUN_STDERR, ret);
}

int synth_output_size_both(struct mount *m, const struct synth_node *n, uint64_t *ret)
{
	return size_stream(m, n, RUN_OUTPUT, ret);
}

ssize_t synth_output_part(const char *text, size_t size, void *data, size_t len, uint64_t off)
{
	if (off >= size)
		return 0;
	if (len > size - off)
		len = (size_t)(size - off);
	memcpy(data, text + off, len);
	return (ssize_t)len;
}
