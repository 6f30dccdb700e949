// Spawns: from the daemon's packet to a running process with a tag of its own.
#include "runner/init/init.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/clock.h"

/* Of one user id inside; a browser with many tabs needs some dozens. */
#define NESTED_NAMESPACES "256"

/* A command's payload is at most what exec takes; the daemon checks the same. */
#define STRINGS_MAX (8u * 1024 * 1024)

struct strings {
	char *data; /* owned */
	char **pointers; /* owned: a spare one, argv, NULL, env, NULL */
};

static void strings_clear(struct strings *s)
{
	free(s->data);
	free(s->pointers);
}

void spawn_free(struct spawn *s)
{
	list_remove(&s->link);
	if (s->tag_fd >= 0)
		close(s->tag_fd);
	free(s);
}

void spawn_set_fence(const struct init *init)
{
	struct list *item;
	const char *value = "0";

	list_for_each(item, &init->spawns)
	{
		const struct spawn *s = list_entry(item, struct spawn, link);
		if (s->nests && !s->failed && !s->empty)
			value = NESTED_NAMESPACES;
	}
	/* A kernel without the setting has no fence: the filter stands. */
	if (pwrite(INIT_FENCE_FD, value, strlen(value), 0) < 0)
		return;
}

static int read_all(int fd, char *to, size_t len)
{
	while (len) {
		ssize_t n = read(fd, to, len);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n < 0 ? -errno : -EPROTO;
		to += n;
		len -= (size_t)n;
	}
	return 0;
}

/* Cuts data into count strings, each with its NUL. */
static int cut(char **at, const char *end, char **pointers, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		char *nul = memchr(*at, '\0', (size_t)(end - *at));
		if (!nul)
			return -EPROTO;
		pointers[i] = *at;
		*at = nul + 1;
	}
	return 0;
}

static int get_strings(struct strings *s, const struct init_spawn *w, const char *inline_data,
	size_t inline_len, int fd, struct exec_plan *plan)
{
	size_t len = w->strings_len;

	if (!len || len > STRINGS_MAX || !w->argc || w->argc > len || w->envc > len)
		return -EPROTO;
	s->data = malloc(len);
	s->pointers = calloc((size_t)w->argc + w->envc + 3, sizeof(char *));
	if (!s->data || !s->pointers)
		return -ENOMEM;
	if (fd >= 0) {
		int err = read_all(fd, s->data, len);
		if (err < 0)
			return err;
	} else if (inline_len == len) {
		memcpy(s->data, inline_data, len);
	} else {
		return -EPROTO;
	}
	char *at = s->data;
	const char *end = s->data + len;
	plan->argv = s->pointers + 1;
	plan->env = plan->argv + w->argc + 1;
	if (cut(&at, end, &plan->cwd, 1) < 0 || cut(&at, end, plan->argv, w->argc) < 0)
		return -EPROTO;
	return cut(&at, end, plan->env, w->envc);
}

/* The calling thread moves into a new cgroup namespace that its next child inherits. Commands lack
 * the privilege to leave it, whatever they do with sessions, parents, names or environments. */
static int make_tag(struct init *init, struct spawn *s)
{
	const uint64_t *key = init->setup.unshare_key;
	struct stat st;

	if (syscall(SYS_unshare, CLONE_NEWCGROUP, key[0], key[1]) < 0)
		return -errno;
	s->tag_fd = openat(init->proc_fd, "thread-self/ns/cgroup", O_RDONLY | O_CLOEXEC);
	if (s->tag_fd < 0 || fstat(s->tag_fd, &st) < 0)
		return -errno;
	s->tag = st.st_ino;
	return 0;
}

/* A default route of IPv4. */
static bool has_route(void)
{
	char text[4096];
	auto_close int fd = open("/proc/self/net/route", O_RDONLY | O_CLOEXEC);
	ssize_t len = fd < 0 ? 0 : read(fd, text, sizeof(text) - 1);

	if (len <= 0)
		return false;
	text[len] = '\0';
	return strstr(text, "\t00000000\t") != NULL;
}

/* The network is set up beside; only the first command can be too early for it. */
static void wait_for_network(struct init *init)
{
	uint64_t end = clock_monotonic_usec() + init->setup.net_wait_msec * USEC_PER_MSEC;

	while (init->setup.net_wait_msec && !has_route() && clock_monotonic_usec() < end)
		usleep(5000);
	init->setup.net_wait_msec = 0;
}

static int child_main(void *arg)
{
	exec_child(arg);
	_exit(127);
}

static int start(struct exec_plan *plan, struct spawn *s)
{
	static char stack[64 * 1024] __attribute__((aligned(64)));

	vigil_set(plan->init, true);
	pid_t pid = clone(child_main, stack + sizeof(stack),
		CLONE_VM | CLONE_VFORK | CLONE_PARENT_SETTID | SIGCHLD, plan,
		&plan->init->starting);
	plan->init->starting = 0;
	vigil_set(plan->init, false);
	if (pid < 0) {
		plan->step = "creating a process";
		return -errno;
	}
	s->pid = pid;
	if (plan->err < 0)
		waitpid(pid, NULL, 0);
	return plan->err;
}

struct start {
	struct exec_plan *plan;
	struct spawn *spawn;
};

static int tag_and_start(void *arg)
{
	struct start *s = arg;
	int err = make_tag(s->plan->init, s->spawn);

	return err < 0 ? err : start(s->plan, s->spawn);
}

static void say_failure(struct spawn *s, int err, const char *step, const char *path)
{
	s->failed = true;
	s->err = err;
	s->unsent = 1u << SANDBOX_FAILED;
	snprintf(s->text, sizeof(s->text), "%s%s%.120s: %s", step ? step : "starting",
		path ? " " : "", path ? path : "", strerror(-err));
}

static int prepare_fds(struct exec_plan *plan, const int *fds, size_t fds_len, int *strings_fd)
{
	const struct init_spawn *w = plan->wanted;
	size_t at = 0;
	size_t want = 2 + !!(w->fds & INIT_HAS_IN) + !!(w->fds & INIT_HAS_EXTRA) +
		      !!(w->fds & INIT_HAS_STRINGS);

	if (w->groups_fds > INIT_GROUPS_MAX || fds_len != want + w->groups_fds)
		return -EPROTO;
	plan->std_fds[0] = w->fds & INIT_HAS_IN ? fds[at++] : 0;
	plan->std_fds[1] = fds[at++];
	plan->std_fds[2] = fds[at++];
	plan->std_fds[3] = w->fds & INIT_HAS_EXTRA ? fds[at++] : -1;
	*strings_fd = w->fds & INIT_HAS_STRINGS ? fds[at++] : -1;
	while (plan->group_fds_len < w->groups_fds)
		plan->group_fds[plan->group_fds_len++] = fds[at++];
	return 0;
}

static int carry_out(struct init *init, struct spawn *s, struct exec_plan *plan, const void *packet,
	size_t len, const int *fds, size_t fds_len)
{
	const struct init_spawn *w = packet;
	struct strings strings __attribute__((cleanup(strings_clear))) = {0};
	struct start both = {.plan = plan, .spawn = s};
	int strings_fd;

	plan->step = "reading the request";
	if (w->groups_len > ARRAY_LEN(w->groups))
		return -EPROTO;
	int err = prepare_fds(plan, fds, fds_len, &strings_fd);
	if (err < 0)
		return err;
	err = get_strings(
		&strings, w, (const char *)packet + sizeof(*w), len - sizeof(*w), strings_fd, plan);
	if (err < 0)
		return err;
	if (w->nests) {
		s->nests = true;
		spawn_set_fence(init);
	}
	wait_for_network(init);
	plan->step = "marking the process tree";
	err = w->nests ? nester_call(tag_and_start, &both) : tag_and_start(&both);
	if (err < 0)
		say_failure(s, err, plan->step, plan->path);
	return 0;
}

void spawn_request(struct init *init, const void *packet, size_t len, int *fds, size_t fds_len)
{
	const struct init_spawn *w = packet;
	struct exec_plan plan = {.init = init, .wanted = w};
	struct spawn *s = calloc(1, sizeof(*s));

	/* Without memory for the record nobody can be told; the daemon's own limits make this
	 * sandbox end then. */
	if (!s)
		_exit(1);
	s->id = w->request.id;
	s->tag_fd = -1;
	list_add_tail(&init->spawns, &s->link);
	int err = carry_out(init, s, &plan, packet, len, fds, fds_len);
	if (err < 0)
		say_failure(s, err, plan.step, NULL);
	if (s->failed && s->nests)
		spawn_set_fence(init);
	if (!s->failed)
		s->unsent = 1u << SANDBOX_STARTED;
	for (size_t i = 0; i < fds_len; i++)
		close(fds[i]);
}
