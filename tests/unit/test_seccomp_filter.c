// The filter, loaded in a child: what is allowed, what is refused and with which error.
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "common/scope.h"
#include "runner/seccomp_filter.h"

#define HIGH (1L << 32)

struct call {
	const char *what;
	long number;
	long args[5];
	int err; /* expected; 0: anything but a refusal by the filter */
};

static const struct call calls[] = {
	{"getpid", SYS_getpid, {0}, 0},
	{"socket unix", SYS_socket, {AF_UNIX, SOCK_STREAM, 0}, 0},
	{"socket inet", SYS_socket, {AF_INET, SOCK_STREAM, 0}, 0},
	{"socket inet6", SYS_socket, {AF_INET6, SOCK_STREAM, 0}, 0},
	{"netlink route", SYS_socket, {AF_NETLINK, SOCK_RAW, 0}, 0},
	{"netlink audit", SYS_socket, {AF_NETLINK, SOCK_RAW, 9}, EAFNOSUPPORT},
	{"socket alg", SYS_socket, {AF_ALG, SOCK_SEQPACKET, 0}, EAFNOSUPPORT},
	{"socket alg, high bits", SYS_socket, {HIGH | AF_ALG, SOCK_SEQPACKET, 0}, EAFNOSUPPORT},
	{"socket vsock", SYS_socket, {AF_VSOCK, SOCK_STREAM, 0}, EAFNOSUPPORT},
	{"socket packet", SYS_socket, {AF_PACKET, SOCK_RAW, 0}, EAFNOSUPPORT},
	{"tiocsti", SYS_ioctl, {0, TIOCSTI, 0}, EPERM},
	{"tiocsti, high bits", SYS_ioctl, {0, HIGH | TIOCSTI, 0}, EPERM},
	{"tioclinux", SYS_ioctl, {0, TIOCLINUX, 0}, EPERM},
	{"lease", SYS_fcntl, {0, F_SETLEASE, F_WRLCK}, EINVAL},
	{"unshare user", SYS_unshare, {CLONE_NEWUSER}, EPERM},
	{"unshare mount", SYS_unshare, {CLONE_NEWNS}, EPERM},
	{"clone user", SYS_clone, {CLONE_NEWUSER | SIGCHLD}, EPERM},
	{"clone3", SYS_clone3, {0}, ENOSYS},
	{"setns", SYS_setns, {0, 0}, EPERM},
	{"mount", SYS_mount, {0}, EPERM},
	{"fsopen", SYS_fsopen, {0}, EPERM},
	{"io_uring", SYS_io_uring_setup, {0}, ENOSYS},
	{"bpf", SYS_bpf, {0}, EPERM},
	{"keyctl", SYS_keyctl, {0}, EPERM},
	{"userfaultfd", SYS_userfaultfd, {0}, EPERM},
	{"open_by_handle_at", SYS_open_by_handle_at, {0}, EPERM},
	{"pidfd_getfd", SYS_pidfd_getfd, {0}, EPERM},
	{"prlimit of init", SYS_prlimit64, {1, RLIMIT_NOFILE, 0, 0}, EPERM},
	{"priority of init", SYS_setpriority, {PRIO_PROCESS, 1, 19}, EPERM},
	{"personality", SYS_personality, {0xffffffff}, 0},
	{"personality, odd", SYS_personality, {0x0400000}, ENOSYS},
	{"from the future", 5000, {0}, ENOSYS},
};

static int load(int fd)
{
	uint32_t len[SECCOMP_FILTERS] = {0};
	struct fail f = {0};

	if (seccomp_filter_write(fd, len, &f) < 0 || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return -1;
	off_t at = 0;
	for (int i = 0; i < SECCOMP_FILTERS; i++) {
		auto_free void *data = malloc(len[i]);
		struct sock_fprog program = {.len = (unsigned short)(len[i] / 8), .filter = data};
		if (!data || pread(fd, data, len[i], at) != (ssize_t)len[i] ||
			syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) < 0)
			return -1;
		at += len[i];
	}
	return 0;
}

/* Runs body under the filter; returns its wait status. */
static int under_filter(void (*body)(const void *arg), const void *arg)
{
	int status = -1;
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (pid == 0) {
		int fd = memfd_create("filter", MFD_CLOEXEC);
		if (load(fd) < 0)
			_exit(2);
		body(arg);
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return status;
}

static void make_call(const void *arg)
{
	const struct call *c = arg;

	errno = 0;
	long r = syscall(c->number, c->args[0], c->args[1], c->args[2], c->args[3], c->args[4]);
	if (c->err ? r != -1 || errno != c->err : r == -1 && (errno == EPERM || errno == ENOSYS))
		_exit(1);
}

static void calls_get_what_the_tables_say(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(calls); i++) {
		int status = under_filter(make_call, &calls[i]);
		if (status != 0)
			print_error("%s: wait status %x\n", calls[i].what, (unsigned)status);
		assert_int_equal(status, 0);
	}
}

#ifdef __x86_64__
static void call_as_x32(const void *arg)
{
	(void)arg;
	syscall(0x40000000 | SYS_getpid);
}

static void other_architectures_are_killed(void **state)
{
	(void)state;
	int status = under_filter(call_as_x32, NULL);
	assert_true(WIFSIGNALED(status));
	assert_int_equal(WTERMSIG(status), SIGSYS);
}
#endif

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(calls_get_what_the_tables_say),
#ifdef __x86_64__
		cmocka_unit_test(other_architectures_are_killed),
#endif
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
