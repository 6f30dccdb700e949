// Mount points: what is at a path, whether a sandbox may be mounted there, and taking mounts away.
#include "cmd/mount_point.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/capability.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/mount_table.h"
#include "common/names.h"
#include "common/program.h"
#include "common/scope.h"

/* Dead mounts may lie on each other; more than this is not an accident any more. */
#define CLEAN_MAX 16

extern char **environ;

static int read_path(int fd, char **ret)
{
	char link[64], text[PATH_MAX + 1];
	ssize_t len;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	len = readlink(link, text, sizeof(text) - 1);
	if (len < 0)
		return -errno;
	text[len] = '\0';
	if (text[0] != '/' || len == (ssize_t)sizeof(text) - 1)
		return -ENAMETOOLONG;
	*ret = strdup(text);
	return *ret ? 0 : -ENOMEM;
}

static int read_mount_id(int fd, int *ret)
{
	char path[64], line[256];
	FILE *file;
	int r = -ENOENT;

	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", fd);
	file = fopen(path, "re");
	if (!file)
		return -errno;
	while (fgets(line, sizeof(line), file)) {
		if (sscanf(line, "mnt_id: %d", ret) == 1)
			r = 0;
	}
	fclose(file);
	return r;
}

/* The type of the mount whose topmost directory this is. */
static int read_type(struct mount_point *point)
{
	auto_mount_table struct mount_table table = {0};
	struct mount_entry entry;
	int id, r = read_mount_id(point->fd, &id);

	if (r == 0)
		r = mount_table_open(&table);
	if (r < 0)
		return r;
	while ((r = mount_table_next(&table, &entry)) > 0) {
		if (entry.id != id || strcmp(entry.dir, point->path) != 0)
			continue;
		point->type = strdup(entry.type);
		point->user = entry.user;
		return point->type ? 0 : -ENOMEM;
	}
	return r;
}

/* O_PATH does not ask the file system: it also works where the daemon is dead or hangs. */
int mount_point_open(const char *path, struct mount_point *ret, struct fail *f)
{
	struct mount_point point = {.fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC), .user = -1};
	int r = point.fd < 0 ? -errno : 0;

	if (r == 0)
		r = read_path(point.fd, &point.path);
	if (r == 0)
		r = read_type(&point);
	if (r < 0) {
		mount_point_close(&point);
		return fail_errno(f, r, "%s", path);
	}
	*ret = point;
	return 0;
}

void mount_point_close(struct mount_point *point)
{
	if (point->fd >= 0)
		close(point->fd);
	free(point->path);
	free(point->type);
	*point = (struct mount_point){.fd = -1};
}

bool mount_point_is_sandbox(const struct mount_point *point)
{
	return point->type && strcmp(point->type, MOUNT_TABLE_TYPE) == 0;
}

bool mount_point_is_dead(const struct mount_point *point)
{
	struct stat st;

	return fstatat(point->fd, "", &st, AT_EMPTY_PATH) < 0 &&
	       (errno == ENOTCONN || errno == ECONNABORTED);
}

/* The set-user-id helper, for those who may not unmount by themselves. */
static int run_fusermount(const char *path, bool lazily, struct fail *f)
{
	char *argv[] = {(char *)"fusermount3", (char *)"-u", (char *)(lazily ? "-z" : "--"),
		(char *)(lazily ? "--" : path), (char *)(lazily ? path : NULL), NULL};
	char program[PATH_MAX];
	int status, r;
	pid_t pid;

	if (!program_find("fusermount3", program, sizeof(program)))
		return fail_set(f, -ENOENT, "fusermount3 is missing: install the package fuse3");
	r = posix_spawn(&pid, program, NULL, NULL, argv, environ);
	if (r != 0)
		return fail_errno(f, -r, "starting %s", program);
	while (waitpid(pid, &status, 0) < 0) {
		if (errno != EINTR)
			return -errno;
	}
	if (status != 0)
		return fail_set(f, -EBUSY, "%s: fusermount3 could not unmount it", path);
	return 0;
}

int mount_point_detach(const char *path, bool lazily, struct fail *f)
{
	int err;

	if (umount2(path, UMOUNT_NOFOLLOW | (lazily ? MNT_DETACH : 0)) == 0)
		return 0;
	err = -errno;
	if (err == -EPERM)
		return run_fusermount(path, lazily, f);
	if (err == -EBUSY)
		return fail_set(f, err,
			"%s: in use: a process has a file or its current directory there", path);
	return fail_errno(f, err, "%s", path);
}

int mount_point_clean(const char *path, struct fail *f)
{
	for (int i = 0; i < CLEAN_MAX; i++) {
		auto_mount_point struct mount_point point = {.fd = -1};
		int r = mount_point_open(path, &point, f);

		if (r < 0)
			return r;
		if (!mount_point_is_sandbox(&point) || !mount_point_is_dead(&point))
			return 0;
		r = mount_point_detach(point.path, true, f);
		if (r < 0)
			return r;
	}
	return fail_set(
		f, -EBUSY, "%s: more than %d dead mounts lie on each other", path, CLEAN_MAX);
}

static int check_empty(const struct mount_point *point, const char *path, struct fail *f)
{
	DIR *dir auto_dir = names_open(point->fd, ".");

	if (!dir)
		return fail_errno(f, -errno, "%s", path);
	if (names_next(dir))
		return fail_set(f, -ENOTEMPTY,
			"%s: not empty; -o nonempty mounts over what is there", path);
	return 0;
}

static bool is_removed(const struct mount_point *point)
{
	struct stat st;

	return fstatat(point->fd, "", &st, AT_EMPTY_PATH) == 0 && st.st_nlink == 0;
}

static int check(const struct mount_point *point, const char *path, bool nonempty, struct fail *f)
{
	if (mount_point_is_dead(point))
		return fail_set(f, -EBUSY,
			"%s: a dead mount of another program (%s) is there; unmount it first", path,
			point->type ? point->type : "unknown type");
	if (mount_point_is_sandbox(point))
		return fail_set(f, -EBUSY, "%s: a sandbox is mounted there already", path);
	if (strcmp(point->path, "/") == 0)
		return fail_set(f, -EINVAL, "/: nothing can be mounted over the root directory");
	if (is_removed(point))
		return fail_set(f, -ENOENT, "%s: the directory has been removed", path);
	/* Nothing is written there by root, who mounts it alone: a read-only file system will do. */
	if (faccessat(point->fd, ".", W_OK | X_OK, AT_EACCESS) < 0 &&
		!(errno == EROFS && program_may(CAP_SYS_ADMIN)))
		return fail_set(f, -errno,
			"%s: %s; fusermount3 mounts only where its caller may write", path,
			strerror(errno));
	return nonempty ? 0 : check_empty(point, path, f);
}

int mount_point_prepare(const char *path, bool nonempty, char **ret, struct fail *f)
{
	auto_mount_point struct mount_point point = {.fd = -1};
	int r = mount_point_clean(path, f);

	if (r == 0)
		r = mount_point_open(path, &point, f);
	if (r == 0)
		r = check(&point, path, nonempty, f);
	if (r < 0)
		return r;
	*ret = take_ptr(point.path);
	return 0;
}

bool mount_point_is_below(const char *path, const char *dir)
{
	size_t len = strlen(dir);

	if (strcmp(dir, "/") == 0)
		return true;
	return strncmp(path, dir, len) == 0 && (path[len] == '\0' || path[len] == '/');
}
