// A store in a local directory.
#include "runner/checkpoint/store_dir.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/buf.h"
#include "common/fault.h"
#include "common/names.h"
#include "common/scope.h"
#include "common/xdg.h"
#include "runner/checkpoint/store_index.h"

#define ARCHIVE_END ".tar.zst"
#define GUARD_TRIES 200 /* of 10 ms: those who take an archive in hold it for a moment */

struct store_dir {
	struct store store;
	int fd, archives_fd, locks_fd, tmp_fd; /* owned */
	char *path; /* owned */
	struct store_index *index; /* owned */
};

static struct store_dir *dir_of(struct store *s)
{
	return container_of(s, struct store_dir, store);
}

static int failed(const struct store_dir *d, int err, struct fail *f, const char *what)
{
	if (err == -EACCES || err == -EROFS || err == -EPERM)
		return fail_set(f, err,
			"the store %s: %s: %s; set store=, or XDG_DATA_HOME, to a directory where you "
			"may write",
			d->path, what, strerror(-err));
	return fail_errno(f, err, "the store %s: %s", d->path, what);
}

int store_dir_default(char **ret)
{
	return xdg_path("XDG_DATA_HOME", ".local/share", "sandpit/store", ret);
}

/* Makes a directory with the missing ones above it. */
static int make_parents(const char *path)
{
	char *copy auto_free = strdup(path);

	if (!copy)
		return -ENOMEM;
	for (char *at = copy + 1; *at; at++) {
		if (*at != '/')
			continue;
		*at = '\0';
		if (mkdir(copy, 0700) < 0 && errno != EEXIST)
			return -errno;
		*at = '/';
	}
	return mkdir(copy, 0700) < 0 && errno != EEXIST ? -errno : 0;
}

static int open_part(struct store_dir *d, const char *name, int *ret)
{
	if (mkdirat(d->fd, name, 0700) < 0 && errno != EEXIST)
		return -errno;
	*ret = openat(d->fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	return *ret < 0 ? -errno : 0;
}

static int lock(struct store *s, const char *project, int *ret, struct fail *f)
{
	struct store_dir *d = dir_of(s);
	auto_close int fd =
		openat(d->locks_fd, project, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);

	if (fd < 0)
		return failed(d, -errno, f, "locks");
	if (flock(fd, LOCK_EX | LOCK_NB) < 0)
		return errno == EWOULDBLOCK ? -EBUSY : failed(d, -errno, f, "locks");
	*ret = take_fd(&fd);
	return 0;
}

/* A locked file of a new name. -EAGAIN: somebody took it for debris before it was locked. */
static int make_spool(struct store_dir *d, struct store_spool *spool)
{
	uint64_t number;
	struct stat st;

	if (getrandom(&number, sizeof(number), 0) != sizeof(number))
		return -EAGAIN;
	snprintf(spool->name, sizeof(spool->name), "%016" PRIx64, number);
	spool->fd = openat(
		d->tmp_fd, spool->name, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (spool->fd < 0)
		return errno == EEXIST ? -EAGAIN : -errno;
	if (flock(spool->fd, LOCK_EX | LOCK_NB) == 0 && fstat(spool->fd, &st) == 0 && st.st_nlink)
		return 0;
	close_fd(&spool->fd);
	unlinkat(d->tmp_fd, spool->name, 0);
	return -EAGAIN;
}

static int spool(struct store *s, struct store_spool *ret, struct fail *f)
{
	struct store_dir *d = dir_of(s);
	int r = -EAGAIN;

	*ret = (struct store_spool){.fd = -1, .guard_fd = -1};
	for (int i = 0; r == -EAGAIN && i < 100; i++)
		r = make_spool(d, ret);
	return r < 0 ? failed(d, r, f, "making a file for the archive") : 0;
}

/* Whoever takes an archive in shares the guard; whoever collects has it alone. */
static int take_guard(struct store_dir *d, int how, int *ret)
{
	auto_close int fd = openat(d->fd, "lock", O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);

	if (fd < 0)
		return -errno;
	for (int i = 0; flock(fd, how | LOCK_NB) < 0; i++) {
		if (errno != EWOULDBLOCK || i == GUARD_TRIES)
			return -errno;
		usleep(10000);
	}
	*ret = take_fd(&fd);
	return 0;
}

static void archive_name(const char *sha256, char ret[SHA256_HEX_LEN + sizeof(ARCHIVE_END)])
{
	snprintf(ret, SHA256_HEX_LEN + sizeof(ARCHIVE_END), "%.64s" ARCHIVE_END, sha256);
}

static int put(struct store *s, struct store_spool *spool, const char *sha256, struct fail *f)
{
	char name[SHA256_HEX_LEN + sizeof(ARCHIVE_END)];
	struct store_dir *d = dir_of(s);
	int r = take_guard(d, LOCK_SH, &spool->guard_fd);

	if (r < 0)
		return failed(d, r, f, "lock");
	archive_name(sha256, name);
	fault_point("persist.written");
	if (fsync(spool->fd) < 0)
		return failed(d, -errno, f, "writing the archive to disk");
	fault_point("persist.synced");
	if (renameat(d->tmp_fd, spool->name, d->archives_fd, name) < 0)
		return failed(d, -errno, f, "putting the archive in place");
	spool->name[0] = '\0';
	fault_point("persist.renamed");
	if (fsync(d->archives_fd) < 0)
		return failed(d, -errno, f, "writing the archive's name to disk");
	fault_point("persist.put");
	return 0;
}

static void drop(struct store *s, struct store_spool *spool)
{
	if (spool->fd >= 0 && spool->name[0])
		unlinkat(dir_of(s)->tmp_fd, spool->name, 0);
	close_fd(&spool->fd);
	close_fd(&spool->guard_fd);
}

static int get(struct store *s, const char *sha256, int *ret)
{
	char name[SHA256_HEX_LEN + sizeof(ARCHIVE_END)];

	archive_name(sha256, name);
	if (strchr(name, '/'))
		return -ENOENT;
	*ret = openat(dir_of(s)->archives_fd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	return *ret < 0 ? -errno : 0;
}

static int head(struct store *s, const char *project, struct store_row *ret, struct fail *f)
{
	return store_index_head(dir_of(s)->index, project, ret, f);
}

static int compare_and_set(
	struct store *s, const char *etag, uint64_t keep, struct store_row *row, struct fail *f)
{
	return store_index_add(dir_of(s)->index, etag, keep, row, f);
}

static int list(struct store *s, const char *project,
	int (*each)(void *arg, const struct store_row *row), void *arg, struct fail *f)
{
	return store_index_list(dir_of(s)->index, project, each, arg, f);
}

static int remove_row(struct store *s, const char *project, uint32_t number, struct fail *f)
{
	return store_index_remove(dir_of(s)->index, project, number, f);
}

/* Calls each for every name of a directory; counts those that it removed (1). */
static int each_name(
	int dir_fd, int (*each)(void *arg, const char *name), void *arg, uint64_t *removed)
{
	DIR *dir auto_dir = names_open(dir_fd, ".");
	struct dirent *entry;
	int r = 0;

	if (!dir)
		return -errno;
	while (r >= 0 && (entry = names_next(dir))) {
		r = each(arg, entry->d_name);
		*removed += r > 0;
	}
	return r < 0 ? r : 0;
}

static int collect_archive(void *arg, const char *name)
{
	struct store_dir *d = arg;
	char sha256[SHA256_HEX_LEN + 1];
	size_t len = strlen(name);
	int r;

	if (len != SHA256_HEX_LEN + sizeof(ARCHIVE_END) - 1 ||
		strcmp(name + SHA256_HEX_LEN, ARCHIVE_END) != 0)
		return 0;
	memcpy(sha256, name, SHA256_HEX_LEN);
	sha256[SHA256_HEX_LEN] = '\0';
	r = store_index_names(d->index, sha256, NULL);
	if (r != 0)
		return r < 0 ? r : 0;
	return unlinkat(d->archives_fd, name, 0) == 0;
}

/* Nobody holds the lock of a file whose writer died. */
static int collect_spool(void *arg, const char *name)
{
	struct store_dir *d = arg;
	auto_close int fd = openat(d->tmp_fd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);

	if (fd < 0 || flock(fd, LOCK_EX | LOCK_NB) < 0)
		return 0;
	return unlinkat(d->tmp_fd, name, 0) == 0;
}

static int collect(struct store *s, uint64_t *ret_removed, struct fail *f)
{
	struct store_dir *d = dir_of(s);
	auto_close int guard_fd = -1;
	uint64_t removed = 0;
	int r = take_guard(d, LOCK_EX, &guard_fd);

	if (r == 0)
		r = each_name(d->tmp_fd, collect_spool, d, &removed);
	if (r == 0)
		r = each_name(d->archives_fd, collect_archive, d, &removed);
	if (ret_removed)
		*ret_removed = removed;
	return r < 0 ? failed(d, r, f, "cleaning up") : 0;
}

static int version(struct store *s, uint32_t *ret)
{
	return store_index_version(dir_of(s)->index, ret);
}

static void close_store(struct store *s)
{
	struct store_dir *d = dir_of(s);

	store_index_close(d->index);
	close_fd(&d->fd);
	close_fd(&d->archives_fd);
	close_fd(&d->locks_fd);
	close_fd(&d->tmp_fd);
	free(d->path);
	free(d);
}

static const struct store_ops ops = {
	.lock = lock,
	.spool = spool,
	.put = put,
	.drop = drop,
	.get = get,
	.head = head,
	.compare_and_set = compare_and_set,
	.list = list,
	.remove = remove_row,
	.collect = collect,
	.version = version,
	.close = close_store,
};

static int open_all(struct store_dir *d, bool create, unsigned busy_msec, struct fail *f)
{
	int r = create ? make_parents(d->path) : 0;

	if (r < 0)
		return failed(d, r, f, "making it");
	d->fd = open(d->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (d->fd < 0)
		return errno == ENOENT && !create ? -ENOENT : failed(d, -errno, f, "opening it");
	if (!create && faccessat(d->fd, "index.db", F_OK, 0) < 0)
		return -ENOENT;
	r = open_part(d, "archives", &d->archives_fd);
	if (r == 0)
		r = open_part(d, "locks", &d->locks_fd);
	if (r == 0)
		r = open_part(d, "tmp", &d->tmp_fd);
	if (r < 0)
		return failed(d, r, f, "opening it");
	return store_index_open(d->path, busy_msec, &d->index, f);
}

int store_dir_open(
	const char *path, bool create, unsigned busy_msec, struct store **ret, struct fail *f)
{
	struct store_dir *d = calloc(1, sizeof(*d));
	int r;

	if (!d)
		return -ENOMEM;
	*d = (struct store_dir){.store = {&ops},
		.fd = -1,
		.archives_fd = -1,
		.locks_fd = -1,
		.tmp_fd = -1,
		.path = strdup(path)};
	r = d->path ? open_all(d, create, busy_msec, f) : -ENOMEM;
	if (r < 0) {
		close_store(&d->store);
		return r;
	}
	*ret = &d->store;
	return 0;
}
