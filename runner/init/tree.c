// Process trees: who belongs to one, how it is killed, when it is empty.
//
// Membership is the cgroup namespace that init made for the spawn: every descendant has it, and
// none can leave it. A kill first stops: a stopped process creates no other, so it comes to an end
// even against a fork storm; what is stopped is then killed.
#include "runner/init/init.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/unsafe.h"

/* A tree of fewer processes, in a sandbox of fewer, is handled one by one, in so many passes. */
#define CROWD 256
#define PASSES 8
#define PAUSE_MSEC 5
#define PATIENT_ROUNDS 100
#define LONG_PAUSE_MSEC 200
/* Where /proc's entries of processes start: seeking there skips all others. */
#define PROC_FIRST_PID 256

/* Returns whether to go on. */
typedef bool visit_fn(void *arg, pid_t pid, ino_t tag);

struct dirent64_raw {
	uint64_t ino;
	int64_t off;
	unsigned short len;
	unsigned char type;
	char name[];
};

/* The session of a process, which outlives the session's leader; 0 when there is none. */
static pid_t session_of(pid_t pid)
{
	pid_t sid = getsid(pid);

	return sid < 0 ? 0 : sid;
}

/* Where a program's file may not be read, the kernel hides its process's namespaces; then the
 * session must do. */
static ino_t tag_by_session(const struct init *init, pid_t pid)
{
	struct list *item;
	pid_t sid = session_of(pid);

	list_for_each(item, &init->spawns)
	{
		const struct spawn *s = list_entry(item, struct spawn, link);
		if (sid && s->pid == sid && !s->empty)
			return s->tag;
	}
	return 0;
}

/* The tag of a process, 0 when it has none any more. */
static ino_t tag_of(const struct init *init, pid_t pid, const char *name)
{
	char path[40], target[40];

	snprintf(path, sizeof(path), "%.10s/ns/cgroup", name);
	ssize_t len = readlinkat(init->proc_fd, path, target, sizeof(target) - 1);
	if (len < 0)
		return errno == EACCES || errno == EPERM ? tag_by_session(init, pid) : 0;
	target[len] = '\0';
	const char *number = strchr(target, '[');
	return number ? strtoul(number + 1, NULL, 10) : 0;
}

/* Calls visit for every process but init and what is dead already. */
static void scan(struct init *init, visit_fn *visit, void *arg)
{
	static char buffer[32 * 1024] __attribute__((aligned(8)));
	long len;

	lseek(init->proc_fd, PROC_FIRST_PID, SEEK_SET);
	while ((len = syscall(SYS_getdents64, init->proc_fd, buffer, sizeof(buffer))) > 0) {
		for (long at = 0; at < len;) {
			struct dirent64_raw *d = (void *)(buffer + at);
			at += d->len;
			pid_t pid = (pid_t)strtol(d->name, NULL, 10);
			if (pid <= 1)
				continue;
			ino_t tag = tag_of(init, pid, d->name);
			if (tag && !visit(arg, pid, tag))
				return;
		}
	}
}

struct pass {
	const struct spawn *spawn;
	int sig;
	int other_sig; /* to all who are not members; 0: none */
	pid_t group; /* only members of this process group; 0: all */
	size_t members;
	size_t others;
	uint64_t sum; /* of the members' pids: with the count it tells passes apart */
};

static bool signal_process(void *arg, pid_t pid, ino_t tag)
{
	struct pass *p = arg;

	if (tag != p->spawn->tag) {
		p->others++;
		if (p->other_sig)
			kill(pid, p->other_sig);
	} else if (!p->group || getpgid(pid) == p->group) {
		p->members++;
		p->sum = p->sum * 31 + (uint64_t)pid;
		kill(pid, p->sig);
	}
	return p->other_sig || p->sig != SIGSTOP || p->members + p->others < CROWD;
}

/* Whether another tree lives. */
static bool has_others(const struct init *init, const struct spawn *s)
{
	struct list *item;

	list_for_each(item, &init->spawns)
	{
		const struct spawn *other = list_entry(item, struct spawn, link);
		if (other != s && !other->failed && !other->empty)
			return true;
	}
	return false;
}

/* A few processes: stop them until two passes meet the same ones, then kill. False, with some of
 * them stopped, when there are too many or they do not hold still. */
static bool kill_few(struct init *init, const struct spawn *s, size_t *ret_members)
{
	uint64_t sum = 0;

	for (int i = 0; i < PASSES; i++) {
		struct pass p = {.spawn = s, .sig = SIGSTOP};
		scan(init, signal_process, &p);
		if (p.members + p.others >= CROWD)
			return false;
		*ret_members = p.members;
		if (!p.members)
			return true;
		if (i && p.sum == sum) {
			p = (struct pass){.spawn = s, .sig = SIGKILL};
			scan(init, signal_process, &p);
			return true;
		}
		sum = p.sum;
	}
	return false;
}

/* A crowd, perhaps one that grows faster than it can be listed. One system call stops everything
 * in the sandbox at once, and a stopped process creates no other; then there is time to look.
 * Processes of other trees go on after that, also one that somebody had stopped before. */
static size_t kill_crowd(struct init *init, const struct spawn *s)
{
	struct pass p = {.spawn = s, .sig = SIGKILL, .other_sig = SIGCONT};

	kill(-1, SIGSTOP);
	scan(init, signal_process, &p);
	return p.members;
}

/* What was killed takes its time to die, so most rounds only look whether something is left. One
 * that others woke between the stop and the kill may have got away: now and then all is done
 * again. */
static size_t kill_rest(struct init *init, const struct spawn *s)
{
	struct pass p = {.spawn = s, .sig = SIGKILL};

	scan(init, signal_process, &p);
	return p.members;
}

static void kill_round(struct init *init, struct spawn *s)
{
	size_t members = 0;
	unsigned round = s->kill_rounds++;

	if (!has_others(init, s)) {
		members = kill(-1, SIGKILL) == 0;
	} else if (round < s->kill_next_full) {
		members = kill_rest(init, s);
	} else {
		s->kill_next_full = round ? 2 * round : 8;
		if (!kill_few(init, s, &members))
			members = kill_crowd(init, s);
	}
	if (round && !s->ended)
		traced_take_end(init, s);
	s->killing = members > 0 || !s->ended;
}

static void start_kill(struct init *init, struct spawn *s)
{
	s->kill_rounds = s->kill_next_full = 0;
	kill_round(init, s);
}

void tree_step(struct init *init)
{
	struct list *item;

	list_for_each(item, &init->spawns)
	{
		struct spawn *s = list_entry(item, struct spawn, link);
		if (s->killing)
			kill_round(init, s);
	}
}

static int signal_one(pid_t pid, int sig)
{
	return kill(pid, sig) < 0 ? -errno : 0;
}

int tree_kill(struct init *init, struct spawn *s, int sig, enum sandbox_target target)
{
	if (s->failed || s->empty)
		return -ESRCH;
	if (target == SANDBOX_PROCESS)
		return s->ended ? -ESRCH : signal_one(s->pid, sig);
	/* While the first process is not reaped, its number stands for its group and no other. */
	if (target == SANDBOX_GROUP && !s->ended)
		return signal_one(-s->pid, sig);
	if (target == SANDBOX_TREE && unsafe_is("tree"))
		return signal_one(-s->pid, sig);
	if (target == SANDBOX_TREE && sig == SIGKILL) {
		start_kill(init, s);
		return 0;
	}
	struct pass p = {
		.spawn = s,
		.sig = sig,
		.group = target == SANDBOX_GROUP ? s->pid : 0,
	};
	scan(init, signal_process, &p);
	return 0;
}

static bool mark_seen(void *arg, pid_t pid, ino_t tag)
{
	struct init *init = arg;
	struct list *item;

	(void)pid;
	list_for_each(item, &init->spawns)
	{
		struct spawn *s = list_entry(item, struct spawn, link);
		if (s->tag == tag && !s->empty)
			s->seen = true;
	}
	return true;
}

bool tree_is_alone(void)
{
	siginfo_t info;

	return waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) < 0 && errno == ECHILD;
}

static void set_empty(const struct init *init, struct spawn *s)
{
	s->empty = true;
	s->killing = false;
	s->unsent |= 1u << SANDBOX_EMPTY;
	close_fd(&s->tag_fd);
	if (s->nests)
		spawn_set_fence(init);
}

void tree_check_empty(struct init *init)
{
	struct list *item;
	bool waiting = false;

	list_for_each(item, &init->spawns)
	{
		struct spawn *s = list_entry(item, struct spawn, link);
		s->seen = false;
		waiting = waiting || (s->ended && !s->empty);
	}
	init->orphan_reaped = false;
	if (!waiting)
		return;
	if (!tree_is_alone())
		scan(init, mark_seen, init);
	init->scanned_usec = clock_monotonic_usec();
	list_for_each(item, &init->spawns)
	{
		struct spawn *s = list_entry(item, struct spawn, link);
		if (s->ended && !s->empty && !s->seen)
			set_empty(init, s);
	}
}

int tree_timeout(const struct init *init)
{
	struct list *item;

	list_for_each(item, &init->spawns)
	{
		const struct spawn *s = list_entry(item, struct spawn, link);
		if (s->killing)
			return s->kill_rounds < PATIENT_ROUNDS ? PAUSE_MSEC : LONG_PAUSE_MSEC;
	}
	return init->orphan_reaped ? PAUSE_MSEC : -1;
}
