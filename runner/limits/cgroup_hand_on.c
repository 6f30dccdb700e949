// Handing controllers on to the groups below, which version 2 allows only where no processes are.
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "common/buf.h"
#include "common/scope.h"
#include "runner/limits/cgroup_impl.h"

#define PLACE "daemon" /* where the processes go */
#define MOVE_TRIES 10

static bool has_processes(int fd)
{
	auto_buf struct buf text = {0};

	return cgroup_read_text(fd, "cgroup.procs", &text) < 0 || text.len;
}

/* "+memory +pids +cpu ", of those that the group has. */
static int available(int fd, struct buf *to)
{
	auto_buf struct buf has = {0};
	int err = cgroup_read_text(fd, "cgroup.controllers", &has);

	for (int part = 0; part < PART_CPUACCT && err == 0; part++)
		if (cgroup_has_word(buf_text(&has), cgroup_part_names[part]))
			buf_printf(to, "+%s ", cgroup_part_names[part]);
	if (err < 0 || to->error)
		return err < 0 ? err : to->error;
	return to->len ? 0 : -ENOENT;
}

/* All at once, so that it is all or none: without the memory the kernel would take the others where
 * processes are, and then let none into the groups below. */
int cgroup_hand_on(int fd)
{
	auto_buf struct buf text = {0};
	int err = available(fd, &text);

	if (err < 0)
		return err;
	if (!strstr(buf_text(&text), "+memory") && has_processes(fd))
		return -EBUSY;
	return cgroup_write(fd, "cgroup.subtree_control", buf_text(&text));
}

bool cgroup_takes_processes(int fd)
{
	auto_buf struct buf type = {0};

	return cgroup_read_text(fd, "cgroup.type", &type) < 0 ||
	       strncmp(buf_text(&type), "domain invalid", strlen("domain invalid")) != 0;
}

int cgroup_open_above(int fd)
{
	return faccessat(fd, "../cgroup.procs", F_OK, 0) == 0
		       ? openat(fd, "..", O_RDONLY | O_DIRECTORY | O_CLOEXEC)
		       : -1;
}

/* From the top down, where this may be done: systemd hands on only what its units ask for. */
static void hand_on_from_above(int fd, int depth)
{
	auto_close int up = depth < CGROUP_DEPTH_MAX ? cgroup_open_above(fd) : -1;

	if (up < 0)
		return;
	hand_on_from_above(up, depth + 1);
	cgroup_hand_on(up);
}

/* What an ordinary user owns was given to the user; among root's, systemd marks those of units with
 * Delegate=: its docs/CGROUP_DELEGATION.md. */
static bool is_delegated(int fd)
{
	char path[32], value[8];
	struct stat st;

	if (fstat(fd, &st) < 0 || st.st_uid != geteuid())
		return false;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	return st.st_uid != 0 ||
	       (getxattr(path, "trusted.delegate", value, sizeof(value)) == 1 && value[0] == '1');
}

static bool is_this_program(const char *pid)
{
	struct stat self, other;
	char path[64];

	snprintf(path, sizeof(path), "/proc/%.20s/exe", pid);
	return stat("/proc/self/exe", &self) == 0 && stat(path, &other) == 0 &&
	       self.st_dev == other.st_dev && self.st_ino == other.st_ino;
}

/* Calls act with each process of the group. 1: there was one, 0: none, or the first error. */
static int each_process(int fd, int (*act)(int place_fd, const char *pid), int place_fd)
{
	auto_buf struct buf text = {0};
	char *rest, *pid;
	int r = cgroup_read_text(fd, "cgroup.procs", &text);
	int found = 0;

	rest = text.data;
	while (r == 0 && (pid = strsep(&rest, "\n"))) {
		if (!*pid)
			continue;
		found = 1;
		r = act(place_fd, pid);
	}
	return r < 0 ? r : found;
}

static int check(int place_fd, const char *pid)
{
	(void)place_fd;
	return is_this_program(pid) ? 0 : -EPERM;
}

/* One that has just ended needs no other place. */
static int move(int place_fd, const char *pid)
{
	int r = cgroup_write(place_fd, "cgroup.procs", pid);

	return r == -ESRCH ? 0 : r;
}

/* Then the sandbox's group lies in the unit's, and what limits the unit limits the sandbox, too. */
static int leave_delegated(int fd)
{
	auto_close int place_fd = -1;
	int r = is_delegated(fd) ? each_process(fd, check, -1) : -EPERM;

	if (r <= 0)
		return r;
	if (mkdirat(fd, PLACE, 0755) < 0 && errno != EEXIST)
		return -errno;
	place_fd = openat(fd, PLACE, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (place_fd < 0)
		return -errno;
	/* Until there is none: one may just be making another. */
	r = 1;
	for (int i = 0; i < MOVE_TRIES && r > 0; i++)
		r = each_process(fd, move, place_fd);
	return r > 0 ? -EBUSY : r;
}

void cgroup_hand_on_own(int fd)
{
	hand_on_from_above(fd, 0);
	if (cgroup_hand_on(fd) == -EBUSY && leave_delegated(fd) == 0)
		cgroup_hand_on(fd);
}
