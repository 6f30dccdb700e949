#include "fs/idle_poll.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/scope.h"

#define DEVICE "/dev/cpu_dma_latency"

/* On once so many came within so short a time; off when not as many came between two looks. */
#define BUSY_REQUESTS 16
#define BUSY_USEC 4000
#define LOOK_NSEC 10000000

/* What may be asked for: microseconds, or nothing in particular. */
#define LATENCY_NONE 0
#define LATENCY_ANY (-1)

static int require(struct idle_poll *poll, int32_t usec)
{
	return write(poll->fd, &usec, sizeof(usec)) == sizeof(usec) ? 0 : -1;
}

static void set_timer(const struct idle_poll *poll, long nsec)
{
	const struct itimerspec time = {.it_value.tv_nsec = nsec, .it_interval.tv_nsec = nsec};

	timerfd_settime(poll->timer_fd, 0, &time, NULL);
}

/* Where a container has hidden the device there may be another one, or a file: the kernel's tells what it
 * asks of itself now. */
static int open_device(void)
{
	auto_close int fd = open(DEVICE, O_RDWR | O_NONBLOCK | O_CLOEXEC);
	struct stat st;
	int32_t usec;

	if (fd < 0 || fstat(fd, &st) < 0 || !S_ISCHR(st.st_mode))
		return -1;
	return read(fd, &usec, sizeof(usec)) == sizeof(usec) ? take_fd(&fd) : -1;
}

void idle_poll_init(struct idle_poll *poll, bool wanted)
{
	*poll = (struct idle_poll){.fd = -1, .timer_fd = -1};
	if (!wanted)
		return;
	poll->fd = open_device();
	poll->timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	if (poll->fd < 0 || poll->timer_fd < 0 || require(poll, LATENCY_ANY) < 0)
		idle_poll_close(poll);
}

void idle_poll_close(struct idle_poll *poll)
{
	close_fd(&poll->fd);
	close_fd(&poll->timer_fd);
}

bool idle_poll_can(const struct idle_poll *poll)
{
	return poll->fd >= 0;
}

void idle_poll_request(struct idle_poll *poll)
{
	uint64_t now;

	if (++poll->requests < BUSY_REQUESTS || poll->is_on || poll->fd < 0)
		return;
	now = clock_monotonic_usec();
	if (now - poll->looked_usec < BUSY_USEC && require(poll, LATENCY_NONE) == 0) {
		poll->is_on = true;
		set_timer(poll, LOOK_NSEC);
	}
	poll->looked_usec = now;
	poll->requests = 0;
}

int idle_poll_fd(const struct idle_poll *poll)
{
	return poll->timer_fd;
}

void idle_poll_look(struct idle_poll *poll)
{
	uint64_t expired;

	(void)!read(poll->timer_fd, &expired, sizeof(expired));
	if (poll->requests < BUSY_REQUESTS) {
		require(poll, LATENCY_ANY);
		set_timer(poll, 0);
		poll->is_on = false;
	}
	poll->requests = 0;
}
