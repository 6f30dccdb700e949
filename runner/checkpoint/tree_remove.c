// Removes a directory with all that is in it, through descriptors.
//
// One descriptor at a time: what is deep is first moved up, so that neither the depth nor the
// length of a path matters.
#include "runner/checkpoint/tree_remove.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "common/names.h"
#include "common/scope.h"

#define DEPTH_MAX 64 /* from here on, directories are moved up before they are emptied */

struct removal {
	int top_fd; /* where deep directories are moved to */
	unsigned moved; /* for their names */
	unsigned level;
};

static int remove_in(struct removal *r, int dir_fd, const char *name);

static int move_up(struct removal *r, int dir_fd, const char *name)
{
	char deep[40];

	for (int i = 0; i < 1000; i++) {
		snprintf(deep, sizeof(deep), ".deep-%u", r->moved++);
		if (renameat2(dir_fd, name, r->top_fd, deep, RENAME_NOREPLACE) == 0)
			return 0;
		if (errno != EEXIST)
			return -errno;
	}
	return -EEXIST;
}

static int empty(struct removal *r, int fd)
{
	DIR *dir auto_dir = names_take(fd);
	struct dirent *entry;
	int first = 0, one;

	if (!dir)
		return -errno;
	while ((entry = names_next(dir))) {
		one = remove_in(r, fd, entry->d_name);
		if (first == 0)
			first = one;
	}
	return first;
}

static int remove_dir(struct removal *r, int dir_fd, const char *name)
{
	struct statx sx;
	int err = 0;
	int fd = openat(dir_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	if (fd < 0)
		return errno == ENOENT ? 0 : -errno;
	if (statx(fd, "", AT_EMPTY_PATH, STATX_TYPE, &sx) < 0)
		err = -errno;
	else if (sx.stx_attributes & STATX_ATTR_MOUNT_ROOT)
		err = -EBUSY;
	if (err == 0 && r->level == DEPTH_MAX) {
		close(fd);
		return move_up(r, dir_fd, name);
	}
	r->level++;
	if (err == 0)
		err = empty(r, fd);
	else
		close(fd);
	r->level--;
	if (err == 0 && unlinkat(dir_fd, name, AT_REMOVEDIR) < 0 && errno != ENOENT)
		err = -errno;
	return err;
}

static int remove_in(struct removal *r, int dir_fd, const char *name)
{
	if (unlinkat(dir_fd, name, 0) == 0 || errno == ENOENT)
		return 0;
	if (errno != EISDIR && errno != EPERM)
		return -errno;
	return remove_dir(r, dir_fd, name);
}

/* Those that were moved up while the top was being listed. */
static int remove_moved(struct removal *r)
{
	char deep[40];
	int first = 0, one;

	for (unsigned i = 0; i < r->moved; i++) {
		snprintf(deep, sizeof(deep), ".deep-%u", i);
		one = remove_in(r, r->top_fd, deep);
		if (first == 0)
			first = one;
	}
	return first;
}

int tree_remove(int dir_fd, const char *name)
{
	auto_close int fd = openat(dir_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	struct removal r = {.top_fd = fd};
	struct statx sx;
	int err;

	if (fd < 0 && errno == ENOENT)
		return 0;
	if (fd < 0)
		return unlinkat(dir_fd, name, 0) < 0 ? -errno : 0;
	if (statx(fd, "", AT_EMPTY_PATH, STATX_TYPE, &sx) < 0)
		return -errno;
	if (sx.stx_attributes & STATX_ATTR_MOUNT_ROOT)
		return -EBUSY;
	err = empty(&r, openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
	if (err == 0)
		err = remove_moved(&r);
	if (err < 0)
		return err;
	return unlinkat(dir_fd, name, AT_REMOVEDIR) < 0 && errno != ENOENT ? -errno : 0;
}
