// Checks of programs that are installed or not: kernels, browser, network.
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cmd/check.h"
#include "common/clock.h"
#include "common/program.h"
#include "common/scope.h"
#include "fs/libfuse.h"
#include "runner/sandbox.h"

/* A large program on a slow disk takes some seconds. */
#define PATIENCE_USEC (20 * USEC_PER_SEC)

extern char **environ;

bool check_has_program(const char *name)
{
	char path[PATH_MAX];

	return program_in_system(name, path, sizeof(path));
}

static int start(const char *const argv[], int out_fd, pid_t *ret)
{
	posix_spawn_file_actions_t actions;
	int r = -posix_spawn_file_actions_init(&actions);

	if (r < 0)
		return r;
	posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
	posix_spawn_file_actions_adddup2(&actions, out_fd, 1);
	posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0);
	r = -posix_spawnp(ret, argv[0], &actions, NULL, (char *const *)argv, environ);
	posix_spawn_file_actions_destroy(&actions);
	return r;
}

/* Whether it says more, or ends, in time: R runs for ever where it has too little memory. */
static bool comes(int fd, uint64_t end_usec)
{
	struct pollfd poll_fd = {.fd = fd, .events = POLLIN};
	uint64_t now = clock_monotonic_usec();

	return now < end_usec &&
	       poll(&poll_fd, 1, (int)((end_usec - now) / USEC_PER_MSEC + 1)) != 0;
}

int check_ask_program(const char *const argv[], char *line, size_t size)
{
	int pipe_fds[2], status;
	size_t len = 0;
	uint64_t end_usec = clock_monotonic_usec() + PATIENCE_USEC;
	pid_t pid;
	int r;

	if (pipe2(pipe_fds, O_CLOEXEC) < 0)
		return -errno;
	r = start(argv, pipe_fds[1], &pid);
	close(pipe_fds[1]);
	while (r == 0) {
		char part[256];

		if (!comes(pipe_fds[0], end_usec)) {
			kill(pid, SIGKILL);
			break;
		}
		ssize_t got = read(pipe_fds[0], part, sizeof(part));
		size_t take = got < 0 ? 0 : (size_t)got;

		if (got == 0 || (got < 0 && errno != EINTR))
			break;
		take = take < size - 1 - len ? take : size - 1 - len;
		memcpy(line + len, part, take);
		len += take;
	}
	close(pipe_fds[0]);
	if (r < 0)
		return r;
	line[len] = '\0';
	line[strcspn(line, "\n")] = '\0';
	if (waitpid(pid, &status, 0) < 0)
		return -errno;
	return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? 0 : -ENOEXEC;
}

enum check_result check_python(struct buf *why)
{
	const char *const argv[] = {"/usr/bin/python3", "-c",
		"import sys,IPython;print('Python',sys.version.split()[0]+', IPython',"
		"IPython.__version__)",
		NULL};
	char line[128];

	if (!check_has_program("python3"))
		return buf_add_str(why, "apt install python3 python3-ipython"), CHECK_MISSING;
	if (check_ask_program(argv, line, sizeof(line)) < 0)
		return buf_add_str(why, "IPython: apt install python3-ipython"), CHECK_MISSING;
	return buf_add_str(why, line), CHECK_OK;
}

/* The version line of a program, or the package that has it. */
static enum check_result version(
	struct buf *why, const char *program, const char *option, const char *package)
{
	char line[128], path[PATH_MAX];
	const char *const argv[] = {path, option, NULL};

	if (!program_in_system(program, path, sizeof(path))) {
		buf_printf(why, "apt install %s", package);
		return CHECK_MISSING;
	}
	if (check_ask_program(argv, line, sizeof(line)) < 0) {
		buf_printf(why, "%s %s fails", program, option);
		return CHECK_MISSING;
	}
	buf_printf(why, "%.100s", line);
	return CHECK_OK;
}

enum check_result check_node(struct buf *why)
{
	return version(why, "node", "--version", "nodejs");
}

enum check_result check_r(struct buf *why)
{
	return version(why, "R", "--version", "r-base-core");
}

enum check_result check_bash(struct buf *why)
{
	return version(why, "bash", "--version", "bash");
}

enum check_result check_browser(struct buf *why)
{
	if (!check_has_program("node")) {
		buf_add_str(why, "its driver needs node: apt install nodejs chromium");
		return CHECK_MISSING;
	}
	return version(why, "chromium", "--version", "chromium");
}

enum check_result check_network(struct buf *why)
{
	const char *program = sandbox_net_program();
	auto_close int tun = open("/dev/net/tun", O_RDWR | O_CLOEXEC);

	if (!program) {
		buf_add_str(why,
			"net=user needs slirp4netns or pasta: apt install slirp4netns (net=proxy and "
			"ports/ need neither)");
		return CHECK_MISSING;
	}
	if (tun < 0) {
		buf_printf(why, "net=user needs /dev/net/tun: %s (%s)", strerror(errno),
			sandbox_net_tun_advice(errno));
		return CHECK_MISSING;
	}
	buf_printf(why, "%s, /dev/net/tun", strrchr(program, '/') + 1);
	return CHECK_OK;
}

enum check_result check_passthrough(struct buf *why)
{
	int r;

	if (geteuid() != 0)
		return buf_add_str(why, "the kernel gives it to root only"), CHECK_UNUSED;
	r = check_kernel_passthrough();
	if (r == -EOPNOTSUPP)
		return buf_add_str(why,
			       "the kernel does not offer it; Linux 6.9 or later is needed "
			       "(files/ works, slower)"),
		       CHECK_MISSING;
	if (r < 0)
		return buf_printf(why, "cannot be tried: %s", strerror(-r)), CHECK_MISSING;
	if (!LIBFUSE_HAS_PASSTHROUGH) {
		buf_printf(why,
			"built with libfuse %s; needs 3.17 or newer, make deps gets it (files/ "
			"works, slower)",
			libfuse_version());
		return CHECK_MISSING;
	}
	buf_printf(why, "the kernel offers it, libfuse %s", libfuse_version());
	return CHECK_OK;
}
