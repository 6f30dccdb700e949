// What the files of the control groups share. For runner/cgroup*.c only.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "runner/limits/cgroup.h"

/* What a group can do. With version 1 each may be a hierarchy of its own; with version 2 one
 * directory does all. */
enum part { PART_MEMORY, PART_PIDS, PART_CPU, PART_CPUACCT, PARTS };

extern const char *const cgroup_part_names[PARTS];

#define CPU_PERIOD_USEC 100000
#define CGROUP_DEPTH_MAX 32

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

struct buf;

/* Each by the name of a file in a group's directory; 0 or -errno, or whether it could be read. */
int cgroup_read_text(int dir_fd, const char *name, struct buf *to);
int cgroup_write(int dir_fd, const char *name, const char *text);
int cgroup_write_number(int dir_fd, const char *name, uint64_t value);
bool cgroup_read_number(int dir_fd, const char *name, uint64_t *ret);
/* Of "key value" lines; in a text, or a file. */
bool cgroup_find_key(const char *text, const char *key, uint64_t *ret);
bool cgroup_read_key(int dir_fd, const char *name, const char *key, uint64_t *ret);

/* Of the sandbox's own groups. */
void cgroup_events_open(struct cgroup *c);
void cgroup_events_close(struct cgroup_events *e);

/* Whether word stands in a list that is separated by commas or spaces and ends at a colon or a
 * newline. */
bool cgroup_has_word(const char *list, const char *word);

/* Hands on to the groups in this one what it has of the controllers. -EBUSY: processes are in it. */
int cgroup_hand_on(int fd);
/* The same for the daemon's own group and all above it. If the own one is delegated (systemd's
 * Delegate=) and only this program's processes are in it, they are moved to a group within it. */
void cgroup_hand_on_own(int fd);
/* Whether processes may enter it: not below a group that is threaded, and has its own in it. */
bool cgroup_takes_processes(int fd);
/* The group above, or -1 at the top. */
int cgroup_open_above(int fd);

int cgroup_set_limits(const struct group *parts, bool v2, const bool *has,
	const struct sandbox_limits *l, struct fail *f);
