// The end of a process that another traces. The kernel tells the tracer first, and init not before
// the tracer has asked; one that never does would keep a killed command from ending.
#include "runner/init/init.h"

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
enum { STATE = 3, CPU_FIRST = 14, CPU_LAST = 17, THREADS = 20, EXIT_CODE = 52 };

struct death {
	bool is_whole; /* also every thread but the first is gone */
	int wait_status;
	uint64_t cpu_ticks;
};

/* at: behind the name, which may hold anything. */
static void parse(char *at, struct death *ret)
{
	unsigned long threads = 0;
	char *rest = NULL, state = ' ';

	for (int field = STATE; (at = strtok_r(field == STATE ? at : NULL, " ", &rest)); field++) {
		if (field == STATE)
			state = *at;
		else if (field >= CPU_FIRST && field <= CPU_LAST)
			ret->cpu_ticks += strtoul(at, NULL, 10);
		else if (field == THREADS)
			threads = strtoul(at, NULL, 10);
		else if (field == EXIT_CODE)
			ret->wait_status = atoi(at);
	}
	ret->is_whole = state == 'Z' && threads == 1;
}

static bool is_dead(const struct init *init, pid_t pid, struct death *ret)
{
	char path[32], text[1024];

	snprintf(path, sizeof(path), "%d/stat", pid);
	auto_close int fd = openat(init->proc_fd, path, O_RDONLY | O_CLOEXEC);
	ssize_t len = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
	if (len <= 0)
		return false;
	text[len] = '\0';
	char *name_end = strrchr(text, ')');
	if (name_end)
		parse(name_end + 1, ret);
	return ret->is_whole;
}

void traced_take_end(struct init *init, struct spawn *s)
{
	siginfo_t info = {0};
	struct death death = {0};

	if (unsafe_is("traced"))
		return;
	/* What init is told of needs nothing of this. */
	if (waitid(P_PID, (id_t)s->pid, &info, WEXITED | WNOHANG | WNOWAIT) < 0 || info.si_pid)
		return;
	if (!is_dead(init, s->pid, &death))
		return;
	s->ended = true;
	s->wait_status = death.wait_status;
	s->cpu_usec = death.cpu_ticks * USEC_PER_SEC / (uint64_t)sysconf(_SC_CLK_TCK);
	s->unsent |= 1u << SANDBOX_ENDED;
	init->orphan_reaped = true;
}
