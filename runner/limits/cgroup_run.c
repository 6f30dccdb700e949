// The control group of one run within the sandbox's.
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/scope.h"
#include "runner/limits/cgroup_impl.h"

struct cgroup_run {
	char name[24];
	bool v2;
	struct group parts[PARTS]; /* parent_fd is borrowed from the sandbox's */
	int join_fds[CGROUP_RUN_FDS]; /* owned */
	size_t join_len;
};

static int make_part(struct cgroup_run *run, int parent_fd, struct group *g)
{
	const char *join = run->v2 ? "cgroup.procs" : "tasks";

	if (mkdirat(parent_fd, run->name, 0755) < 0 && errno != EEXIST)
		return -errno;
	g->parent_fd = parent_fd;
	g->fd = openat(parent_fd, run->name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int fd = g->fd < 0 ? -1 : openat(g->fd, join, O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	run->join_fds[run->join_len++] = fd;
	return 0;
}

static int make_parts(
	struct cgroup_run *run, const struct cgroup *c, const bool *wanted, struct fail *f)
{
	static const char *const names[] = {"memory", "pids", "cpus"};
	int err = 0;

	/* From the cpus down: they are what nothing else can limit, so that is the error to tell. */
	for (int part = CGROUP_RUN_FDS - 1; part >= 0 && err == 0; part--) {
		if (!wanted[part])
			continue;
		if (!c->has[part] || (c->v2 && c->leaf_fd < 0))
			return fail_set(f, -EOPNOTSUPP,
				"no control group can limit the %s of a run here: see sandpit check",
				names[part]);
		if (!c->v2)
			err = make_part(run, c->parts[part].fd, &run->parts[part]);
		else if (!run->join_len)
			err = make_part(run, c->parts[0].fd, &run->parts[0]);
	}
	return err < 0 ? fail_errno(f, err, "making a control group for the run") : 0;
}

int cgroup_run_new(const struct cgroup *c, uint32_t id, const struct sandbox_limits *l,
	struct cgroup_run **ret, struct fail *f)
{
	const bool wanted[PARTS] = {l->memory_bytes != 0, l->pids != 0, l->cpus > 0};
	struct cgroup_run *run = calloc(1, sizeof(*run));

	if (!run)
		return -ENOMEM;
	snprintf(run->name, sizeof(run->name), "run-%" PRIu32, id);
	run->v2 = c->v2;
	for (int part = 0; part < PARTS; part++)
		run->parts[part] = (struct group){-1, -1};
	int err = make_parts(run, c, wanted, f);
	if (err == 0)
		err = cgroup_set_limits(run->parts, run->v2, wanted, l, f);
	if (err < 0) {
		cgroup_run_remove(run);
		cgroup_run_free(run);
		return err;
	}
	*ret = run;
	return 0;
}

size_t cgroup_run_fds(const struct cgroup_run *run, int fds[CGROUP_RUN_FDS])
{
	for (size_t i = 0; i < run->join_len; i++)
		fds[i] = run->join_fds[i];
	return run->join_len;
}

static bool add_key(int dir_fd, const char *name, const char *key, uint64_t *count)
{
	uint64_t value;

	if (!cgroup_read_key(dir_fd, name, key, &value))
		return false;
	*count += value;
	return true;
}

bool cgroup_run_add_oom_kills(const struct cgroup_run *run, uint64_t *count)
{
	return add_key(run->parts[run->v2 ? 0 : PART_MEMORY].fd,
		run->v2 ? "memory.events" : "memory.oom_control", "oom_kill", count);
}

bool cgroup_run_add_pids(const struct cgroup_run *run, uint64_t *count)
{
	return add_key(run->parts[run->v2 ? 0 : PART_PIDS].fd, "pids.events", "max", count);
}

void cgroup_run_usage(const struct cgroup_run *run, struct sandbox_usage *ret)
{
	const struct group *p = run->parts;
	bool v2 = run->v2;

	*ret = (struct sandbox_usage){UINT64_MAX, UINT64_MAX, UINT64_MAX, UINT64_MAX};
	cgroup_read_number(p[v2 ? 0 : PART_MEMORY].fd,
		v2 ? "memory.current" : "memory.usage_in_bytes", &ret->memory_bytes);
	cgroup_read_number(p[v2 ? 0 : PART_PIDS].fd, "pids.current", &ret->pids);
	if (v2)
		cgroup_read_key(p->fd, "cpu.stat", "usage_usec", &ret->cpu_usec);
	/* There where the hierarchy of processors counts their time, too. */
	else if (cgroup_read_number(p[PART_CPU].fd, "cpuacct.usage", &ret->cpu_usec))
		ret->cpu_usec /= 1000;
}

int cgroup_run_remove(struct cgroup_run *run)
{
	int err = 0;

	for (int part = 0; part < PARTS; part++) {
		struct group *g = &run->parts[part];

		if (g->parent_fd < 0)
			continue;
		if (unlinkat(g->parent_fd, run->name, AT_REMOVEDIR) < 0 && errno == EBUSY) {
			err = -EBUSY;
			continue;
		}
		g->parent_fd = -1;
		cgroup_close_group(g);
	}
	return err;
}

void cgroup_run_free(struct cgroup_run *run)
{
	if (!run)
		return;
	for (int part = 0; part < PARTS; part++) {
		run->parts[part].parent_fd = -1;
		cgroup_close_group(&run->parts[part]);
	}
	for (size_t i = 0; i < run->join_len; i++)
		close(run->join_fds[i]);
	free(run);
}
