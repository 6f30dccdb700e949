// The reading end of a pipe on which a process of the sandbox writes its output.
#include "runner/runs/output_pipe.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/scope.h"

#define BLOCK (256 * 1024)
#define LARGE_PIPE (1024 * 1024)
#define BUDGET (256 * 1024) /* bytes taken from one pipe before others get their turn */
/* What is only thrown away comes at most at 200 MB/s: a flood should not be the leader's main
 * work. */
#define REST_USEC_PER_MIB 5000
#define REST_MIN_USEC 200

void output_pipe_close(struct output_pipe *pipe)
{
	if (pipe->source.fd < 0)
		return;
	loop_timer_cancel(pipe->loop, &pipe->rest);
	loop_unwatch(pipe->loop, &pipe->source);
	close_fd(&pipe->source.fd);
	if (pipe->ops->closed)
		pipe->ops->closed(pipe);
}

/* One read's worth. The count; 0 when there is nothing now; -1 at the end of file. */
static ssize_t take_some(struct output_pipe *pipe)
{
	static char block[BLOCK]; /* one thread at a time is here */
	ssize_t n;

	if (pipe->ops->full && pipe->ops->full(pipe)) {
		n = splice(
			pipe->source.fd, NULL, pipe->null_fd, NULL, LARGE_PIPE, SPLICE_F_NONBLOCK);
		if (n > 0)
			pipe->ops->dropped(pipe, (uint64_t)n);
	} else {
		n = read(pipe->source.fd, block, sizeof(block));
		if (n > 0)
			pipe->ops->take(pipe, block, (size_t)n);
	}
	if (n >= 65536 && !pipe->large) {
		pipe->large = true;
		fcntl(pipe->source.fd, F_SETPIPE_SZ, LARGE_PIPE);
	}
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return 0;
	return n > 0 ? n : -1;
}

/* Returns how much it took. */
static size_t drain(struct output_pipe *pipe, size_t budget)
{
	size_t taken = 0;

	while (pipe->source.fd >= 0 && taken < budget) {
		ssize_t n = take_some(pipe);

		if (n < 0)
			output_pipe_close(pipe);
		if (n <= 0)
			break;
		taken += (size_t)n;
	}
	if (taken)
		pipe->ops->drained(pipe);
	return taken;
}

/* The kernel tells of an end that nobody watches for, too: what is held is not watched at all. */
static void stop(struct output_pipe *pipe)
{
	pipe->paused = true;
	loop_unwatch(pipe->loop, &pipe->source);
}

static void rest(struct output_pipe *pipe, size_t taken)
{
	uint64_t usec = (uint64_t)taken * REST_USEC_PER_MIB / (1024 * 1024);

	if (usec < REST_MIN_USEC || pipe->source.fd < 0)
		return;
	stop(pipe);
	loop_timer_set(pipe->loop, &pipe->rest, clock_monotonic_usec() + usec);
}

static void on_rested(struct loop_timer *timer)
{
	output_pipe_resume(container_of(timer, struct output_pipe, rest));
}

static void on_ready(struct loop_source *source, uint32_t events)
{
	struct output_pipe *pipe = container_of(source, struct output_pipe, source);
	bool full = pipe->ops->full && pipe->ops->full(pipe);

	(void)events;
	if (full)
		rest(pipe, drain(pipe, LARGE_PIPE));
	else if (pipe->ops->held && pipe->ops->held(pipe))
		stop(pipe);
	else
		drain(pipe, BUDGET);
}

void output_pipe_resume(struct output_pipe *pipe)
{
	if (!pipe->paused || pipe->source.fd < 0)
		return;
	pipe->paused = false;
	/* Without memory for it what comes later is taken in at the end. */
	loop_watch(pipe->loop, &pipe->source, EPOLLIN);
}

void output_pipe_drain(struct output_pipe *pipe)
{
	int held = 0;

	if (pipe->source.fd >= 0 && ioctl(pipe->source.fd, FIONREAD, &held) == 0 && held > 0)
		drain(pipe, (size_t)held);
}

int output_pipe_open(struct output_pipe *pipe, struct loop *loop, int null_fd,
	const struct output_pipe_ops *ops, int *ret_write)
{
	int fds[2], r;

	if (pipe2(fds, O_CLOEXEC) < 0)
		return -errno;
	*pipe = (struct output_pipe){.source = {.fd = fds[0], .ready = on_ready},
		.rest = {.fire = on_rested},
		.loop = loop,
		.ops = ops,
		.null_fd = null_fd};
	*ret_write = fds[1];
	r = fcntl(fds[0], F_SETFL, O_NONBLOCK) < 0 ? -errno
						   : loop_watch(loop, &pipe->source, EPOLLIN);
	if (r < 0)
		close_fd(&pipe->source.fd);
	return r;
}
