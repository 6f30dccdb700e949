// What the files of the control groups share. For runner/cgroup*.c only.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "runner/cgroup.h"

/* What a group can do. With version 1 each may be a hierarchy of its own; with version 2 one
 * directory does all. */
enum part { PART_MEMORY, PART_PIDS, PART_CPU, PART_CPUACCT, PARTS };

#define CPU_PERIOD_USEC 100000

struct group {
	int parent_fd; /* owned; -1: not there */
	int fd; /* owned; the directory of the sandbox, or of a run */
};

/* The files that count what was refused, kept open: they are read for every run. */
struct cgroup_events {
	int memory_fd; /* owned; -1: not there, or not opened yet */
	int pids_fd; /* owned */
	int whole_pids_fd; /* owned; version 2: of the sandbox's group, beside its leaf's */
};

struct cgroup {
	char name[80];
	bool v2;
	struct group parts[PARTS]; /* version 2 uses the first only */
	bool has[PARTS];
	int leaf_fd; /* owned; version 2: the group of processes that have no other; -1: none */
	struct cgroup_events events;
};

void cgroup_close_group(struct group *g);

/* Each by the name of a file in a group's directory; 0 or -errno, or whether it could be read. */
int cgroup_write(int dir_fd, const char *name, const char *text);
int cgroup_write_number(int dir_fd, const char *name, uint64_t value);
bool cgroup_read_number(int dir_fd, const char *name, uint64_t *ret);
/* Of "key value" lines; in a text, or a file. */
bool cgroup_find_key(const char *text, const char *key, uint64_t *ret);
bool cgroup_read_key(int dir_fd, const char *name, const char *key, uint64_t *ret);

/* Of the sandbox's own groups. */
void cgroup_events_open(struct cgroup *c);
void cgroup_events_close(struct cgroup_events *e);

int cgroup_set_limits(const struct group *parts, bool v2, const bool *has,
	const struct sandbox_limits *l, struct fail *f);
