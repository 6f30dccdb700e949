// What control groups count of limits that were met.
#include <fcntl.h>
#include <unistd.h>

#include "common/scope.h"
#include "runner/limits/cgroup_impl.h"

#define COUNTERS_MAX 512 /* bytes of such a file: a few short lines */

static int open_file(int dir_fd, const char *name)
{
	return dir_fd < 0 ? -1 : openat(dir_fd, name, O_RDONLY | O_CLOEXEC);
}

static void open_v1(struct cgroup *c)
{
	c->events.memory_fd = open_file(c->parts[PART_MEMORY].fd, "memory.oom_control");
	c->events.pids_fd = open_file(c->parts[PART_PIDS].fd, "pids.events");
}

/* Version 2 also counts for a group what happened in those below it, which here are of runs with
 * limits of their own: what is asked for is what happened in the leaf. A refused process, though,
 * counts in the group of who asked for it before Linux 6.11 only, and from then on where the limit
 * was. */
static void open_v2(struct cgroup *c)
{
	int fd = c->parts[0].fd;

	c->events.memory_fd = open_file(c->leaf_fd >= 0 ? c->leaf_fd : fd, "memory.events");
	c->events.pids_fd = open_file(c->leaf_fd >= 0 ? c->leaf_fd : fd, "pids.events");
	if (c->leaf_fd >= 0)
		c->events.whole_pids_fd = open_file(fd, "pids.events.local");
}

void cgroup_events_open(struct cgroup *c)
{
	if (c->v2)
		open_v2(c);
	else
		open_v1(c);
}

void cgroup_events_close(struct cgroup_events *e)
{
	close_fd(&e->memory_fd);
	close_fd(&e->pids_fd);
	close_fd(&e->whole_pids_fd);
}

static uint64_t read_count(int fd, const char *key)
{
	char text[COUNTERS_MAX];
	uint64_t count = 0;
	ssize_t len = fd < 0 ? -1 : pread(fd, text, sizeof(text) - 1, 0);

	if (len <= 0)
		return 0;
	text[len] = '\0';
	return cgroup_find_key(text, key, &count) ? count : 0;
}

void cgroup_hits(const struct cgroup *c, struct cgroup_hits *ret)
{
	*ret = (struct cgroup_hits){
		.oom_kills = read_count(c->events.memory_fd, "oom_kill"),
		.pids = read_count(c->events.pids_fd, "max") +
			read_count(c->events.whole_pids_fd, "max"),
	};
}
