// What the sandbox's processes use: from the control groups, and from /proc what they do not know.
#include "runner/sandbox_impl.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/names.h"
#include "common/scope.h"

/* One process's times (its own and of the children that it reaped) and resident memory; see
 * proc_pid_stat(5). The name may hold anything, so reading starts at the last parenthesis. */
static bool read_stat(int proc_fd, const char *pid, uint64_t *ret_ticks, uint64_t *ret_pages)
{
	char path[32], text[1024];
	uint64_t utime, stime;
	int64_t cutime, cstime, pages;

	snprintf(path, sizeof(path), "%.10s/stat", pid);
	auto_close int fd = openat(proc_fd, path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
	if (n <= 0)
		return false;
	text[n] = '\0';
	const char *rest = strrchr(text, ')');
	if (!rest || sscanf(rest,
			     ") %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %" SCNu64 " %" SCNu64
			     " %" SCNd64 " %" SCNd64 " %*d %*d %*d %*d %*u %*u %" SCNd64,
			     &utime, &stime, &cutime, &cstime, &pages) != 5)
		return false;
	*ret_ticks = utime + stime + (uint64_t)cutime + (uint64_t)cstime;
	*ret_pages = (uint64_t)pages;
	return true;
}

static int sum_proc(int proc_fd, struct sandbox_usage *ret)
{
	uint64_t ticks, pages, all_ticks = 0, all_pages = 0;
	struct dirent *d;
	DIR *dir auto_dir = names_open(proc_fd, ".");

	if (!dir)
		return -errno;
	while ((d = readdir(dir))) {
		if (d->d_name[0] < '1' || d->d_name[0] > '9' ||
			!read_stat(proc_fd, d->d_name, &ticks, &pages))
			continue;
		all_ticks += ticks;
		all_pages += pages;
		ret->pids++;
	}
	ret->cpu_usec = all_ticks * (USEC_PER_SEC / (uint64_t)sysconf(_SC_CLK_TCK));
	ret->memory_bytes = all_pages * (uint64_t)sysconf(_SC_PAGESIZE);
	return 0;
}

int sandbox_usage(const struct sandbox *s, struct sandbox_usage *ret)
{
	struct sandbox_usage group = {0}, proc = {0};

	bool whole = cgroup_usage(s->cgroup, &group);
	if (group.pids > INIT_EXTRA_THREADS)
		group.pids -= INIT_EXTRA_THREADS;
	if (whole) {
		*ret = group;
		return 0;
	}
	int err = sum_proc(s->proc_fd, &proc);
	if (err < 0)
		return err;
	*ret = (struct sandbox_usage){
		.cpu_usec = group.cpu_usec ? group.cpu_usec : proc.cpu_usec,
		.memory_bytes = group.memory_bytes ? group.memory_bytes : proc.memory_bytes,
		.pids = group.pids ? group.pids : proc.pids,
		.oom_kills = group.oom_kills,
	};
	return 0;
}

/* A directory of /proc is a handle of its process. */
static bool kill_one(int proc_fd, const char *pid)
{
	auto_close int fd = openat(proc_fd, pid, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	return fd >= 0 && syscall(SYS_pidfd_send_signal, fd, SIGKILL, NULL, 0) == 0;
}

unsigned sandbox_kill_all(const struct sandbox *s)
{
	DIR *dir auto_dir = names_open(s->proc_fd, ".");
	unsigned killed = 0;
	struct dirent *d;

	while (dir && (d = readdir(dir)))
		if (d->d_name[0] >= '1' && d->d_name[0] <= '9' && strcmp(d->d_name, "1") != 0)
			killed += kill_one(s->proc_fd, d->d_name);
	return killed;
}
