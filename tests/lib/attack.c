// Runs inside the sandbox: attacks that a shell cannot make, those with arguments and those that go
// on until they are killed. `attack inside NAME [ARG...]`; without the word it does nothing. Each
// step prints a line, `WORD ERROR` or `WORD NUMBER`. Static, so that it runs in any tree.
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "common/scope.h"

#ifndef SO_PEERPIDFD
#define SO_PEERPIDFD 77
#endif
#define PIDFD_GET_MNT_NAMESPACE _IO(0xFF, 3)
#define PIDFD_GET_USER_NAMESPACE _IO(0xFF, 9)

static void say(const char *word, long long result)
{
	if (result < 0)
		printf("%s %s\n", word, strerrorname_np(errno));
	else
		printf("%s %lld\n", word, result);
	fflush(stdout);
}

static void stay(void)
{
	for (;;)
		pause();
}

/* Stops every process but init and itself, again and again. */
static void stop_all(char **arg)
{
	(void)arg;
	puts("started");
	fflush(stdout);
	for (;;) {
		DIR *dir = opendir("/proc");

		for (struct dirent *e; dir && (e = readdir(dir));) {
			int pid = atoi(e->d_name);

			if (pid > 1 && pid != getpid())
				kill(pid, SIGSTOP);
		}
		if (dir)
			closedir(dir);
	}
}

/* Stops one process, whose number is the next that will be given, as fast as it can. */
static void stop_next(char **arg)
{
	pid_t first = fork();

	(void)arg;
	if (first == 0)
		_exit(0);
	waitpid(first, NULL, 0);
	puts("started");
	fflush(stdout);
	for (;;)
		for (pid_t pid = first + 1; pid < first + 20; pid++)
			kill(pid, SIGSTOP);
}

/* Two names exchange what they mean until it is killed. */
static void swap(char **arg)
{
	for (;;)
		renameat2(AT_FDCWD, arg[0], AT_FDCWD, arg[1], RENAME_EXCHANGE);
}

/* A directory goes from place to place until it is killed. */
static void roam(char **arg)
{
	size_t len = 0;

	while (arg[len])
		len++;
	for (size_t at = 0;; at = (at + 1) % len)
		rename(arg[at], arg[(at + 1) % len]);
}

static void lease(char **arg)
{
	int fd = open(arg[0], O_RDWR);

	signal(SIGIO, SIG_IGN);
	say("lease", fcntl(fd, F_SETLEASE, F_WRLCK));
	say("delegation", fcntl(fd, 1024 + 16, F_WRLCK));
	if (arg[1])
		stay();
}

/* Descriptors on their way through sockets, which the kernel counts for the whole user. */
static void flight(char **arg)
{
	char control[CMSG_SPACE(250 * sizeof(int))] __attribute__((aligned(16))) = {0};
	char byte = 'x';
	struct msghdr msg = {.msg_iov = &(struct iovec){&byte, 1}, .msg_iovlen = 1};
	struct cmsghdr *c;
	long long count = 0, want = atoll(arg[0]);
	int ends[2] = {-1, -1};

	msg.msg_control = control;
	msg.msg_controllen = sizeof(control);
	c = CMSG_FIRSTHDR(&msg);
	*c = (struct cmsghdr){CMSG_LEN(250 * sizeof(int)), SOL_SOCKET, SCM_RIGHTS};
	while (count < want) {
		if (ends[0] < 0 && socketpair(AF_UNIX, SOCK_STREAM, 0, ends) < 0)
			break;
		for (int i = 0; i < 250; i++)
			((int *)(void *)CMSG_DATA(c))[i] = ends[1];
		if (sendmsg(ends[0], &msg, MSG_DONTWAIT) >= 0)
			count += 250;
		else if (errno == EAGAIN)
			ends[0] = -1;
		else
			break;
	}
	say("flight", count);
	stay();
}

/* Signals that wait for a process that never takes them. */
static void queue(char **arg)
{
	sigset_t set;
	long long count = 0;

	(void)arg;
	sigfillset(&set);
	sigprocmask(SIG_BLOCK, &set, NULL);
	while (sigqueue(getpid(), SIGRTMIN, (union sigval){.sival_int = 0}) == 0)
		count++;
	say("queue", count);
	stay();
}

static void watches(char **arg)
{
	long long count = 0;

	(void)arg;
	while (inotify_init() >= 0)
		count++;
	say("watches", count);
	stay();
}

/* The same as so many users of the sandbox as there may be. */
static void watching_ids(char **arg)
{
	long long count = 0, all = 0;
	int ends[2];

	(void)arg;
	for (uid_t id = 0; id < 8 && pipe(ends) == 0; id++) {
		if (fork() == 0) {
			if (id && (setgid(id) < 0 || setuid(id) < 0))
				_exit(write(ends[1], &count, sizeof(count)) < 0);
			while (inotify_init() >= 0)
				count++;
			if (write(ends[1], &count, sizeof(count)) > 0)
				stay();
			_exit(1);
		}
		if (read(ends[0], &count, sizeof(count)) > 0)
			all += count;
		count = 0;
	}
	say("watching_ids", all);
	stay();
}

/* Calls visit for every number that names an entry of a directory. */
static void each_number(const char *path, void (*visit)(int number))
{
	DIR *dir = opendir(path);

	for (struct dirent *e; dir && (e = readdir(dir));)
		if (atoi(e->d_name) > 0)
			visit(atoi(e->d_name));
	if (dir)
		closedir(dir);
}

static void trace_thread(int id)
{
	if (ptrace(PTRACE_SEIZE, id, 0, 0) == 0)
		say("traced", id);
}

static void trace_process(int pid)
{
	char path[32];

	snprintf(path, sizeof(path), "/proc/%d/task", pid);
	if (pid > 2 && pid != getpid())
		each_number(path, trace_thread);
}

/* Traces every thread that it meets and never asks how one ended: what is traced tells its end to
 * the tracer first. */
static void trace_all(char **arg)
{
	(void)arg;
	puts("started");
	fflush(stdout);
	for (;;) {
		each_number("/proc", trace_process);
		usleep(1000);
	}
}

static void *rest(void *arg)
{
	stay();
	return arg;
}

static void threads(char **arg)
{
	pthread_t thread;

	for (int i = 0; i < atoi(arg[0]); i++)
		pthread_create(&thread, NULL, rest, NULL);
	say("threads", 0);
	stay();
}

/* Pseudo terminals until there are no more. */
static void terminals(char **arg)
{
	long long count = 0;

	(void)arg;
	while (open("/dev/ptmx", O_RDWR | O_NOCTTY) >= 0)
		count++;
	say("terminals", count);
	stay();
}

/* Which files of a process in /proc take something. */
static void writable(char **arg)
{
	DIR *dir = opendir(arg[0]);
	long long count = 0;

	for (struct dirent *e; dir && (e = readdir(dir));) {
		int fd = openat(dirfd(dir), e->d_name, O_WRONLY | O_NONBLOCK);

		if (fd < 0)
			continue;
		count++;
		printf("%s\n", e->d_name);
		close(fd);
	}
	say("writable", count);
}

/* What a socket tells of the process at its other end, and what can be done with that. */
static void peer(char **arg)
{
	int fd = atoi(arg[0]), pidfd = -1;
	struct ucred cred = {0};
	socklen_t len = sizeof(cred);

	getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &cred, &len);
	say("pid", cred.pid);
	len = sizeof(pidfd);
	if (getsockopt(fd, SOL_SOCKET, SO_PEERPIDFD, &pidfd, &len) < 0) {
		say("pidfd", -1);
		return;
	}
	say("pidfd", 0);
	say("signal", syscall(SYS_pidfd_send_signal, pidfd, SIGKILL, NULL, 0));
	say("signal_group", syscall(SYS_pidfd_send_signal, pidfd, SIGTERM, NULL, 2));
	say("getfd", syscall(SYS_pidfd_getfd, pidfd, 3, 0));
	say("mount_namespace", ioctl(pidfd, PIDFD_GET_MNT_NAMESPACE, 0));
	say("user_namespace", ioctl(pidfd, PIDFD_GET_USER_NAMESPACE, 0));
	say("setns", setns(pidfd, CLONE_NEWNS));
	say("mrelease", syscall(SYS_process_mrelease, pidfd, 0));
}

/* Descriptors where only bytes are expected. */
static void pass(char **arg)
{
	char control[CMSG_SPACE(sizeof(int))] __attribute__((aligned(16))) = {0};
	char byte = 0;
	struct msghdr msg = {.msg_iov = &(struct iovec){&byte, 1},
		.msg_iovlen = 1,
		.msg_control = control,
		.msg_controllen = sizeof(control)};
	struct cmsghdr *c = CMSG_FIRSTHDR(&msg);

	*c = (struct cmsghdr){CMSG_LEN(sizeof(int)), SOL_SOCKET, SCM_RIGHTS};
	*(int *)(void *)CMSG_DATA(c) = open("/", O_RDONLY);
	for (int i = 0; i < 4; i++)
		say("pass", sendmsg(atoi(arg[0]), &msg, MSG_NOSIGNAL));
}

static void capability(char **arg)
{
	struct vfs_ns_cap_data data = {.magic_etc = VFS_CAP_REVISION_2 | VFS_CAP_FLAGS_EFFECTIVE};

	data.data[0].permitted = 1u << CAP_SYS_ADMIN;
	say("capability", setxattr(arg[0], "security.capability", &data, XATTR_CAPS_SZ_2, 0));
}

static void attribute(char **arg)
{
	say("attribute", setxattr(arg[0], arg[1], arg[2], strlen(arg[2]), 0));
}

static void node(char **arg)
{
	mode_t type = arg[1][0] == 'b' ? S_IFBLK : arg[1][0] == 'c' ? S_IFCHR : S_IFIFO;

	say("node", mknod(arg[0], type | 0666, (dev_t)(atoi(arg[2]) << 8 | atoi(arg[3]))));
}

static struct sockaddr_un address_of(const char *name, socklen_t *ret_len)
{
	struct sockaddr_un a = {.sun_family = AF_UNIX};

	snprintf(a.sun_path, sizeof(a.sun_path), "%s", name);
	*ret_len = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + strlen(name));
	if (*name == '@')
		a.sun_path[0] = '\0';
	return a;
}

static void bind_socket(char **arg)
{
	socklen_t len;
	struct sockaddr_un a = address_of(arg[0], &len);
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);

	say("bind", bind(fd, (struct sockaddr *)&a, len));
	listen(fd, 5);
	if (arg[1])
		stay();
}

static void connect_socket(char **arg)
{
	socklen_t len;
	struct sockaddr_un a = address_of(arg[0], &len);

	say("connect", connect(socket(AF_UNIX, SOCK_STREAM, 0), (struct sockaddr *)&a, len));
}

/* Out of a chroot by a directory that was opened before. */
static void climb(char **arg)
{
	int fd = open("/", O_RDONLY | O_DIRECTORY);
	struct stat before, after;

	fstat(fd, &before);
	mkdir(arg[0], 0755);
	say("chroot", chroot(arg[0]));
	if (fchdir(fd) < 0)
		return;
	for (int i = 0; i < 64; i++)
		if (chdir("..") < 0)
			break;
	say("same_root", stat(".", &after) == 0 && before.st_ino == after.st_ino &&
				 before.st_dev == after.st_dev);
}

/* Is not in /proc by a name, an environment or a dump; children in sessions of their own. */
static void hide(char **arg)
{
	for (int i = 0; i < 3; i++) {
		if (fork() == 0) {
			setsid();
			if (fork() == 0) {
				prctl(PR_SET_NAME, "kworker/0:1");
				prctl(PR_SET_DUMPABLE, 0);
				close(1);
				close(2);
				sleep((unsigned)atoi(arg[0]));
				_exit(0);
			}
			_exit(0);
		}
	}
	say("hide", 0);
}

/* New processes faster than they can be counted, each in a session of its own. */
static void storm(char **arg)
{
	(void)arg;
	puts("started");
	fflush(stdout);
	close(1);
	close(2);
	for (;;) {
		if (fork() == 0)
			setsid();
		else
			usleep(2000);
	}
}

static void names(char **arg)
{
	char name[256];
	long long made = 0;

	if (chdir(arg[0]) < 0)
		return;
	for (long long i = 0; i < atoll(arg[1]); i++) {
		snprintf(name, sizeof(name), "name-%lld", i);
		made += mknod(name, S_IFREG | 0644, 0) == 0;
	}
	say("names", made);
}

/* Directories in each other, further than a path can be long. */
static void depth(char **arg)
{
	char name[201];
	long long made = 0;

	memset(name, 'n', 200);
	name[200] = '\0';
	if (chdir(arg[0]) < 0)
		return;
	for (; made < atoll(arg[1]); made++)
		if (mkdir(name, 0755) < 0 || chdir(name) < 0)
			break;
	say("depth", made);
}

/* What this process has open, and where its ids, limits and privileges stand. */
static void inventory(char **arg)
{
	char path[64], target[300], *word;
	struct stat st;
	FILE *status;

	(void)arg;
	for (int fd = 0; fd < 4096; fd++) {
		snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
		ssize_t len = readlink(path, target, sizeof(target) - 1);
		if (len < 0)
			continue;
		target[len] = '\0';
		fstat(fd, &st);
		printf("fd %d %s\n", fd, target);
	}
	status = fopen("/proc/self/status", "re");
	while (status && fgets(target, sizeof(target), status)) {
		word = strchr(target, ':');
		if (word && strpbrk(target, "CSNUG") == target)
			printf("%s", target);
	}
	for (char **e = environ; *e; e++)
		printf("env %.*s\n", (int)strcspn(*e, "="), *e);
}

struct attack {
	const char *name;
	int args; /* at least */
	void (*call)(char **arg);
};

static const struct attack attacks[] = {
	{"attribute", 3, attribute},
	{"bind", 1, bind_socket},
	{"capability", 1, capability},
	{"climb", 1, climb},
	{"connect", 1, connect_socket},
	{"depth", 2, depth},
	{"flight", 1, flight},
	{"hide", 1, hide},
	{"inventory", 0, inventory},
	{"lease", 1, lease},
	{"names", 2, names},
	{"node", 4, node},
	{"pass", 1, pass},
	{"peer", 1, peer},
	{"queue", 0, queue},
	{"roam", 2, roam},
	{"stop_all", 0, stop_all},
	{"stop_next", 0, stop_next},
	{"storm", 0, storm},
	{"swap", 2, swap},
	{"terminals", 0, terminals},
	{"threads", 1, threads},
	{"trace_all", 0, trace_all},
	{"watches", 0, watches},
	{"watching_ids", 0, watching_ids},
	{"writable", 1, writable},
};

int main(int argc, char **argv)
{
	if (argc < 3 || strcmp(argv[1], "inside") != 0)
		return 2;
	for (size_t i = 0; i < ARRAY_LEN(attacks); i++) {
		if (strcmp(argv[2], attacks[i].name) == 0 && argc - 3 >= attacks[i].args) {
			attacks[i].call(argv + 3);
			return 0;
		}
	}
	return 2;
}
