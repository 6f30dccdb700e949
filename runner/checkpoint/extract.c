// Puts an archive's items below a directory, trusting neither the archive nor what others do there.
#include "runner/checkpoint/extract.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "common/buf.h"
#include "common/scope.h"
#include "runner/checkpoint/tree_walk.h"

/* What an item is to become once its content is complete. */
struct finish {
	mode_t mode;
	uid_t uid;
	gid_t gid;
	struct timespec mtime;
};

/* One directory of the path in which the present item lies; the first is the top. */
struct level {
	int fd; /* owned */
	char *name; /* owned; NULL of the top */
	bool pending; /* finish is still to be done */
	struct finish finish;
};

struct extract {
	struct extract_config config;
	struct level *levels; /* owned */
	size_t depth, room;
	int file_fd; /* owned; of the present regular file; -1: none */
	struct finish file_finish;
	uint64_t file_size, files, bytes;
	struct buf path; /* of the present item, for words */
};

static int corrupted(struct extract *ex, struct fail *f, const char *why)
{
	return task_refuse(ex->config.task, TASK_DATA_CORRUPTED, f, "the archive holds %.200s: %s",
		buf_text(&ex->path), why);
}

/* A system call on the present item failed. */
static int failed(struct extract *ex, int err, struct fail *f)
{
	return task_failed(ex->config.task, err, f, "restoring %.200s", buf_text(&ex->path));
}

static int add_level(struct extract *ex, int fd, const char *name)
{
	size_t room = ex->room ? 2 * ex->room : 16;
	struct level *levels;
	char *copy = name ? strdup(name) : NULL;

	if (ex->depth == ex->room) {
		levels = realloc(ex->levels, room * sizeof(*levels));
		if (levels) {
			ex->levels = levels;
			ex->room = room;
		}
	}
	if (ex->depth == ex->room || (name && !copy)) {
		free(copy);
		close(fd);
		return -ENOMEM;
	}
	ex->levels[ex->depth++] = (struct level){.fd = fd, .name = copy};
	return 0;
}

int extract_begin(const struct extract_config *config, struct extract **ret)
{
	struct extract *ex = calloc(1, sizeof(*ex));
	int fd = ex ? openat(config->dir_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
	int r;

	if (fd < 0) {
		r = ex ? -errno : -ENOMEM;
		free(ex);
		return r;
	}
	ex->config = *config;
	ex->file_fd = -1;
	r = add_level(ex, fd, NULL);
	if (r < 0) {
		extract_free(ex);
		return r;
	}
	*ret = ex;
	return 0;
}

/* Without finishing: only extract_end() does that. */
void extract_free(struct extract *ex)
{
	if (!ex)
		return;
	while (ex->depth) {
		struct level *level = &ex->levels[--ex->depth];

		close(level->fd);
		free(level->name);
	}
	free(ex->levels);
	close_fd(&ex->file_fd);
	buf_clear(&ex->path);
	free(ex);
}

static void plan_finish(
	const struct extract *ex, const struct archive_item *item, struct finish *ret)
{
	const struct extract_config *c = &ex->config;
	bool mapped_uid = item->uid >= 0 && item->uid < (int64_t)c->ids_len;
	bool mapped_gid = item->gid >= 0 && item->gid < (int64_t)c->ids_len;

	*ret = (struct finish){
		.mode = item->mode & 07777,
		.uid = c->ids_base + (mapped_uid ? (uid_t)item->uid : 0),
		.gid = c->ids_base + (mapped_gid ? (gid_t)item->gid : 0),
		.mtime = {.tv_sec = item->mtime_sec, .tv_nsec = item->mtime_nsec},
	};
}

/* The mode after the owner, which takes set-id bits away; the time last. What is made belongs to
 * sandbox id 0 by itself, where the thread makes it so. */
static int finish(int fd, const struct finish *finish)
{
	struct timespec times[2] = {{.tv_nsec = UTIME_OMIT}, finish->mtime};
	struct stat st;

	if (fstat(fd, &st) < 0)
		return -errno;
	if ((st.st_uid != finish->uid || st.st_gid != finish->gid) &&
		fchown(fd, finish->uid, finish->gid) < 0)
		return -errno;
	if (fchmod(fd, finish->mode) < 0)
		return -errno;
	return futimens(fd, times) < 0 ? -errno : 0;
}

static int leave(struct extract *ex, struct fail *f)
{
	struct level *level = &ex->levels[--ex->depth];
	int r = level->pending ? finish(level->fd, &level->finish) : 0;

	close(level->fd);
	free(level->name);
	return r < 0 ? failed(ex, r, f) : 0;
}

static int enter(struct extract *ex, const char *name, struct fail *f)
{
	int fd = openat(ex->levels[ex->depth - 1].fd, name,
		O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	if (fd < 0 && (errno == ENOENT || errno == ENOTDIR || errno == ELOOP))
		return corrupted(ex, f, "it lies in something that is not a directory");
	if (fd < 0)
		return failed(ex, -errno, f);
	if (add_level(ex, fd, name) < 0)
		return -ENOMEM;
	return ex->depth > TREE_WALK_DEPTH_MAX + 1 ? corrupted(ex, f, "too deep") : 0;
}

/* Splits a path into components in place: each followed by NUL, "." dropped. */
static int split(struct extract *ex, char *path, size_t *ret_count, struct fail *f)
{
	char *from = path, *to = path;

	*ret_count = 0;
	if (*path == '/')
		return corrupted(ex, f, "its path is absolute");
	if (strlen(path) > TREE_WALK_PATH_MAX)
		return corrupted(ex, f, "its path is too long");
	while (*from) {
		size_t len = strcspn(from, "/");
		bool last = !from[len];

		if (len > NAME_MAX)
			return corrupted(ex, f, "a name in its path is too long");
		if (len == 2 && !memcmp(from, "..", 2))
			return corrupted(ex, f, "its path leads out of the directory");
		if (len && !(len == 1 && *from == '.')) {
			memmove(to, from, len);
			from += len;
			to[len] = '\0';
			to += len + 1;
			(*ret_count)++;
		} else {
			from += len;
		}
		from += !last;
	}
	return 0;
}

/* Makes the directory of the present item the last level. names: count components; the last one is
 * the item's own. */
static int go_to(
	struct extract *ex, const char *names, size_t count, const char **ret_name, struct fail *f)
{
	size_t same = 1;
	int r = 0;

	while (same < count && same < ex->depth && !strcmp(ex->levels[same].name, names)) {
		names += strlen(names) + 1;
		same++;
	}
	while (ex->depth > same && r == 0)
		r = leave(ex, f);
	for (; same < count && r == 0; same++) {
		r = enter(ex, names, f);
		names += strlen(names) + 1;
	}
	*ret_name = names;
	return r;
}

static int set_xattrs(struct extract *ex, int fd, const struct archive_item *item, struct fail *f)
{
	for (size_t i = 0; i < item->xattrs_len; i++) {
		const struct archive_xattr *x = &item->xattrs[i];

		if (archive_item_keeps_xattr(x->name) &&
			fsetxattr(fd, x->name, x->data, x->len, 0) < 0 && errno != EOPNOTSUPP)
			return failed(ex, -errno, f);
	}
	return 0;
}

static int made(struct extract *ex, int result, struct fail *f)
{
	if (result < 0 && errno == EEXIST)
		return corrupted(ex, f, "it was there already");
	return result < 0 ? failed(ex, -errno, f) : 0;
}

static int make_dir(struct extract *ex, int dir_fd, const char *name,
	const struct archive_item *item, struct fail *f)
{
	struct level *level;
	int r = made(ex, mkdirat(dir_fd, name, 0700), f);

	if (r == 0)
		r = enter(ex, name, f);
	if (r < 0)
		return r;
	level = &ex->levels[ex->depth - 1];
	level->pending = true;
	plan_finish(ex, item, &level->finish);
	return set_xattrs(ex, level->fd, item, f);
}

static int make_file(struct extract *ex, int dir_fd, const char *name,
	const struct archive_item *item, struct fail *f)
{
	int fd = openat(dir_fd, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	int r = made(ex, fd, f);

	if (r < 0)
		return r;
	ex->file_fd = fd;
	ex->file_size = item->size;
	plan_finish(ex, item, &ex->file_finish);
	return set_xattrs(ex, fd, item, f);
}

static int make_symlink(struct extract *ex, int dir_fd, const char *name,
	const struct archive_item *item, struct fail *f)
{
	struct timespec times[2] = {{.tv_nsec = UTIME_OMIT}};
	struct finish end;
	int r;

	if (!item->target || !*item->target || strlen(item->target) >= PATH_MAX)
		return corrupted(ex, f, "its target is empty or too long");
	r = made(ex, symlinkat(item->target, dir_fd, name), f);
	if (r < 0)
		return r;
	plan_finish(ex, item, &end);
	times[1] = end.mtime;
	if (fchownat(dir_fd, name, end.uid, end.gid, AT_SYMLINK_NOFOLLOW) < 0 ||
		utimensat(dir_fd, name, times, AT_SYMLINK_NOFOLLOW) < 0)
		return failed(ex, -errno, f);
	return 0;
}

static int make_hardlink(
	struct extract *ex, int dir_fd, const char *name, const char *target, struct fail *f)
{
	char *names auto_free = strdup(target);
	auto_close int at_fd = openat(ex->levels[0].fd, ".", O_PATH | O_DIRECTORY | O_CLOEXEC);
	const char *at = names;
	size_t count;
	int r = names && at_fd >= 0 ? split(ex, names, &count, f) : -ENOMEM;

	if (r < 0)
		return r;
	if (count == 0)
		return corrupted(ex, f, "it is a link to nothing");
	for (; count > 1; count--) {
		int next = openat(at_fd, at, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

		if (next < 0)
			return corrupted(ex, f, "it is a link to what is not there");
		close(at_fd);
		at_fd = next;
		at += strlen(at) + 1;
	}
	if (linkat(at_fd, at, dir_fd, name, 0) == 0)
		return 0;
	if (errno == ENOENT || errno == EPERM)
		return corrupted(ex, f, "it is a link to what is not there");
	return made(ex, -1, f);
}

static int make(
	struct extract *ex, const char *name, const struct archive_item *item, struct fail *f)
{
	int dir_fd = ex->levels[ex->depth - 1].fd;

	if (item->hardlink)
		return make_hardlink(ex, dir_fd, name, item->hardlink, f);
	switch (item->mode & S_IFMT) {
	case S_IFDIR:
		return make_dir(ex, dir_fd, name, item, f);
	case S_IFREG:
		return make_file(ex, dir_fd, name, item, f);
	case S_IFLNK:
		return make_symlink(ex, dir_fd, name, item, f);
	default:
		return corrupted(ex, f, "it is neither a file, a directory nor a link");
	}
}

static int count_item(struct extract *ex, struct fail *f)
{
	ex->files++;
	atomic_fetch_add_explicit(&ex->config.task->files, 1, memory_order_relaxed);
	if (ex->files <= ex->config.max_files)
		return 0;
	return task_refuse(ex->config.task, TASK_LIMIT_EXCEEDED, f,
		"the archive holds more than %" PRIu64 " files", ex->config.max_files);
}

/* The directory into which all goes has been made; only what it is like is taken over. */
static int take_top(struct extract *ex, const struct archive_item *item, struct fail *f)
{
	if (!S_ISDIR(item->mode) || item->hardlink)
		return corrupted(ex, f, "it is not a directory");
	ex->levels[0].pending = true;
	plan_finish(ex, item, &ex->levels[0].finish);
	return set_xattrs(ex, ex->levels[0].fd, item, f);
}

int extract_item(struct extract *ex, const struct archive_item *item, struct fail *f)
{
	char *names auto_free = item->path ? strdup(item->path) : NULL;
	const char *name = NULL;
	size_t count;
	int r;

	buf_reset(&ex->path);
	if (!item->path)
		return corrupted(ex, f, "a name that cannot be read");
	if (!names || buf_add_str(&ex->path, item->path) < 0)
		return -ENOMEM;
	r = split(ex, names, &count, f);
	if (r == 0)
		r = task_check(ex->config.task, f);
	if (r == 0 && count == 0)
		return take_top(ex, item, f);
	if (r == 0)
		r = count_item(ex, f);
	if (r == 0)
		r = go_to(ex, names, count, &name, f);
	return r < 0 ? r : make(ex, name, item, f);
}

int extract_data(struct extract *ex, const void *data, size_t len, uint64_t off, struct fail *f)
{
	const char *at = data;
	int r = task_check(ex->config.task, f);

	if (r < 0)
		return r;
	if (ex->file_fd < 0)
		return len ? corrupted(ex, f, "it has content and is not a file") : 0;
	if (off > ex->file_size || len > ex->file_size - off)
		return corrupted(ex, f, "its content is longer than it says");
	if (len > ex->config.max_bytes - ex->bytes)
		return task_refuse(ex->config.task, TASK_LIMIT_EXCEEDED, f,
			"what the archive holds exceeds %" PRIu64 " bytes", ex->config.max_bytes);
	ex->bytes += len;
	atomic_fetch_add_explicit(&ex->config.task->bytes, len, memory_order_relaxed);
	while (len) {
		ssize_t n = pwrite(ex->file_fd, at, len, (off_t)off);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return failed(ex, -errno, f);
		at += n;
		off += (uint64_t)n;
		len -= (size_t)n;
	}
	return 0;
}

int extract_item_end(struct extract *ex, struct fail *f)
{
	int r = 0;

	if (ex->file_fd < 0)
		return 0;
	/* A hole at the end. */
	if (ftruncate(ex->file_fd, (off_t)ex->file_size) < 0)
		r = -errno;
	if (r == 0)
		r = finish(ex->file_fd, &ex->file_finish);
	close_fd(&ex->file_fd);
	return r < 0 ? failed(ex, r, f) : 0;
}

int extract_end(struct extract *ex, struct fail *f)
{
	int r = 0;

	while (ex->depth && r == 0)
		r = leave(ex, f);
	return r;
}

uint64_t extract_files(const struct extract *ex)
{
	return ex->files;
}

uint64_t extract_bytes(const struct extract *ex)
{
	return ex->bytes;
}
