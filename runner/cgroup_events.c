// What control groups count of limits that were met.
#include <fcntl.h>
#include <unistd.h>

#include "common/scope.h"
#include "runner/cgroup_impl.h"

#define COUNTERS_MAX 512 /* bytes of such a file: a few short lines */

static int open_file(int dir_fd, const char *name)
{
	return dir_fd < 0 ? -1 : openat(dir_fd, name, O_RDONLY | O_CLOEXEC);
}

static void open_events(struct cgroup_events *e, bool v2, int memory_dir_fd, int pids_dir_fd)
{
	e->memory_fd = open_file(memory_dir_fd, v2 ? "memory.events" : "memory.oom_control");
	e->pids_fd = open_file(pids_dir_fd, "pids.events");
}

void cgroup_events_open(struct cgroup *c)
{
	const struct group *p = c->parts;

	open_events(&c->events, c->v2, p[c->v2 ? 0 : PART_MEMORY].fd, p[c->v2 ? 0 : PART_PIDS].fd);
	/* Before Linux 6.11 a refused process counts in the group of who asked for it, and from then
	 * on in the group whose limit it was. */
	if (c->v2)
		c->leaf_events.pids_fd = open_file(c->leaf_fd, "pids.events");
}

void cgroup_events_close(struct cgroup_events *e)
{
	close_fd(&e->memory_fd);
	close_fd(&e->pids_fd);
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
			read_count(c->leaf_events.pids_fd, "max"),
	};
}
