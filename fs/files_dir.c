// Directories of files/ listed.
#include "fs/files_impl.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "common/scope.h"

#define LISTING_SIZE (32u << 10)

/* As the kernel gives it; see getdents64(2). */
struct dirent64_raw {
	uint64_t d_ino;
	int64_t d_off; /* where the next one begins */
	unsigned short d_reclen;
	unsigned char d_type;
	char d_name[];
};

struct files_dir {
	struct list link; /* in files.dirs */
	struct node_handle *handle; /* the table's; until releasedir */
	dev_t dev;
	ino_t ino;
	bool reserved; /* is listed as empty */
	pthread_mutex_t lock; /* one listing at a time: the file below has one position */
	int64_t next_off; /* of the entry at pos */
	size_t pos, len; /* in listing */
	char listing[LISTING_SIZE] __attribute__((aligned(8)));
};

/* What one request fills. */
struct answer {
	struct files *files;
	fuse_req_t req;
	fuse_ino_t ino; /* of the directory */
	const struct node_use *use; /* of the directory, for attributes; NULL: names only */
	struct files_term term; /* with attributes */
	char *data;
	size_t len, size;
	uint64_t *entered; /* behind data: the nodes on which a lookup was counted */
	size_t entered_len;
};

/* A listed entry with attributes takes more than this. */
#define PLUS_ENTRY_MIN 128

static struct files_dir *dir_of(const struct fuse_file_info *fi)
{
	return (struct files_dir *)(uintptr_t)fi->fh;
}

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

/* Nothing is listed yet. -ENOMEM. */
static int new_dir(const struct stat *st, bool reserved, struct files_dir **ret)
{
	struct files_dir *dir = malloc(sizeof(*dir));

	if (!dir)
		return -ENOMEM;
	dir->dev = st->st_dev;
	dir->ino = st->st_ino;
	dir->reserved = reserved;
	dir->next_off = 0;
	dir->pos = dir->len = 0;
	pthread_mutex_init(&dir->lock, NULL);
	*ret = dir;
	return 0;
}

static void free_dir(struct files_dir *dir)
{
	pthread_mutex_destroy(&dir->lock);
	free(dir);
}

static int open_dir(struct files *files, fuse_ino_t ino, struct files_dir **ret)
{
	auto_use struct node_use use = {0};
	auto_close int fd = -1;
	struct stat st;
	int r;

	r = node_table_use(files->nodes, ino, &use);
	if (r < 0)
		return r;
	fd = open_listing(files, use.fd);
	if (fd < 0)
		return fd;
	if (fstat(fd, &st) < 0)
		return -EIO;
	r = new_dir(&st, use.reserved, ret);
	if (r < 0)
		return r;
	r = node_table_attach(files->nodes, ino, take_fd(&fd), &(*ret)->handle);
	if (r < 0) {
		free_dir(*ret);
		return r;
	}
	pthread_mutex_lock(&files->dirs_lock);
	list_add_tail(&files->dirs, &(*ret)->link);
	pthread_mutex_unlock(&files->dirs_lock);
	return 0;
}

static void close_dir(struct files *files, struct files_dir *dir)
{
	pthread_mutex_lock(&files->dirs_lock);
	list_remove(&dir->link);
	pthread_mutex_unlock(&files->dirs_lock);
	(void)node_table_detach(files->nodes, dir->handle);
	free_dir(dir);
}

void files_dirs_free(struct files *files)
{
	while (!list_empty(&files->dirs))
		close_dir(files, list_entry(files->dirs.next, struct files_dir, link));
}

/* The kernel keeps a listing from one open to the next if no name has changed in between. */
static void let_keep(
	struct files *files, uint64_t ino, const struct files_dir *dir, struct fuse_file_info *fi)
{
	const struct node_use use = {.fd = dir->handle->fd};
	struct files_term term = files_cache_begin(files, ino, &use, true);
	uint64_t token;

	if (!term.covered)
		return;
	files_cache_settle(files);
	token = files_cache_token(files, ino, true);
	fi->cache_readdir = token != 0;
	fi->keep_cache = node_table_token(files->nodes, ino, token);
}

void files_opendir(struct files *files, fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	struct files_dir *dir = NULL;
	int r = open_dir(files, ino, &dir);

	if (r < 0) {
		files_reply(req, r);
		return;
	}
	fi->fh = (uintptr_t)dir;
	let_keep(files, ino, dir, fi);
	if (fuse_reply_open(req, fi) == -ENOENT)
		close_dir(files, dir);
}

void files_releasedir(
	struct files *files, fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	(void)ino;
	close_dir(files, dir_of(fi));
	files_reply(req, 0);
}

void files_fsyncdir(struct files *files, fuse_req_t req, fuse_ino_t ino, int datasync,
	struct fuse_file_info *fi)
{
	int fd = dir_of(fi)->handle->fd;
	int r = datasync ? fdatasync(fd) : fsync(fd);

	(void)files;
	(void)ino;
	files_reply(req, r < 0 ? -errno : 0);
}

/* Goes to where the reader wants to go on: mostly where it left off. */
static int seek_dir(struct files_dir *dir, off_t off)
{
	if (off == dir->next_off && off != 0)
		return 0;
	dir->pos = dir->len = 0;
	if (lseek(dir->handle->fd, off, SEEK_SET) < 0)
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
		n = getdents64(dir->handle->fd, dir->listing, sizeof(dir->listing));
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

	while (a->entered_len) {
		uint64_t ino = a->entered[--a->entered_len];

		if (r == -ENOENT)
			files_forget(a->files, ino, 1);
		else
			files_cache_end(a->files, &a->term, ino);
	}
}

static void list(struct answer *a, size_t size, off_t off, struct fuse_file_info *fi)
{
	struct files_dir *dir = dir_of(fi);
	size_t room = (size + 7) & ~(size_t)7;
	int r = -ENOMEM;

	a->data = files_buffer(room + size / PLUS_ENTRY_MIN * sizeof(*a->entered));
	if (a->data) {
		a->size = size;
		a->entered = (uint64_t *)(a->data + room);
		pthread_mutex_lock(&dir->lock);
		r = fill_answer(a, dir, off);
		pthread_mutex_unlock(&dir->lock);
	}
	files_cache_settle(a->files);
	if (r < 0)
		files_reply(a->req, r);
	else
		reply_listed(a);
}

void files_readdir(struct files *files, fuse_req_t req, fuse_ino_t ino, size_t size, off_t off,
	struct fuse_file_info *fi)
{
	struct answer a = {.files = files, .req = req, .ino = ino};

	list(&a, size, off, fi);
}

void files_readdirplus(struct files *files, fuse_req_t req, fuse_ino_t ino, size_t size, off_t off,
	struct fuse_file_info *fi)
{
	/* The open directory itself: names are looked up where they were listed. */
	struct node_use use = {.fd = dir_of(fi)->handle->fd, .type = S_IFDIR};
	struct answer a = {.files = files,
		.req = req,
		.ino = ino,
		.use = &use,
		.term = files_cache_begin(files, ino, &use, true)};

	list(&a, size, off, fi);
}
