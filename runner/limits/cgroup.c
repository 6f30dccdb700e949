// The control groups of a sandbox: limits for all of it, and what it uses.
#include "runner/limits/cgroup.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "common/buf.h"
#include "common/names.h"
#include "common/scope.h"
#include "runner/limits/cgroup_impl.h"

const char *const cgroup_part_names[PARTS] = {"memory", "pids", "cpu", "cpuacct"};

#define TEXT_MAX (256 * 1024)
#define REMOVE_TRIES 50
#define PREFIX "sandpit-"
#define YOUNG_SEC 60
#define LEAF "all" /* version 2: where the processes are that have no group of their own */

void cgroup_close_group(struct group *g)
{
	close_fd(&g->fd);
	close_fd(&g->parent_fd);
}

int cgroup_read_text(int dir_fd, const char *name, struct buf *to)
{
	auto_close int fd = openat(dir_fd, name, O_RDONLY | O_CLOEXEC);

	return fd < 0 ? -errno : buf_read(to, fd, TEXT_MAX);
}

int cgroup_write(int dir_fd, const char *name, const char *text)
{
	auto_close int fd = openat(dir_fd, name, O_WRONLY | O_CLOEXEC);

	if (fd < 0 || write(fd, text, strlen(text)) < 0)
		return -errno;
	return 0;
}

int cgroup_write_number(int dir_fd, const char *name, uint64_t value)
{
	char text[24];

	snprintf(text, sizeof(text), "%" PRIu64, value);
	return cgroup_write(dir_fd, name, text);
}

bool cgroup_has_word(const char *list, const char *word)
{
	size_t len = strlen(word);

	while (*list && *list != '\n' && *list != ':') {
		size_t n = strcspn(list, ", :\n");
		if (n == len && strncmp(list, word, len) == 0)
			return true;
		list += n;
		if (*list == ',' || *list == ' ')
			list++;
	}
	return false;
}

/* One line of mountinfo, cut: where a cgroup file system is mounted, and with which root. */
struct mount {
	char root[PATH_MAX];
	char point[PATH_MAX];
	char type[32];
	char options[256]; /* of the file system */
};

static bool parse_mount(const char *line, struct mount *m)
{
	const char *rest = strstr(line, " - ");

	if (!rest || sscanf(line, "%*d %*d %*s %4095s %4095s", m->root, m->point) != 2)
		return false;
	return sscanf(rest, " - %31s %*s %255s", m->type, m->options) == 2;
}

/* The daemon's own group in the hierarchy of part (NULL: version 2), from /proc/self/cgroup. */
static bool find_own(const char *cgroups, const char *part, char *ret, size_t size)
{
	for (const char *line = cgroups; *line;) {
		const char *list = strchr(line, ':');
		const char *path = list ? strchr(list + 1, ':') : NULL;
		if (!path)
			return false;
		bool match = part ? cgroup_has_word(list + 1, part) : list + 1 == path;
		size_t len = strcspn(path + 1, "\n");
		if (match && len < size) {
			memcpy(ret, path + 1, len);
			ret[len] = '\0';
			return true;
		}
		line = path + 1 + len;
		line += *line == '\n';
	}
	return false;
}

/* The path of own below the mount; in a container the mount shows only a part of the hierarchy. */
static int open_own(const struct mount *m, const char *own)
{
	char path[2 * PATH_MAX];
	size_t root_len = strlen(m->root);

	if (root_len > 1 && strncmp(own, m->root, root_len) == 0)
		own += root_len;
	snprintf(path, sizeof(path), "%s/%s", m->point, own);
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return fd >= 0 ? fd : open(m->point, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

/* A group and those in it, one level deep: all that this program makes. */
static int remove_with_children(int parent_fd, const char *name)
{
	DIR *dir auto_dir = names_open(parent_fd, name);
	struct dirent *d;

	while (dir && (d = names_next(dir)))
		if (d->d_type == DT_DIR)
			unlinkat(dirfd(dir), d->d_name, AT_REMOVEDIR);
	return unlinkat(parent_fd, name, AT_REMOVEDIR) < 0 ? -errno : 0;
}

/* What crashed daemons left, whose sandboxes were not started again. A group that holds processes
 * cannot be removed; one so young may just be about to get them. */
static void sweep(int parent_fd)
{
	DIR *dir auto_dir = names_open(parent_fd, ".");
	time_t now = time(NULL);
	struct dirent *d;
	struct stat st;

	while (dir && (d = readdir(dir))) {
		if (strncmp(d->d_name, PREFIX, strlen(PREFIX)) == 0 &&
			fstatat(parent_fd, d->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
			st.st_ctime + YOUNG_SEC < now)
			remove_with_children(parent_fd, d->d_name);
	}
}

static int make_group(struct cgroup *c, struct group *g, int parent_fd)
{
	sweep(parent_fd);
	/* A left-over group may hold processes that are just dying; its limits are set anew. */
	remove_with_children(parent_fd, c->name);
	if (mkdirat(parent_fd, c->name, 0755) < 0 && errno != EEXIST)
		return -errno;
	g->fd = openat(parent_fd, c->name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return g->fd < 0 ? -errno : 0;
}

static void try_v1(struct cgroup *c, const struct mount *m, const char *cgroups)
{
	char own[PATH_MAX];

	for (int part = 0; part < PARTS; part++) {
		struct group *g = &c->parts[part];
		if (g->fd >= 0 || !cgroup_has_word(m->options, cgroup_part_names[part]) ||
			!find_own(cgroups, cgroup_part_names[part], own, sizeof(own)))
			continue;
		g->parent_fd = open_own(m, own);
		if (g->parent_fd < 0 || make_group(c, g, g->parent_fd) < 0)
			cgroup_close_group(g);
		else
			c->has[part] = true;
	}
}

/* Which controllers a version 2 group has. */
static int read_controllers(struct cgroup *c, int fd)
{
	auto_buf struct buf text = {0};
	int count = 0;
	int err = cgroup_read_text(fd, "cgroup.controllers", &text);

	for (int part = 0; part < PART_CPUACCT; part++) {
		c->has[part] =
			err == 0 && cgroup_has_word(buf_text(&text), cgroup_part_names[part]);
		count += c->has[part];
	}
	return count;
}

/* Processes may not live in a group that hands controllers on, so the place is the daemon's group
 * if it may be left; else the nearest ancestor that does hand them on, or, at the top, one that can
 * be made to. */
static void try_v2(struct cgroup *c, const struct mount *m, const char *cgroups)
{
	char own[PATH_MAX];
	struct group *g = &c->parts[0];

	if (!find_own(cgroups, NULL, own, sizeof(own)))
		return;
	int fd = open_own(m, own);
	for (int depth = 0; fd >= 0 && depth < CGROUP_DEPTH_MAX; depth++) {
		if (depth == 0)
			cgroup_hand_on_own(fd);
		/* Moving a process needs write access to the common ancestor's cgroup.procs, too. */
		if (faccessat(fd, "cgroup.procs", W_OK, AT_EACCESS) == 0 &&
			make_group(c, g, fd) == 0 && cgroup_takes_processes(g->fd) &&
			read_controllers(c, g->fd) > 0) {
			g->parent_fd = fd;
			c->v2 = true;
			return;
		}
		if (g->fd >= 0)
			unlinkat(fd, c->name, AT_REMOVEDIR);
		close_fd(&g->fd);
		int up = cgroup_open_above(fd);
		close(fd);
		fd = up;
	}
	close_fd(&fd);
}

static int find_groups(struct cgroup *c)
{
	auto_buf struct buf mounts = {0}, cgroups = {0};
	auto_free struct mount *m = malloc(sizeof(*m));
	char *rest, *line;

	if (!m || cgroup_read_text(AT_FDCWD, "/proc/self/mountinfo", &mounts) == -ENOMEM ||
		cgroup_read_text(AT_FDCWD, "/proc/self/cgroup", &cgroups) == -ENOMEM)
		return -ENOMEM;
	rest = mounts.data;
	while ((line = strsep(&rest, "\n"))) {
		if (!parse_mount(line, m))
			continue;
		if (strcmp(m->type, "cgroup") == 0)
			try_v1(c, m, buf_text(&cgroups));
		else if (strcmp(m->type, "cgroup2") == 0 && !c->has[PART_MEMORY] &&
			 !c->has[PART_PIDS])
			try_v2(c, m, buf_text(&cgroups));
	}
	return 0;
}

static int set_memory(const struct group *parts, bool v2, uint64_t bytes)
{
	int fd = parts[v2 ? 0 : PART_MEMORY].fd;

	if (v2) {
		cgroup_write(fd, "memory.swap.max", "0");
		cgroup_write(fd, "memory.oom.group", "0");
		return cgroup_write_number(fd, "memory.max", bytes);
	}
	int err = cgroup_write_number(fd, "memory.limit_in_bytes", bytes);
	if (err == 0)
		cgroup_write_number(fd, "memory.memsw.limit_in_bytes", bytes);
	return err;
}

static int set_cpus(const struct group *parts, bool v2, double cpus)
{
	uint64_t quota = (uint64_t)(cpus * CPU_PERIOD_USEC);
	char text[48];

	if (quota < 1000)
		quota = 1000;
	if (v2) {
		snprintf(text, sizeof(text), "%" PRIu64 " %d", quota, CPU_PERIOD_USEC);
		return cgroup_write(parts[0].fd, "cpu.max", text);
	}
	int err = cgroup_write_number(parts[PART_CPU].fd, "cpu.cfs_period_us", CPU_PERIOD_USEC);
	return err < 0 ? err : cgroup_write_number(parts[PART_CPU].fd, "cpu.cfs_quota_us", quota);
}

int cgroup_set_limits(const struct group *parts, bool v2, const bool *has,
	const struct sandbox_limits *l, struct fail *f)
{
	int err = 0;

	if (l->memory_bytes && has[PART_MEMORY])
		err = set_memory(parts, v2, l->memory_bytes);
	if (err < 0)
		return fail_errno(f, err, "setting the memory limit of the control group");
	if (l->pids && has[PART_PIDS])
		err = cgroup_write_number(parts[v2 ? 0 : PART_PIDS].fd, "pids.max", l->pids);
	if (err < 0)
		return fail_errno(f, err, "setting the pids limit of the control group");
	if (l->cpus > 0 && has[PART_CPU])
		err = set_cpus(parts, v2, l->cpus);
	return err < 0 ? fail_errno(f, err, "setting the cpu limit of the control group") : 0;
}

/* In version 2 only groups without children hold processes once controllers are handed on; without
 * such a leaf the sandbox is limited as a whole, and runs by rlimits. */
static void make_leaf(struct cgroup *c)
{
	int fd = c->parts[0].fd;

	if (mkdirat(fd, LEAF, 0755) < 0 && errno != EEXIST)
		return;
	if (cgroup_hand_on(fd) == 0)
		c->leaf_fd = openat(fd, LEAF, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (c->leaf_fd < 0)
		unlinkat(fd, LEAF, AT_REMOVEDIR);
}

int cgroup_new(
	const char *name, const struct sandbox_limits *limits, struct cgroup **ret, struct fail *f)
{
	struct cgroup *c = calloc(1, sizeof(*c));

	if (!c)
		return -ENOMEM;
	snprintf(c->name, sizeof(c->name), PREFIX "%s", name);
	c->leaf_fd = -1;
	c->events = (struct cgroup_events){-1, -1, -1};
	for (int part = 0; part < PARTS; part++)
		c->parts[part] = (struct group){-1, -1};
	int err = find_groups(c);
	if (err == 0 && c->v2)
		make_leaf(c);
	if (err == 0)
		err = cgroup_set_limits(c->parts, c->v2, c->has, limits, f);
	if (err < 0) {
		cgroup_free(c);
		return err;
	}
	cgroup_events_open(c);
	*ret = c;
	return 0;
}

int cgroup_join(const struct cgroup *c)
{
	for (int part = 0; part < PARTS; part++) {
		const struct group *g = &c->parts[part];
		if (g->fd < 0)
			continue;
		/* Writing one's own thread to "tasks" needs none of the locks that cgroup.procs
		 * takes, which cost 10 ms and more. */
		int err = cgroup_write(c->leaf_fd >= 0 ? c->leaf_fd : g->fd,
			c->v2 ? "cgroup.procs" : "tasks", "0");
		if (err < 0)
			return err;
	}
	return 0;
}

bool cgroup_read_number(int dir_fd, const char *name, uint64_t *ret)
{
	auto_buf struct buf text = {0};

	if (dir_fd < 0 || cgroup_read_text(dir_fd, name, &text) < 0)
		return false;
	return sscanf(buf_text(&text), "%" SCNu64, ret) == 1;
}

bool cgroup_find_key(const char *text, const char *key, uint64_t *ret)
{
	size_t key_len = strlen(key);

	for (const char *line = text; *line;) {
		if (strncmp(line, key, key_len) == 0 && line[key_len] == ' ')
			return sscanf(line + key_len, "%" SCNu64, ret) == 1;
		line += strcspn(line, "\n");
		line += *line == '\n';
	}
	return false;
}

bool cgroup_read_key(int dir_fd, const char *name, const char *key, uint64_t *ret)
{
	auto_buf struct buf text = {0};

	return dir_fd >= 0 && cgroup_read_text(dir_fd, name, &text) == 0 &&
	       cgroup_find_key(buf_text(&text), key, ret);
}

bool cgroup_usage(const struct cgroup *c, struct sandbox_usage *ret)
{
	const struct group *p = c->parts;

	if (c->v2)
		return cgroup_read_key(p->fd, "cpu.stat", "usage_usec", &ret->cpu_usec) &&
		       cgroup_read_number(p->fd, "memory.current", &ret->memory_bytes) &&
		       cgroup_read_number(p->fd, "pids.current", &ret->pids) &&
		       cgroup_read_key(p->fd, "memory.events", "oom_kill", &ret->oom_kills);
	bool all = cgroup_read_number(p[PART_CPUACCT].fd, "cpuacct.usage", &ret->cpu_usec);
	ret->cpu_usec /= 1000;
	all = cgroup_read_number(p[PART_MEMORY].fd, "memory.usage_in_bytes", &ret->memory_bytes) &&
	      all;
	all = cgroup_read_number(p[PART_PIDS].fd, "pids.current", &ret->pids) && all;
	return cgroup_read_key(
		       p[PART_MEMORY].fd, "memory.oom_control", "oom_kill", &ret->oom_kills) &&
	       all;
}

const char *cgroup_mode(const struct cgroup *c)
{
	if (c->v2)
		return "cgroup v2";
	return c->has[PART_MEMORY] || c->has[PART_PIDS] ? "cgroup v1" : "rlimits";
}

bool cgroup_limits_memory(const struct cgroup *c)
{
	return c->has[PART_MEMORY];
}

bool cgroup_limits_pids(const struct cgroup *c)
{
	return c->has[PART_PIDS];
}

bool cgroup_limits_cpus(const struct cgroup *c)
{
	return c->has[PART_CPU];
}

bool cgroup_takes_own_ids_only(const struct cgroup *c)
{
	return !c->v2 && (c->has[PART_MEMORY] || c->has[PART_PIDS] || c->has[PART_CPU]);
}

/* The kernel takes a moment to let go of processes that have just ended. */
static void remove_group(const struct cgroup *c, const struct group *g)
{
	for (int i = 0; i < REMOVE_TRIES; i++) {
		if (remove_with_children(g->parent_fd, c->name) != -EBUSY)
			return;
		usleep(2000);
	}
}

void cgroup_free(struct cgroup *c)
{
	if (!c)
		return;
	close_fd(&c->leaf_fd);
	cgroup_events_close(&c->events);
	for (int part = 0; part < PARTS; part++) {
		struct group *g = &c->parts[part];
		if (g->fd >= 0 && g->parent_fd >= 0)
			remove_group(c, g);
		cgroup_close_group(g);
	}
	free(c);
}
