// Limits of single spawns: a control group for each that asks for what only a group can limit.
#include "runner/sandbox_impl.h"

#include <errno.h>
#include <stdlib.h>

#include "common/scope.h"

struct run_group {
	struct list link; /* in sandbox.run_groups */
	uint32_t id; /* of the spawn */
	bool ended; /* it waits for its last processes to go */
	struct cgroup_run *group; /* owned */
	bool limits_pids;
	struct cgroup_hits before; /* of the sandbox as it was made: its own begin there */
};

_Static_assert(CGROUP_RUN_FDS == INIT_GROUPS_MAX, "init joins all");

static void free_group(struct run_group *g)
{
	list_remove(&g->link);
	cgroup_run_free(g->group);
	free(g);
}

/* The kernel takes a moment to let go of processes that have just ended. */
static void remove_ended(struct sandbox *s)
{
	struct list *item, *spare;

	list_for_each_safe(item, spare, &s->run_groups)
	{
		struct run_group *g = list_entry(item, struct run_group, link);

		if (g->ended && cgroup_run_remove(g->group) == 0)
			free_group(g);
	}
}

/* While nothing lives in the sandbox nothing is counted. */
static void read_hits(struct sandbox *s, struct cgroup_hits *ret)
{
	bool quiet = sandbox_is_quiet(s);

	if (!quiet || !s->hits_known || s->hits_spawns != s->spawns)
		cgroup_hits(s->cgroup, &s->hits);
	s->hits_known = quiet;
	s->hits_spawns = s->spawns;
	*ret = s->hits;
}

static int make_group(struct sandbox *s, uint32_t id, const struct sandbox_limits *limits,
	struct run_group **ret, struct fail *f)
{
	struct run_group *g;
	int err;

	*ret = NULL;
	if (!s->map.root && !s->map.single && cgroup_takes_own_ids_only(s->cgroup))
		return fail_set(f, -EOPNOTSUPP,
			"no control group can limit a run here: of version 1 only root may use one "
			"for commands, which have ids of their own");
	g = calloc(1, sizeof(*g));
	err = g ? cgroup_run_new(s->cgroup, id, limits, &g->group, f) : -ENOMEM;
	if (err < 0) {
		free(g);
		return err;
	}
	g->id = id;
	g->limits_pids = limits->pids != 0;
	read_hits(s, &g->before);
	list_add_tail(&s->run_groups, &g->link);
	*ret = g;
	return 0;
}

int sandbox_limit_begin(struct sandbox *s, const struct sandbox_spawn *spawn,
	struct sandbox_limits *rlimits, int fds[INIT_GROUPS_MAX], size_t *ret_len, struct fail *f)
{
	struct run_group *g;
	int err;

	remove_ended(s);
	*rlimits = spawn->limits;
	if (spawn->limits.disk_bytes)
		return fail_set(f, -EOPNOTSUPP,
			"the disk is limited for a sandbox as a whole only: mount -o disk=SIZE");
	if (!rlimits->memory_bytes && !rlimits->pids && !(rlimits->cpus > 0))
		return 0;
	err = make_group(s, spawn->id, &spawn->limits, &g, f);
	/* rlimits know of memory and processes, too. */
	if (err == -EOPNOTSUPP && !(rlimits->cpus > 0)) {
		fail_set(f, 0, "%s", "");
		return 0;
	}
	if (err < 0)
		return err;
	rlimits->memory_bytes = rlimits->pids = 0;
	*ret_len = cgroup_run_fds(g->group, fds);
	return 0;
}

static struct run_group *find_group(const struct sandbox *s, uint32_t id)
{
	struct list *item;

	list_for_each(item, &s->run_groups)
	{
		struct run_group *g = list_entry(item, struct run_group, link);

		if (g->id == id && !g->ended)
			return g;
	}
	return NULL;
}

void sandbox_limit_end(struct sandbox *s, uint32_t id)
{
	struct run_group *g = find_group(s, id);

	if (g)
		g->ended = true;
	remove_ended(s);
}

void sandbox_limit_clear(struct sandbox *s)
{
	remove_ended(s);
	while (!list_empty(&s->run_groups))
		free_group(list_entry(s->run_groups.next, struct run_group, link));
}

void sandbox_hits(struct sandbox *s, uint32_t id, struct sandbox_hits *ret)
{
	const struct run_group *g = find_group(s, id);
	struct cgroup_hits hits;

	read_hits(s, &hits);
	if (g) {
		uint64_t oom_kills = g->before.oom_kills;

		if (cgroup_run_add_oom_kills(g->group, &oom_kills))
			hits.oom_kills = oom_kills;
		/* Without a limit of its own it is the sandbox's that it meets. */
		if (g->limits_pids)
			hits.pids = g->before.pids;
		cgroup_run_add_pids(g->group, &hits.pids);
	}
	*ret = (struct sandbox_hits){.memory = hits.oom_kills, .pids = hits.pids};
}

void sandbox_spawn_usage(const struct sandbox *s, uint32_t id, struct sandbox_usage *ret)
{
	const struct run_group *g = find_group(s, id);

	*ret = (struct sandbox_usage){UINT64_MAX, UINT64_MAX, UINT64_MAX, UINT64_MAX};
	if (g)
		cgroup_run_usage(g->group, ret);
}
