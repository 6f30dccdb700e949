// Directories of files/ listed.
#include "fs/files/files_dir.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/scope.h"

/* As the kernel gives it; see getdents64(2). */
struct dirent64_raw {
	uint64_t d_ino;
	int64_t d_off; /* where the next one begins */
	unsigned short d_reclen;
	unsigned char d_type;
	char d_name[];
};

/* What one request fills. */
struct answer {
	struct files *files;
	fuse_req_t req;
	fuse_ino_t ino; /* of the directory */
	const struct node_use *use; /* of the directory, for attributes; NULL: names only */
	struct files_term term;
	char *data;
	size_t len, size;
	uint64_t *entered; /* behind data: the nodes on which a lookup was counted */
	size_t entered_len;
};

/* A listed entry with attributes takes more than this. */
#define PLUS_ENTRY_MIN 128

static int open_listing(struct files *files, int dir_fd)
{
	const int flags = O_RDONLY | O_DIRECTORY | O_CLOEXEC;
	int fd = openat(dir_fd, ".", flags);

	if (fd < 0 && (errno == EMFILE || errno == ENFILE)) {
		node_table_relieve(files->nodes);
		fd = openat(dir_fd, ".", flags);
	}
	if (fd < 0)
		return -errno;
	return fd;
}

static int stat_dir(struct files *files, struct files_dir *dir, struct stat *ret)
{
	struct statx sx = {0};
	int r = files_statx(dir->fd, "", &sx);

	if (r < 0)
		return r;
	dir->dev = makedev(sx.stx_dev_major, sx.stx_dev_minor);
	dir->ino = sx.stx_ino;
	files_fill(files, &sx, ret);
	return 0;
}

static int open_dir(struct files *files, struct files_dir *dir, bool from_start)
{
	auto_use struct node_use use = {0};
	struct stat st;
	int r = node_table_use(files->nodes, dir->node, &use);

	if (r < 0)
		return r == -ESTALE ? -ENOENT : r;
	dir->reserved = use.reserved;
	dir->fd = open_listing(files, use.fd);
	if (dir->fd < 0)
		return dir->fd;
	r = stat_dir(files, dir, &st);
	if (r < 0)
		return r;
	dir->names = files_cache_names_begin(files, dir->node, &st);
	if (!from_start)
		dir->names.alone = false;
	return 0;
}

/* At the beginning of the listing, wherever the reader wants to be. */
static int new_dir(struct files *files, fuse_ino_t ino, bool from_start, struct files_dir **ret)
{
	struct files_dir *dir = malloc(sizeof(*dir));
	int r;

	if (!dir)
		return -ENOMEM;
	dir->node = ino;
	dir->fd = -1;
	dir->begun_usec = clock_monotonic_usec();
	dir->next_off = 0;
	dir->pos = dir->len = 0;
	r = open_dir(files, dir, from_start);
	if (r < 0) {
		files_dir_free(dir);
		return r;
	}
	*ret = dir;
	return 0;
}

/* Names that were read for an earlier part are given only if they are still those of the directory. */
static void drop_old(struct files *files, struct files_dir *dir)
{
	struct stat st;

	if (dir->names.settled && stat_dir(files, dir, &st) == 0 &&
		files_cache_names_same(&dir->names, &st))
		return;
	dir->names.settled = false;
	if (dir->pos < dir->len)
		dir->next_off = -1;
}

/* From the beginning it is read anew. */
static int dir_at(
	struct files *files, fuse_req_t req, fuse_ino_t ino, off_t off, struct files_dir **ret)
{
	pid_t reader = fuse_req_ctx(req)->pid;
	int r = 0;

	*ret = off ? files_dir_take(files, ino, off, reader) : NULL;
	if (*ret)
		files_cache_names_in(files, (*ret)->told_usec);
	if (*ret && !(*ret)->reserved)
		drop_old(files, *ret);
	if (!*ret)
		r = new_dir(files, ino, off == 0, ret);
	if (r == 0)
		(*ret)->reader = reader;
	return r;
}

void files_fsyncdir(struct files *files, fuse_req_t req, fuse_ino_t ino, int datasync)
{
	auto_use struct node_use use = {0};
	auto_close int fd = -1;
	int r = node_table_use(files->nodes, ino, &use);

	if (r == 0)
		r = fd = open_listing(files, use.fd);
	if (r >= 0)
		r = (datasync ? fdatasync(fd) : fsync(fd)) < 0 ? -errno : 0;
	files_reply(req, r);
}

/* Goes to where the reader wants to go on: mostly where it left off. */
static int seek_dir(struct files_dir *dir, off_t off)
{
	if (off == dir->next_off && off != 0)
		return 0;
	dir->pos = dir->len = 0;
	if (lseek(dir->fd, off, SEEK_SET) < 0)
		return -errno;
	dir->next_off = off;
	return 0;
}

/* The entry at pos; NULL at the end, or on an error, which is stored. */
static const struct dirent64_raw *peek_entry(struct files_dir *dir, int *ret_error)
{
	ssize_t n;

	*ret_error = 0;
	if (dir->pos == dir->len) {
		n = getdents64(dir->fd, dir->listing, sizeof(dir->listing));
		if (n < 0)
			*ret_error = -errno;
		if (n <= 0)
			return NULL;
		dir->pos = 0;
		dir->len = (size_t)n;
	}
	return (const struct dirent64_raw *)(dir->listing + dir->pos);
}

static bool is_dots(const char *name)
{
	return !strcmp(name, ".") || !strcmp(name, "..");
}

static uint64_t entry_ino(
	const struct answer *a, const struct files_dir *dir, const struct dirent64_raw *entry)
{
	if (a->ino == FILES_ROOT && !strcmp(entry->d_name, ".."))
		return FUSE_ROOT_ID;
	return files_ino(a->files, dir->dev, entry->d_ino);
}

static size_t add_plain(
	struct answer *a, const struct files_dir *dir, const struct dirent64_raw *entry)
{
	struct stat st = {
		.st_ino = entry_ino(a, dir, entry),
		.st_mode = (mode_t)entry->d_type << 12,
	};

	return fuse_add_direntry(
		a->req, a->data + a->len, a->size - a->len, entry->d_name, &st, entry->d_off);
}

/* With attributes, and a lookup counted, unless it is "." or ".." (which the kernel does not count)
 * or has gone in the meantime. */
static size_t add_plus(
	struct answer *a, const struct files_dir *dir, const struct dirent64_raw *entry)
{
	struct fuse_entry_param e = {0};
	const struct files_name name = {
		.dir = a->use, .parent = a->ino, .name = entry->d_name, .term = a->term};
	size_t need = fuse_add_direntry_plus(a->req, NULL, 0, entry->d_name, NULL, 0);
	int r = -ENOENT;

	if (need > a->size - a->len)
		return need;
	if (!is_dots(entry->d_name))
		r = files_enter(a->files, &name, &e);
	if (r < 0) {
		e = (struct fuse_entry_param){0};
		e.attr.st_ino = entry_ino(a, dir, entry);
		e.attr.st_mode = (mode_t)entry->d_type << 12;
	} else {
		a->entered[a->entered_len++] = e.ino;
	}
	return fuse_add_direntry_plus(
		a->req, a->data + a->len, a->size - a->len, entry->d_name, &e, entry->d_off);
}

/* What a directory that is shown as empty has: "." and "..", then the end. */
static const struct dirent64_raw *peek_reserved(const struct files_dir *dir, void *space)
{
	struct dirent64_raw *entry = space;
	size_t len = (size_t)dir->next_off + 1;

	if (dir->next_off < 0 || dir->next_off >= 2)
		return NULL;
	entry->d_ino = dir->ino;
	entry->d_off = dir->next_off + 1;
	entry->d_type = S_IFDIR >> 12;
	memcpy(entry->d_name, "..", len);
	entry->d_name[len] = '\0';
	return entry;
}

static int fill_answer(struct answer *a, struct files_dir *dir, off_t off)
{
	uint64_t space[sizeof(struct dirent64_raw) / 8 + 1];
	const struct dirent64_raw *entry;
	int r = 0;

	if (dir->reserved)
		dir->next_off = off;
	else
		r = seek_dir(dir, off);
	while (r == 0) {
		size_t used;

		entry = dir->reserved ? peek_reserved(dir, space) : peek_entry(dir, &r);
		if (!entry)
			break;
		used = a->use ? add_plus(a, dir, entry) : add_plain(a, dir, entry);
		if (used > a->size - a->len)
			return a->len ? 0 : -EINVAL;
		a->len += used;
		dir->next_off = entry->d_off;
		dir->pos += dir->reserved ? 0 : entry->d_reclen;
	}
	return a->len ? 0 : r;
}

static void reply_listed(struct answer *a)
{
	int r = fuse_reply_buf(a->req, a->data, a->len);

	if (a->entered_len && files_cache_is_over(a->files, &a->term))
		files_cache_names_late(a->files);
	while (a->entered_len) {
		uint64_t ino = a->entered[--a->entered_len];

		if (r == -ENOENT)
			files_forget(a->files, ino, 1);
		else
			files_cache_end(a->files, &a->term, ino);
	}
}

/* A part without entries is the end. */
static void end_part(struct answer *a, struct files_dir *dir, int r)
{
	struct stat st;

	if (r == 0 && a->len && !dir->reserved) {
		files_cache_names_part(a->files, a->ino, &dir->names);
		files_dir_keep(a->files, dir);
		return;
	}
	if (files_dirs_on_way(a->files, a->ino, UINT64_MAX))
		dir->names.alone = false;
	if (r == 0 && stat_dir(a->files, dir, &st) == 0)
		files_cache_names_end(a->files, a->ino, &dir->names, &st);
	files_dir_free(dir);
}

static int list_part(struct answer *a, struct files_dir *dir, size_t size, off_t off)
{
	size_t room = (size + 7) & ~(size_t)7;

	a->data = files_buffer(room + size / PLUS_ENTRY_MIN * sizeof(*a->entered));
	if (!a->data)
		return -ENOMEM;
	a->size = size;
	a->entered = (uint64_t *)(a->data + room);
	return fill_answer(a, dir, off);
}

static void list(struct files *files, fuse_req_t req, fuse_ino_t ino, size_t size, off_t off,
	bool with_attributes)
{
	struct node_use use = {.type = S_IFDIR};
	struct answer a = {.files = files, .req = req, .ino = ino};
	struct files_dir *dir = NULL;
	int r = dir_at(files, req, ino, off, &dir);

	if (r == 0) {
		/* The open directory itself: names are looked up where they were listed. */
		use.fd = dir->fd;
		a.use = with_attributes ? &use : NULL;
		a.term = files_cache_begin(files, ino, &use, true);
		r = list_part(&a, dir, size, off);
		end_part(&a, dir, r);
	}
	files_cache_settle(files);
	if (r < 0)
		files_reply(req, r);
	else
		reply_listed(&a);
}

void files_readdir(struct files *files, fuse_req_t req, fuse_ino_t ino, size_t size, off_t off)
{
	list(files, req, ino, size, off, false);
}

void files_readdirplus(struct files *files, fuse_req_t req, fuse_ino_t ino, size_t size, off_t off)
{
	list(files, req, ino, size, off, true);
}
