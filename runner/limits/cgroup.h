// The control groups of a sandbox: limits for all of it, and what it uses. Version 1 and 2; where
// neither may be written there is none, and the caller falls back to rlimits.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "common/fail.h"
#include "runner/sandbox.h"

struct cgroup;

/* Makes the groups, below the daemon's own where that works, named sandpit-NAME; those that a
 * crashed daemon left are used anew. *ret is never NULL on success, but may be empty (cgroup_mode()
 * says). -errno with words when a limit that was asked for cannot be set in a group that is there.
 * Sources: the kernel's admin-guide/cgroup-v1 and cgroup-v2.rst. */
int cgroup_new(
	const char *name, const struct sandbox_limits *limits, struct cgroup **ret, struct fail *f);

/* Moves the calling process, which has one thread, into the groups. 0 or -errno. */
int cgroup_join(const struct cgroup *c);

/* Fills what the groups know; false where they do not know all of it. */
bool cgroup_usage(const struct cgroup *c, struct sandbox_usage *ret);

/* "cgroup v2", "cgroup v1" or "rlimits". */
const char *cgroup_mode(const struct cgroup *c);
bool cgroup_limits_memory(const struct cgroup *c);
bool cgroup_limits_pids(const struct cgroup *c);
bool cgroup_limits_cpus(const struct cgroup *c);

/* Whether there are groups into which an ordinary user, also one who may write there, may move processes of the
 * same id only: those of version 1. */
bool cgroup_takes_own_ids_only(const struct cgroup *c);

/* What was refused or killed for a limit, since the group was made. */
struct cgroup_hits {
	uint64_t oom_kills;
	uint64_t pids; /* processes that could not be made */
};

void cgroup_hits(const struct cgroup *c, struct cgroup_hits *ret);

/* A group of one process tree within the sandbox's. */
struct cgroup_run;

#define CGROUP_RUN_FDS 3

/* Makes one named by id, for those of memory, pids and cpus that l asks for. -EOPNOTSUPP: there is
 * no group that could limit one of them; -errno with words. */
int cgroup_run_new(const struct cgroup *c, uint32_t id, const struct sandbox_limits *l,
	struct cgroup_run **ret, struct fail *f);

/* The files through which a process that writes "0" joins; owned by the run. Returns how many. */
size_t cgroup_run_fds(const struct cgroup_run *run, int fds[CGROUP_RUN_FDS]);
/* Add what the run's own group has counted; false where it does not count that. */
bool cgroup_run_add_oom_kills(const struct cgroup_run *run, uint64_t *count);
bool cgroup_run_add_pids(const struct cgroup_run *run, uint64_t *count);

/* What its processes use; UINT64_MAX where the group does not know. */
void cgroup_run_usage(const struct cgroup_run *run, struct sandbox_usage *ret);

/* Removes the group. -EBUSY: its processes have not quite gone; try again. */
int cgroup_run_remove(struct cgroup_run *run);
/* Forgets it. NULL is allowed. */
void cgroup_run_free(struct cgroup_run *run);

/* Removes the groups, which are empty by now. NULL is allowed. */
void cgroup_free(struct cgroup *c);
