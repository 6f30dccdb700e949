// The pipes between the daemon and a command: its output comes in, its input goes out.
#include "runner/runs/run_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <unistd.h>

#include "common/scope.h"
#include "common/unsafe.h"
#include "common/waiters.h"

static struct run *run_of(struct output_pipe *pipe, enum run_stream *ret_stream)
{
	struct run_pipe *own = container_of(pipe, struct run_pipe, pipe);

	*ret_stream = own == &own->run->pipes[RUN_STDOUT] ? RUN_STDOUT : RUN_STDERR;
	return own->run;
}

void run_take(struct run *run, enum run_stream stream, const void *data, size_t len)
{
	int r;

	/* The index knows of it before there is a file that begins in its middle. */
	if (run_output_begin_mix(&run->output, stream))
		run_save(run);
	r = run_output_add(&run->output, stream, data, len);
	run->runs->kept_at_most += len;
	if (r < 0)
		runs_log(run->runs, "warning: output of %s is not kept: %s", run->id, strerror(-r));
}

static void take(struct output_pipe *pipe, const void *data, size_t len)
{
	enum run_stream stream;
	struct run *run = run_of(pipe, &stream);

	run_take(run, stream, data, len);
}

static bool full(struct output_pipe *pipe)
{
	enum run_stream stream;
	struct run *run = run_of(pipe, &stream);

	return run_output_full(&run->output, stream);
}

static bool held(struct output_pipe *pipe)
{
	return run_output_is_behind(&container_of(pipe, struct run_pipe, pipe)->run->output);
}

static void dropped(struct output_pipe *pipe, uint64_t len)
{
	enum run_stream stream;
	struct run *run = run_of(pipe, &stream);

	run_output_drop(&run->output, stream, len);
}

static void drained(struct output_pipe *pipe)
{
	waiters_wake(&container_of(pipe, struct run_pipe, pipe)->run->grown);
}

/* Once both are closed nothing is added any more. */
static void closed(struct output_pipe *pipe)
{
	struct run *run = container_of(pipe, struct run_pipe, pipe)->run;

	if (run->pipes[0].pipe.source.fd < 0 && run->pipes[1].pipe.source.fd < 0)
		run_output_settle(&run->output);
}

static const struct output_pipe_ops pipe_ops = {.take = take,
	.full = full,
	.held = held,
	.dropped = dropped,
	.drained = drained,
	.closed = closed};

void run_pipes_drain(struct run *run)
{
	output_pipe_drain(&run->pipes[RUN_STDOUT].pipe);
	output_pipe_drain(&run->pipes[RUN_STDERR].pipe);
}

void run_pipes_resume(struct run *run)
{
	output_pipe_resume(&run->pipes[RUN_STDOUT].pipe);
	output_pipe_resume(&run->pipes[RUN_STDERR].pipe);
}

void run_pipes_close(struct run *run)
{
	output_pipe_close(&run->pipes[RUN_STDOUT].pipe);
	output_pipe_close(&run->pipes[RUN_STDERR].pipe);
}

/* A file of the host in the pipe's place. */
static int give_file(int dir_fd, int command_fd)
{
	int fd auto_close = openat(dir_fd, "stdout", O_RDWR | O_CREAT | O_CLOEXEC, 0600);

	return fd < 0 || dup3(fd, command_fd, O_CLOEXEC) < 0 ? -errno : 0;
}

static int open_one(struct run *run, enum run_stream stream, int *ret_command)
{
	run->pipes[stream].run = run;
	int r = output_pipe_open(&run->pipes[stream].pipe, run->runs->config.loop,
		run->runs->null_fd, &pipe_ops, ret_command);
	return r == 0 && stream == RUN_STDOUT && unsafe_is("pipes")
		       ? give_file(run->runs->dir_fd, *ret_command)
		       : r;
}

int run_pipes_open(struct run *run, int *ret_out, int *ret_err)
{
	int r = open_one(run, RUN_STDOUT, ret_out);

	return r < 0 ? r : open_one(run, RUN_STDERR, ret_err);
}

static void on_stdin(struct loop_source *source, uint32_t events)
{
	struct run *run = container_of(source, struct run, in);

	if (events & EPOLLERR)
		run_stdin_shut(run);
	else
		loop_rewatch(run->runs->config.loop, source, 0);
	waiters_wake(&run->in_ready);
}

/* A file in memory with the given input: the command reads it at its own pace. */
static int input_file(const char *data, size_t len, int *ret_in)
{
	int fd auto_close = memfd_create("stdin", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	if (fd < 0)
		return -errno;
	for (size_t at = 0; at < len;) {
		ssize_t n = write(fd, data + at, len - at);

		if (n < 0)
			return -errno;
		at += (size_t)n;
	}
	if (lseek(fd, 0, SEEK_SET) < 0 ||
		fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) <
			0)
		return -errno;
	*ret_in = take_fd(&fd);
	return 0;
}

int run_stdin_open(struct run *run, struct run_request *request, int *ret_in)
{
	int fds[2], r;

	*ret_in = -1;
	run->in_open = request->stdin_open;
	if (request->stdin_data)
		return input_file(request->stdin_data, request->stdin_len, ret_in);
	if (!request->stdin_open)
		return 0;
	if (pipe2(fds, O_CLOEXEC) < 0)
		return -errno;
	*ret_in = fds[0];
	run->in = (struct loop_source){.fd = fds[1], .ready = on_stdin};
	r = fcntl(fds[1], F_SETFL, O_NONBLOCK) < 0
		    ? -errno
		    : loop_watch(run->runs->config.loop, &run->in, 0);
	if (r < 0)
		close_fd(&run->in.fd);
	return r;
}

void run_stdin_shut(struct run *run)
{
	if (run->in.fd < 0)
		return;
	loop_unwatch(run->runs->config.loop, &run->in);
	close_fd(&run->in.fd);
	waiters_wake(&run->in_ready);
}

ssize_t run_write_stdin(struct run *run, const void *data, size_t len)
{
	ssize_t n;

	if (run->in.fd < 0)
		return -EPIPE;
	n = write(run->in.fd, data, len);
	if (n >= 0)
		return n;
	if (errno == EAGAIN)
		loop_rewatch(run->runs->config.loop, &run->in, EPOLLOUT);
	else if (errno == EPIPE)
		run_stdin_shut(run);
	return errno == EPIPE ? -EPIPE : -errno;
}

bool run_stdin_is_full(struct run *run)
{
	struct pollfd in = {.fd = run->in.fd, .events = POLLOUT};

	if (run->in.fd < 0 || poll(&in, 1, 0) != 0)
		return false;
	loop_rewatch(run->runs->config.loop, &run->in, EPOLLOUT);
	return true;
}

void run_open_stdin(struct run *run)
{
	run->in_writers++;
}

void run_close_stdin(struct run *run)
{
	if (run->in_writers && --run->in_writers == 0)
		run_stdin_shut(run);
}
