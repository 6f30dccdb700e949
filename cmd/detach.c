// Going into the background.
#include "cmd/detach.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/buf.h"
#include "common/scope.h"
#include "common/unsafe.h"

#define KEPT_ERRORS 65536

/* What the child tells: one message. */
struct message {
	int err; /* 0: ready */
	struct fail fail;
};

struct detach {
	int tell_fd; /* the child's end of a socket pair; -1 once told */
};

static void tell(struct detach *detach, int err, const struct fail *f)
{
	struct message message = {.err = err};

	if (f)
		message.fail = *f;
	if (detach->tell_fd < 0)
		return;
	if (send(detach->tell_fd, &message, sizeof(message), MSG_NOSIGNAL) < 0 && err == 0)
		kill(getpid(), SIGTERM);
	close_fd(&detach->tell_fd);
}

static void to_null(int fd, int flags)
{
	int null = open("/dev/null", flags | O_CLOEXEC);

	if (null >= 0 && null != fd) {
		dup2(null, fd);
		close(null);
	}
}

void detach_ready(struct detach *detach)
{
	to_null(STDERR_FILENO, O_WRONLY);
	tell(detach, 0, NULL);
}

/* The caller's terminal, pipes and locks must not be held by anything that lives on: of all
 * descriptors only the three standard ones and the one to tell by are left. */
static void leave_session(struct detach *detach, int error_fd)
{
	const int place = STDERR_FILENO + 1;

	setsid();
	to_null(STDIN_FILENO, O_RDONLY);
	to_null(STDOUT_FILENO, O_WRONLY);
	dup2(error_fd, STDERR_FILENO);
	if (detach->tell_fd != place && dup3(detach->tell_fd, place, O_CLOEXEC) == place)
		detach->tell_fd = place;
	if (detach->tell_fd == place && !unsafe_is("descriptors"))
		close_range((unsigned)place + 1, ~0U, 0);
}

/* Reads the child's standard error until its message comes or its end of the socket is closed.
 * Returns the message's length. */
static ssize_t listen_to(int fd, int error_fd, struct message *message, struct buf *errors)
{
	struct pollfd fds[2] = {{.fd = fd, .events = POLLIN}, {.fd = error_fd, .events = POLLIN}};
	char part[4096];

	for (;;) {
		ssize_t len;

		if (poll(fds, 2, -1) < 0 && errno != EINTR)
			return -errno;
		if (fds[1].revents) {
			len = read(error_fd, part, sizeof(part));
			if (len <= 0)
				fds[1].fd = -1;
			else if (errors->len < KEPT_ERRORS)
				buf_add(errors, part, (size_t)len);
			continue;
		}
		if (fds[0].revents) {
			len = recv(fd, message, sizeof(*message), 0);
			if (len >= 0 || errno != EINTR)
				return len;
		}
	}
}

static int died(pid_t pid, struct fail *f)
{
	int status;

	while (waitpid(pid, &status, 0) < 0) {
		if (errno != EINTR)
			return fail_errno(f, -errno, "waiting for the daemon");
	}
	if (WIFSIGNALED(status))
		return fail_set(f, -EIO,
			"the daemon died before the mount was ready (signal %d, %s)",
			WTERMSIG(status), strsignal(WTERMSIG(status)));
	return fail_set(f, -EIO, "the daemon ended before the mount was ready");
}

static int wait_for(pid_t pid, int fd, int error_fd, struct fail *f)
{
	auto_buf struct buf errors = {0};
	struct message message;
	ssize_t len = listen_to(fd, error_fd, &message, &errors);

	if (len == (ssize_t)sizeof(message) && message.err == 0)
		return 0;
	if (errors.len)
		fwrite(errors.data, 1, errors.len, stderr);
	if (len != (ssize_t)sizeof(message))
		return died(pid, f);
	/* Its last clean-up is done before the caller goes on. */
	waitpid(pid, NULL, 0);
	if (f)
		*f = message.fail;
	return message.err;
}

int detach_run(
	int (*work)(struct detach *detach, void *arg, struct fail *f), void *arg, struct fail *f)
{
	int pair[2], errors[2], r;
	pid_t pid;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return -errno;
	if (pipe2(errors, O_CLOEXEC) < 0) {
		r = -errno;
		close(pair[0]);
		close(pair[1]);
		return r;
	}
	fflush(NULL);
	pid = fork();
	if (pid == 0) {
		struct detach detach = {.tell_fd = pair[1]};

		leave_session(&detach, errors[1]);
		r = work(&detach, arg, f);
		tell(&detach, r < 0 ? r : -EIO, f);
		_exit(r < 0);
	}
	r = pid < 0 ? -errno : 0;
	close(pair[1]);
	close(errors[1]);
	if (r == 0)
		r = wait_for(pid, pair[0], errors[0], f);
	close(pair[0]);
	close(errors[0]);
	return r;
}
