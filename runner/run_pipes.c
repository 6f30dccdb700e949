// The pipes between the daemon and a command: its output comes in, its input goes out.
#include "runner/run_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/mman.h>

#include "common/scope.h"
#include "common/waiters.h"

#define BLOCK (256 * 1024)
#define LARGE_PIPE (1024 * 1024)
#define BUDGET (1024 * 1024) /* bytes taken from one pipe before others get their turn */

static void shut(struct run_pipe *pipe)
{
	if (pipe->source.fd < 0)
		return;
	loop_unwatch(pipe->run->runs->config.loop, &pipe->source);
	close_fd(&pipe->source.fd);
	if (pipe->run->pipes[0].source.fd < 0 && pipe->run->pipes[1].source.fd < 0)
		run_output_settle(&pipe->run->output);
}

/* One read's worth. The count; 0 when there is nothing now; -1 at the end of file. */
static ssize_t take_some(struct run_pipe *pipe, enum run_stream stream)
{
	static char block[BLOCK]; /* one thread at a time is here */
	struct run *run = pipe->run;
	ssize_t n;
	int r = 0;

	if (run_output_full(&run->output, stream)) {
		n = splice(pipe->source.fd, NULL, run->runs->null_fd, NULL, LARGE_PIPE,
			SPLICE_F_NONBLOCK);
		if (n > 0)
			run_output_drop(&run->output, stream, (uint64_t)n);
	} else {
		n = read(pipe->source.fd, block, sizeof(block));
		if (n > 0)
			r = run_output_add(&run->output, stream, block, (size_t)n);
	}
	if (r < 0)
		runs_log(run->runs, "warning: output of %s is not kept: %s", run->id, strerror(-r));
	if (n >= 65536 && !pipe->large) {
		pipe->large = true;
		fcntl(pipe->source.fd, F_SETPIPE_SZ, LARGE_PIPE);
	}
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return 0;
	return n > 0 ? n : -1;
}

static void drain(struct run_pipe *pipe, enum run_stream stream, size_t budget)
{
	size_t taken = 0;

	while (pipe->source.fd >= 0 && taken < budget) {
		ssize_t n = take_some(pipe, stream);

		if (n < 0)
			shut(pipe);
		if (n <= 0)
			break;
		taken += (size_t)n;
	}
	if (taken)
		waiters_wake(&pipe->run->grown);
}

static void on_stdout(struct loop_source *source, uint32_t events)
{
	(void)events;
	drain(container_of(source, struct run_pipe, source), RUN_STDOUT, BUDGET);
}

static void on_stderr(struct loop_source *source, uint32_t events)
{
	(void)events;
	drain(container_of(source, struct run_pipe, source), RUN_STDERR, BUDGET);
}

void run_pipes_drain(struct run *run)
{
	for (int i = 0; i < 2; i++) {
		int held = 0;

		if (run->pipes[i].source.fd >= 0 &&
			ioctl(run->pipes[i].source.fd, FIONREAD, &held) == 0 && held > 0)
			drain(&run->pipes[i], i, (size_t)held);
	}
}

void run_pipes_close(struct run *run)
{
	shut(&run->pipes[0]);
	shut(&run->pipes[1]);
}

static int open_one(struct run *run, enum run_stream stream, int *ret_command)
{
	struct run_pipe *pipe = &run->pipes[stream];
	int fds[2], r;

	if (pipe2(fds, O_CLOEXEC) < 0)
		return -errno;
	*pipe = (struct run_pipe){.run = run,
		.source = {.fd = fds[0], .ready = stream == RUN_STDOUT ? on_stdout : on_stderr}};
	*ret_command = fds[1];
	r = fcntl(fds[0], F_SETFL, O_NONBLOCK) < 0
		    ? -errno
		    : loop_watch(run->runs->config.loop, &pipe->source, EPOLLIN);
	if (r < 0)
		close_fd(&pipe->source.fd);
	return r;
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

void run_open_stdin(struct run *run)
{
	run->in_writers++;
}

void run_close_stdin(struct run *run)
{
	if (run->in_writers && --run->in_writers == 0)
		run_stdin_shut(run);
}
