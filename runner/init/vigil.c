// Keeps an eye on init while it waits for a new process to become its program. A command may stop
// that process in between, and init, which waits for it, would take no request any more: no
// command could be started, ended or limited in time.
#include "runner/init/init.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "common/unsafe.h"

#define PATIENCE_NSEC (100 * 1000 * 1000)
#define ROUNDS 100
#define ROUND_USEC 1000

static bool is_stopped(const struct init *init, pid_t pid)
{
	char path[32], text[256];

	snprintf(path, sizeof(path), "%d/stat", pid);
	auto_close int fd = openat(init->proc_fd, path, O_RDONLY | O_CLOEXEC);
	ssize_t len = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
	if (len <= 0)
		return false;
	text[len] = '\0';
	const char *end = strrchr(text, ')');
	return end && (strncmp(end, ") T", 3) == 0 || strncmp(end, ") t", 3) == 0);
}

/* Whoever stops it may do so again at once, so all others are stopped until it has got by. They go
 * on after that, also one that somebody had stopped before. */
static void free_way(struct init *init, pid_t pid)
{
	kill(-1, SIGSTOP);
	for (int i = 0; i < ROUNDS && init->starting == pid; i++) {
		kill(pid, SIGCONT);
		usleep(ROUND_USEC);
	}
	kill(-1, SIGCONT);
}

static void *watch(void *arg)
{
	struct init *init = arg;
	uint64_t count;

	while (read(init->vigil_fd, &count, sizeof(count)) > 0 || errno == EINTR) {
		pid_t pid = init->starting;
		if (pid > 0 && is_stopped(init, pid) && !unsafe_is("vigil"))
			free_way(init, pid);
	}
	return NULL;
}

void vigil_set(const struct init *init, bool on)
{
	const struct itimerspec every = {.it_value.tv_nsec = on ? PATIENCE_NSEC : 0,
		.it_interval.tv_nsec = on ? PATIENCE_NSEC : 0};

	timerfd_settime(init->vigil_fd, 0, &every, NULL);
}

int vigil_start(struct init *init)
{
	init->vigil_fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC);
	return init->vigil_fd < 0 ? -errno : thread_start(watch, init);
}
