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
#include <netinet/in.h>
#include <unistd.h>

#include <cmocka.h>

#include "common/scope.h"
#include "runner/sandbox.h"
#include "runner/seccomp_filter.h"

#define HIGH (1L << 32)
#define KEY_1 0x123456789abcdefL
#define KEY_2 (-0x7654321L)

struct call {
	const char *what;
	long number;
	long args[5];
	int err; /* expected; 0: anything but a refusal by the filter */
};

static const struct call of_commands[] = {
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
	{"unshare cgroup", SYS_unshare, {CLONE_NEWCGROUP}, EPERM},
	{"unshare cgroup, half of the key", SYS_unshare, {CLONE_NEWCGROUP, KEY_1, 0}, EPERM},
	{"unshare cgroup, other half", SYS_unshare, {CLONE_NEWCGROUP, 0, KEY_2}, EPERM},
	{"unshare more with the key", SYS_unshare, {CLONE_NEWCGROUP | CLONE_NEWNS, KEY_1, KEY_2},
		EPERM},
	{"unshare cgroup with the key", SYS_unshare, {CLONE_NEWCGROUP | CLONE_PTRACE, KEY_1, KEY_2},
		EINVAL},
	{"clone pid", SYS_clone, {CLONE_NEWPID | SIGCHLD}, EPERM},
	{"setuid, nesting", SYS_setuid, {SANDBOX_NESTING_UID}, EPERM},
	{"setfsuid, nesting", SYS_setfsuid, {SANDBOX_NESTING_UID}, EPERM},
	{"setreuid, nesting", SYS_setreuid, {-1, SANDBOX_NESTING_UID}, EPERM},
	{"setresuid, nesting", SYS_setresuid, {-1, -1, SANDBOX_NESTING_UID}, EPERM},
	{"setresuid, high bits", SYS_setresuid, {HIGH | SANDBOX_NESTING_UID, -1, -1}, EPERM},
	{"setresuid, init", SYS_setresuid, {-1, SANDBOX_INIT_UID, -1}, EPERM},
	{"setresuid, none", SYS_setresuid, {-1, -1, -1}, 0},
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

/* What the filter lets through is refused by the kernel for flags that do not go together. */
static const struct call of_nesting[] = {
	{"clone user", SYS_clone, {CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNET | CLONE_FS}, EINVAL},
	{"unshare user", SYS_unshare, {CLONE_NEWUSER | CLONE_PTRACE}, EINVAL},
	{"clone mount", SYS_clone, {CLONE_NEWUSER | CLONE_NEWNS | CLONE_FS}, EPERM},
	{"clone cgroup", SYS_clone, {CLONE_NEWCGROUP | SIGCHLD}, EPERM},
	{"unshare cgroup", SYS_unshare, {CLONE_NEWCGROUP}, EPERM},
	{"unshare cgroup with the key", SYS_unshare, {CLONE_NEWCGROUP, KEY_1, KEY_2}, EPERM},
	{"unshare mount", SYS_unshare, {CLONE_NEWNS}, EPERM},
	{"unshare net", SYS_unshare, {CLONE_NEWNET}, EPERM},
	{"netlink route", SYS_socket, {AF_NETLINK, SOCK_DGRAM, 0}, EAFNOSUPPORT},
	{"raw socket", SYS_socket, {AF_INET, SOCK_RAW | SOCK_CLOEXEC, 255}, EPERM},
	{"packet filter", SYS_setsockopt, {0, SOL_IP, 64, 0, 0}, EPERM},
	{"packet filter, 6", SYS_setsockopt, {0, SOL_IPV6, HIGH | 64, 0, 0}, EPERM},
	{"bridge", SYS_ioctl, {0, 0x89a0, 0}, EPERM},
	{"ethtool", SYS_ioctl, {0, HIGH | 0x8946, 0}, EPERM},
	{"interfaces", SYS_ioctl, {0, 0x8912, 0}, 0},
	{"socket inet", SYS_socket, {AF_INET, SOCK_STREAM, 0}, 0},
	{"clone3", SYS_clone3, {0}, ENOSYS},
	{"setns", SYS_setns, {0, 0}, EPERM},
	{"mount", SYS_mount, {0}, EPERM},
	{"bpf", SYS_bpf, {0}, EPERM},
};

/* As init and the process itself do: all of the first parts, and own. */
static int load(int fd, enum seccomp_filter_part own)
{
	static const uint64_t key[2] = {KEY_1, (uint64_t)KEY_2};
	uint32_t len[SECCOMP_FILTERS] = {0};
	struct fail f = {0};
	off_t at = 0;

	if (seccomp_filter_write(fd, key, len, &f) < 0 ||
		prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return -1;
	for (int i = 0; i < SECCOMP_FILTERS; at += len[i++]) {
		auto_free void *data = malloc(len[i]);
		struct sock_fprog program = {.len = (unsigned short)(len[i] / 8), .filter = data};
		if (i >= (int)SECCOMP_COMMANDS && i != (int)own)
			continue;
		if (!data || pread(fd, data, len[i], at) != (ssize_t)len[i] ||
			syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) < 0)
			return -1;
	}
	return 0;
}

/* Runs body under the filter; returns its wait status. */
static int under_filter(
	enum seccomp_filter_part own, void (*body)(const void *arg), const void *arg)
{
	int status = -1;
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (pid == 0) {
		int fd = memfd_create("filter", MFD_CLOEXEC);
		if (load(fd, own) < 0)
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

static void check(enum seccomp_filter_part own, const struct call *c, size_t len)
{
	for (; len; c++, len--) {
		int status = under_filter(own, make_call, c);
		if (status != 0)
			print_error("%s: wait status %x\n", c->what, (unsigned)status);
		assert_int_equal(status, 0);
	}
}

static void commands_get_what_the_tables_say(void **state)
{
	(void)state;
	check(SECCOMP_COMMANDS, of_commands, ARRAY_LEN(of_commands));
}

static void nesting_gets_its_namespaces_only(void **state)
{
	(void)state;
	check(SECCOMP_NESTING, of_nesting, ARRAY_LEN(of_nesting));
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
	int status = under_filter(SECCOMP_COMMANDS, call_as_x32, NULL);
	assert_true(WIFSIGNALED(status));
	assert_int_equal(WTERMSIG(status), SIGSYS);
}
#endif

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(commands_get_what_the_tables_say),
		cmocka_unit_test(nesting_gets_its_namespaces_only),
#ifdef __x86_64__
		cmocka_unit_test(other_architectures_are_killed),
#endif
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
