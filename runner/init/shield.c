// What /proc shows of init may be read and not written. The kernel gives these files to the root of
// the namespace, who could make init the first to go when memory is short, or the last to get the
// processor.
#include "runner/init/init.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/scope.h"
#include "common/unsafe.h"

/* Covers a directory of /proc with itself. */
static int cover(int proc_fd, const char *name)
{
	struct mount_attr attr = {.attr_set = MOUNT_ATTR_RDONLY};
	auto_close int fd = open_tree(proc_fd, name, OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC);

	if (fd < 0 || mount_setattr(fd, "", AT_EMPTY_PATH, &attr, sizeof(attr)) < 0 ||
		move_mount(fd, "", proc_fd, name, MOVE_MOUNT_F_EMPTY_PATH) < 0)
		return -errno;
	return 0;
}

/* A thread has no entry in a listing of /proc, and one by its number all the same. */
int shield_proc(const struct init *init)
{
	char name[16];
	int err = 0;

	if (unsafe_is("shield"))
		return 0;
	for (int id = 1; id <= INIT_LAST_THREAD && err == 0; id++) {
		snprintf(name, sizeof(name), "%d", id);
		err = cover(init->proc_fd, name);
	}
	return err;
}
