// The end of a process that another traces. The kernel tells the tracer first, and init not before
// the tracer has asked; one that never does would keep a killed command from ending.
#include "runner/init/init.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/scope.h"
#include "common/unsafe.h"

/* Numbers of the fields of /proc/PID/stat (proc_pid_stat(5)). */
enum { STATE = 3, CPU_FIRST = 14, CPU_LAST = 17, EXIT_CODE = 52 };

struct stat_line {
	char state;
	int wait_status;
	uint64_t cpu_ticks;
};

/* at: behind the name, which may hold anything. */
static void parse(char *at, struct stat_line *ret)
{
	char *rest = NULL;

	for (int field = STATE; (at = strtok_r(field == STATE ? at : NULL, " ", &rest)); field++) {
		if (field == STATE)
			ret->state = *at;
		else if (field >= CPU_FIRST && field <= CPU_LAST)
			ret->cpu_ticks += strtoul(at, NULL, 10);
		else if (field == EXIT_CODE)
			ret->wait_status = atoi(at);
	}
}

/* Whether a process or thread is dead; dir_fd: of the directory that lists it. */
static bool is_dead(int dir_fd, const char *number, struct stat_line *ret)
{
	char path[32], text[1024];

	*ret = (struct stat_line){0};
	snprintf(path, sizeof(path), "%.10s/stat", number);
	auto_close int fd = openat(dir_fd, path, O_RDONLY | O_CLOEXEC);
	ssize_t len = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
	if (len <= 0)
		return false;
	text[len] = '\0';
	char *name_end = strrchr(text, ')');
	if (name_end)
		parse(name_end + 1, ret);
	return ret->state == 'Z' || ret->state == 'X';
}

/* Each of them, as the first may end before the others, and a tracer keeps them one by one. */
static bool are_threads_dead(const struct init *init, const char *pid)
{
	struct stat_line line;
	struct dirent *entry;
	char path[32];
	bool dead = true;

	snprintf(path, sizeof(path), "%.10s/task", pid);
	int fd = openat(init->proc_fd, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	if (!dir) {
		close_fd(&fd);
		return false;
	}
	while (dead && (entry = readdir(dir)))
		dead = entry->d_name[0] == '.' || is_dead(fd, entry->d_name, &line) || !line.state;
	closedir(dir);
	return dead;
}

void traced_take_end(struct init *init, struct spawn *s)
{
	siginfo_t info = {0};
	struct stat_line line;
	char pid[16];

	if (unsafe_is("traced"))
		return;
	/* What init is told of needs nothing of this. */
	if (waitid(P_PID, (id_t)s->pid, &info, WEXITED | WNOHANG | WNOWAIT) < 0 || info.si_pid)
		return;
	snprintf(pid, sizeof(pid), "%d", s->pid);
	if (!is_dead(init->proc_fd, pid, &line) || !are_threads_dead(init, pid))
		return;
	s->ended = true;
	s->wait_status = line.wait_status;
	s->cpu_usec = line.cpu_ticks * USEC_PER_SEC / (uint64_t)sysconf(_SC_CLK_TCK);
	s->unsent |= 1u << SANDBOX_ENDED;
	init->orphan_reaped = true;
}
