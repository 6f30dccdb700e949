// Copying and removing trees by descriptor, for the sandbox's first start.
#include "runner/sandbox_copy.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/names.h"
#include "common/scope.h"

#define DEPTH_MAX 32
#define FILE_MAX (16 * 1024 * 1024)
#define TEXT_MAX (1024 * 1024)

/* Opens a regular file whose size is known to be sane. */
static int open_regular(int dir_fd, const char *name, off_t max, struct stat *ret)
{
	auto_close int fd =
		openat(dir_fd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);

	if (fd < 0 || fstat(fd, ret) < 0)
		return -errno;
	if (!S_ISREG(ret->st_mode))
		return -EINVAL;
	return ret->st_size > max ? -EFBIG : take_fd(&fd);
}

static int copy_bytes(int from, int to)
{
	char data[32 * 1024];
	ssize_t n;

	while ((n = read(from, data, sizeof(data))) > 0) {
		if (write(to, data, (size_t)n) != n)
			return errno ? -errno : -ENOSPC;
	}
	return n < 0 ? -errno : 0;
}

static int copy_file(int from_fd, int to_fd, const char *name)
{
	struct stat st;
	auto_close int from = open_regular(from_fd, name, FILE_MAX, &st);

	if (from < 0 || !(st.st_mode & S_IROTH))
		return 0;
	mode_t mode = st.st_mode & 0777;
	auto_close int to = openat(to_fd, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
	if (to < 0)
		return -errno;
	const struct timespec times[2] = {st.st_atim, st.st_mtim};
	int err = copy_bytes(from, to);
	if (err == 0 && futimens(to, times) < 0)
		err = -errno;
	return err;
}

static int copy_link(int from_fd, int to_fd, const char *name)
{
	char target[PATH_MAX];
	ssize_t len = readlinkat(from_fd, name, target, sizeof(target) - 1);

	if (len < 0)
		return 0;
	target[len] = '\0';
	return symlinkat(target, to_fd, name) < 0 ? -errno : 0;
}

struct copy {
	char path[PATH_MAX]; /* of the entry at hand, relative */
	bool (*wanted)(const void *arg, const char *path);
	const void *arg;
};

static int copy_dir(struct copy *c, int from_fd, int to_fd, int depth);

static int copy_subdir(struct copy *c, int from_fd, int to_fd, const char *name, int depth)
{
	struct stat st;
	auto_close int from =
		openat(from_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	if (from < 0 || fstat(from, &st) < 0 || (st.st_mode & 05) != 05 || depth >= DEPTH_MAX)
		return 0;
	if (mkdirat(to_fd, name, st.st_mode & 0777) < 0)
		return -errno;
	auto_close int to = openat(to_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	return to < 0 ? -errno : copy_dir(c, from, to, depth + 1);
}

static int copy_entry(struct copy *c, int from_fd, int to_fd, const struct dirent *d, int depth)
{
	struct stat st;

	if (fstatat(from_fd, d->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return 0;
	if (S_ISDIR(st.st_mode))
		return copy_subdir(c, from_fd, to_fd, d->d_name, depth);
	if (S_ISLNK(st.st_mode))
		return copy_link(from_fd, to_fd, d->d_name);
	return S_ISREG(st.st_mode) ? copy_file(from_fd, to_fd, d->d_name) : 0;
}

static int copy_dir(struct copy *c, int from_fd, int to_fd, int depth)
{
	auto_dir DIR *dir = names_take(fcntl(from_fd, F_DUPFD_CLOEXEC, 3));
	size_t len = strlen(c->path);
	struct dirent *d;
	int err = 0;

	if (!dir)
		return -errno;
	while (err == 0 && (d = names_next(dir))) {
		int n = snprintf(
			c->path + len, sizeof(c->path) - len, "%s%s", len ? "/" : "", d->d_name);
		if ((size_t)n < sizeof(c->path) - len && c->wanted(c->arg, c->path))
			err = copy_entry(c, from_fd, to_fd, d, depth);
		c->path[len] = '\0';
	}
	return err;
}

int sandbox_copy_tree(
	int from_fd, int to_fd, bool (*wanted)(const void *arg, const char *path), const void *arg)
{
	struct copy c = {.wanted = wanted, .arg = arg};

	return copy_dir(&c, from_fd, to_fd, 0);
}

static int remove_at(int dir_fd, const char *name, int depth)
{
	if (unlinkat(dir_fd, name, 0) == 0 || errno == ENOENT)
		return 0;
	if ((errno != EISDIR && errno != EPERM) || depth >= DEPTH_MAX + 2)
		return -errno;
	auto_dir DIR *dir =
		names_take(openat(dir_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
	struct dirent *d;
	int err = 0;
	if (!dir)
		return -errno;
	while (err == 0 && (d = names_next(dir)))
		err = remove_at(dirfd(dir), d->d_name, depth + 1);
	if (err == 0 && unlinkat(dir_fd, name, AT_REMOVEDIR) < 0)
		err = -errno;
	return err;
}

int sandbox_copy_remove(int dir_fd, const char *name)
{
	return remove_at(dir_fd, name, 0);
}

int sandbox_copy_read(int dir_fd, const char *path, struct buf *to)
{
	struct stat st;
	/* A link of the host's, as /etc/resolv.conf often is, is followed; one in a tree is not. */
	int flags = O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC |
		    (dir_fd == AT_FDCWD ? 0 : O_NOFOLLOW);
	auto_close int fd = openat(dir_fd, path, flags);
	int r;

	if (fd < 0 || fstat(fd, &st) < 0)
		return -errno;
	if (!S_ISREG(st.st_mode))
		return -EINVAL;
	r = buf_read(to, fd, TEXT_MAX);
	return r == 0 && to->len >= TEXT_MAX ? -EFBIG : r;
}
