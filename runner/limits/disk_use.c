// How much disk a sandbox takes.
#include "runner/limits/disk_use.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/buf.h"
#include "common/names.h"
#include "common/scope.h"

#define NAMELESS_MAX 4096

/* A directory on the way down. */
struct level {
	struct buf names; /* of the directories in it, each with its NUL */
	size_t at; /* of the next one to enter */
	dev_t dev;
	ino_t ino;
};

struct walk {
	const atomic_bool *cancelled;
	struct disk_use *use;
	int fd; /* owned; of the deepest directory */
	struct level *levels; /* owned */
	size_t len, room;
};

static void clear(struct walk *w)
{
	close_fd(&w->fd);
	while (w->len)
		buf_clear(&w->levels[--w->len].names);
	free(w->levels);
}

static void count(struct disk_use *use, const struct stat *st)
{
	uint64_t bytes = (uint64_t)st->st_blocks * 512;

	if (bytes < DISK_USE_ITEM)
		bytes = DISK_USE_ITEM;
	if (!S_ISDIR(st->st_mode) && st->st_nlink > 1)
		bytes /= st->st_nlink;
	use->bytes += bytes;
	use->items++;
}

/* Counts what is in a directory, and notes the directories among it. */
static int read_level(struct walk *w, struct level *level)
{
	DIR *dir auto_dir = names_open(w->fd, ".");
	struct dirent *d;
	struct stat st;

	if (!dir)
		return -errno;
	while (!atomic_load(w->cancelled) && (d = names_next(dir))) {
		if (fstatat(w->fd, d->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0)
			continue;
		count(w->use, &st);
		if (S_ISDIR(st.st_mode) && st.st_dev == level->dev)
			buf_add(&level->names, d->d_name, strlen(d->d_name) + 1);
	}
	return level->names.error;
}

/* Takes fd over as the next level. */
static int enter(struct walk *w, int fd)
{
	struct level *level;
	struct stat st;

	if (w->len == w->room) {
		size_t room = w->room ? 2 * w->room : 16;
		struct level *more = realloc(w->levels, room * sizeof(*more));

		if (!more) {
			close(fd);
			return -ENOMEM;
		}
		w->levels = more;
		w->room = room;
	}
	close_fd(&w->fd);
	w->fd = fd;
	level = &w->levels[w->len++];
	*level = (struct level){0};
	if (fstat(fd, &st) < 0)
		return -errno;
	level->dev = st.st_dev;
	level->ino = st.st_ino;
	return read_level(w, level);
}

/* Back up by "..", which is another directory if this one was moved. */
static int leave(struct walk *w)
{
	const struct level *level;
	struct stat st;
	int fd;

	buf_clear(&w->levels[--w->len].names);
	if (!w->len)
		return 0;
	level = &w->levels[w->len - 1];
	fd = openat(w->fd, "..", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	close_fd(&w->fd);
	w->fd = fd;
	if (fstat(fd, &st) < 0)
		return -errno;
	return st.st_dev == level->dev && st.st_ino == level->ino ? 0 : -ESTALE;
}

static int step(struct walk *w)
{
	struct level *level = &w->levels[w->len - 1];
	const char *name;
	int fd;

	if (atomic_load(w->cancelled))
		return -ECANCELED;
	if (level->at >= level->names.len)
		return leave(w);
	name = level->names.data + level->at;
	level->at += strlen(name) + 1;
	fd = openat(w->fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	/* It may be gone by now. */
	return fd < 0 ? 0 : enter(w, fd);
}

int disk_use_add(int dir_fd, const char *name, const atomic_bool *cancelled, struct disk_use *ret)
{
	struct walk w auto_call(clear) = {.cancelled = cancelled, .use = ret, .fd = -1};
	int fd = openat(dir_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	int r = fd < 0 ? -errno : enter(&w, fd);

	while (r == 0 && w.len)
		r = step(&w);
	return r;
}

/* Of one process; seen holds the inodes that were counted. */
static void add_of_process(
	int proc_fd, const char *pid, dev_t device, struct buf *seen, struct disk_use *ret)
{
	DIR *dir auto_dir = NULL;
	struct dirent *d;
	struct stat st;
	char path[32];

	snprintf(path, sizeof(path), "%.10s/fd", pid);
	dir = names_open(proc_fd, path);
	while (dir && (d = names_next(dir))) {
		if (fstatat(dirfd(dir), d->d_name, &st, 0) < 0 || !S_ISREG(st.st_mode) ||
			st.st_nlink || st.st_dev != device)
			continue;
		if (seen->len && memmem(seen->data, seen->len, &st.st_ino, sizeof(st.st_ino)))
			continue;
		if (seen->len < NAMELESS_MAX * sizeof(st.st_ino))
			buf_add(seen, &st.st_ino, sizeof(st.st_ino));
		count(ret, &st);
	}
}

void disk_use_add_nameless(
	int proc_fd, dev_t device, const atomic_bool *cancelled, struct disk_use *ret)
{
	struct buf seen auto_buf = {0};
	DIR *dir auto_dir = names_open(proc_fd, ".");
	struct dirent *d;

	while (dir && !atomic_load(cancelled) && (d = readdir(dir)))
		if (d->d_name[0] >= '1' && d->d_name[0] <= '9')
			add_of_process(proc_fd, d->d_name, device, &seen, ret);
}
