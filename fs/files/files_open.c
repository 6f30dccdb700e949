// Files of files/ opened, made and closed.
#include "fs/files/files_impl.h"

#include <errno.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/scope.h"
#include "common/unsafe.h"

/* Somebody in the sandbox may hold a lease. One who means well gives it up in this time; one who
 * does not must not hold up the daemon. */
#define LEASE_TRIES 6 /* 1 + 2 + 4 ... ms */

/* Older than any page that was written through a mapping and not stored yet. */
#define SETTLED_NSEC (60 * 1000000000LL)

/* Which of the caller's flags are the backing file's, too. Not O_APPEND: with it, what a mapping
 * wrote would be appended; files_write_buf() sees to it. Not O_DIRECT: our memory is not aligned. */
static int backing_flags(int flags)
{
	const int kept = O_ACCMODE | O_TRUNC | O_SYNC | O_DSYNC | O_NOATIME;

	return (flags & kept) | (unsafe_is("nonblock") ? 0 : O_NONBLOCK) | O_NOCTTY | O_CLOEXEC;
}

static int open_retrying(int dir_fd, const char *name, int flags, mode_t mode)
{
	struct timespec pause = {.tv_nsec = 1000000};
	int fd = openat(dir_fd, name, flags, mode);

	for (unsigned i = 0; fd < 0 && errno == EAGAIN && i < LEASE_TRIES; i++) {
		nanosleep(&pause, NULL);
		pause.tv_nsec *= 2;
		fd = openat(dir_fd, name, flags, mode);
	}
	return fd < 0 ? -errno : fd;
}

int files_reopen(struct files *files, int fd, int flags)
{
	char name[16];
	struct stat st;
	int r;

	if (fstat(fd, &st) < 0)
		return -errno;
	if (S_ISDIR(st.st_mode))
		return -EISDIR;
	if (!S_ISREG(st.st_mode))
		return S_ISLNK(st.st_mode) ? -ELOOP : -ENXIO;
	snprintf(name, sizeof(name), "%d", fd);
	r = open_retrying(files->proc_fd, name, backing_flags(flags), 0);
	if (r != -EMFILE && r != -ENFILE)
		return r;
	node_table_relieve(files->nodes);
	return open_retrying(files->proc_fd, name, backing_flags(flags), 0);
}

static int64_t nsec_of(const struct statx_timestamp *ts)
{
	return ts->tv_sec * 1000000000LL + ts->tv_nsec;
}

/* Whether the kernel may keep the pages that it has: nothing changed since the last open, and then
 * already nothing had for long. Within a tick of the clock, or while a mapping's pages are dirty,
 * the same times can mean another content. */
static bool is_settled(struct files *files, uint64_t ino, int fd)
{
	int64_t now = (int64_t)clock_wall_usec() * 1000;
	struct node_stamp stamp;
	struct statx sx = {0};

	if (!files->mtime_is_true || files_statx(fd, "", &sx) < 0)
		return false;
	stamp = (struct node_stamp){
		.mtime_nsec = nsec_of(&sx.stx_mtime),
		.ctime_nsec = nsec_of(&sx.stx_ctime),
		.size = (int64_t)sx.stx_size,
	};
	if (stamp.mtime_nsec > now - SETTLED_NSEC || stamp.ctime_nsec > now - SETTLED_NSEC)
		return node_table_stamp(files->nodes, ino, NULL);
	return node_table_stamp(files->nodes, ino, &stamp);
}

/* Nothing can have changed while the sandbox was quiet all along. */
static bool is_unchanged(struct files *files, uint64_t ino, int fd)
{
	uint64_t token = files_cache_token(files);
	bool same = node_table_token(files->nodes, ino, token);

	return is_settled(files, ino, fd) || same;
}

/* Whether a close need not be told before the last one: it is only for locks, and to be told takes time.
 * Who opens to read, or makes a new file as tools do that write many, hardly locks it by POSIX. */
static bool closes_unseen(const struct fuse_file_info *fi, bool creates)
{
	int how = fi->flags & O_ACCMODE;

	if (how == O_RDONLY || (fi->flags & O_TRUNC))
		return true;
	return creates && ((fi->flags & O_EXCL) || (how == O_WRONLY && !(fi->flags & O_APPEND)));
}

static void set_handle(
	struct files *files, fuse_req_t req, struct fuse_file_info *fi, struct node_handle *handle)
{
	fi->fh = (uintptr_t)handle;
	fi->noflush = handle->closes_unseen;
	files_backing_open(files, req, handle, fi);
}

/* A file opened by its name, which is verified afterwards. -EAGAIN: not this way. Where a command could
 * put something else there, it is looked at first; and nothing is truncated by name. */
static int open_by_name(struct files *files, uint64_t ino, int flags)
{
	auto_place struct node_place place = {0};
	auto_close int fd = -1;
	struct node_key key;
	struct statx sx = {0};

	if (!files_cache_is_quiet(files) || (flags & O_TRUNC) ||
		node_table_place(files->nodes, ino, &place) < 0 || !*place.name ||
		!S_ISREG(place.key.type))
		return -EAGAIN;
	fd = openat(place.use.fd, place.name, backing_flags(flags) | O_NOFOLLOW);
	if (fd < 0 || files_statx(fd, "", &sx) < 0)
		return -EAGAIN;
	files_key(files, &sx, &key);
	return node_key_same(&key, &place.key) ? take_fd(&fd) : -EAGAIN;
}

static int open_by_node(struct files *files, uint64_t ino, int flags)
{
	auto_use struct node_use use = {0};
	int r = node_table_use(files->nodes, ino, &use);

	return r < 0 ? r : files_reopen(files, use.fd, flags);
}

static int open_node(struct files *files, fuse_ino_t ino, fuse_req_t req, struct fuse_file_info *fi)
{
	struct node_handle *handle;
	int r, fd = open_by_name(files, ino, fi->flags);

	if (fd == -EAGAIN)
		fd = open_by_node(files, ino, fi->flags);
	if (fd < 0)
		return fd;
	if (fi->flags & O_TRUNC)
		files_drop_set_ids(fd, fuse_req_ctx(req));
	r = node_table_attach(files->nodes, ino, fd, &handle);
	if (r < 0)
		return r;
	handle->closes_unseen = closes_unseen(fi, false);
	set_handle(files, req, fi, handle);
	fi->keep_cache = !handle->backing_id && is_unchanged(files, ino, fd);
	return 0;
}

static void close_handle(struct files *files, struct fuse_file_info *fi)
{
	files_backing_close(files, (struct node_handle *)(uintptr_t)fi->fh);
}

void files_open(struct files *files, fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	int r = open_node(files, ino, req, fi);

	files_cache_settle(files);
	if (r < 0)
		files_reply(req, r);
	else if (fuse_reply_open(req, fi) == -ENOENT)
		close_handle(files, fi);
}

/* A new file, or -EEXIST. */
static int create_at(struct files *files, int dir_fd, const char *name, mode_t mode, int flags)
{
	int all = backing_flags(flags) | O_CREAT | O_EXCL | O_NOFOLLOW;
	int r = open_retrying(dir_fd, name, all & ~O_TRUNC, mode & 07777);

	if (r != -EMFILE && r != -ENFILE)
		return r;
	node_table_relieve(files->nodes);
	return open_retrying(dir_fd, name, all & ~O_TRUNC, mode & 07777);
}

/* The kernel saw no such name, but by now there is one. -ESTALE makes it look again when what it is
 * cannot be opened here, as a symbolic link. */
static int open_existing(struct files *files, int dir_fd, const char *name, int flags)
{
	auto_close int fd = openat(dir_fd, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	int r;

	if (fd < 0)
		return errno == ENOENT ? -ESTALE : -errno;
	r = files_reopen(files, fd, flags);
	return r == -ELOOP || r == -ENXIO || r == -EISDIR ? -ESTALE : r;
}

static int attach_made(struct files *files, fuse_req_t req, int fd, struct fuse_entry_param *e,
	struct fuse_file_info *fi)
{
	struct node_handle *handle;
	int r = node_table_attach(files->nodes, e->ino, fd, &handle);

	if (r < 0) {
		files_forget(files, e->ino, 1);
		return r;
	}
	handle->closes_unseen = closes_unseen(fi, true);
	set_handle(files, req, fi, handle);
	return 0;
}

static int create(struct files *files, fuse_req_t req, fuse_ino_t parent, const char *name,
	mode_t mode, struct fuse_file_info *fi, struct files_term *ret_term,
	struct fuse_entry_param *ret)
{
	auto_new struct files_new made = {0};
	auto_close int fd = -1;
	struct statx sx = {0};
	int r = files_new_begin(files, parent, name, &made);

	if (r < 0)
		return r;
	*ret_term = made.name.term;
	fd = create_at(files, made.dir.fd, name, mode, fi->flags);
	if (fd == -EEXIST && !(fi->flags & O_EXCL))
		fd = open_existing(files, made.dir.fd, name, fi->flags);
	if (fd < 0)
		return fd;
	r = files_statx(fd, "", &sx);
	if (r == 0)
		r = files_enter_found(files, &made.name, &sx, -1, ret);
	return r < 0 ? r : attach_made(files, req, take_fd(&fd), ret, fi);
}

static void reply_created(struct files *files, fuse_req_t req, const struct files_term *term,
	const struct fuse_entry_param *e, struct fuse_file_info *fi)
{
	if (fuse_reply_create(req, e, fi) != -ENOENT) {
		files_cache_end(files, term, e->ino);
		return;
	}
	close_handle(files, fi);
	files_forget(files, e->ino, 1);
}

void files_create(struct files *files, fuse_req_t req, fuse_ino_t parent, const char *name,
	mode_t mode, struct fuse_file_info *fi)
{
	struct files_term term;
	struct fuse_entry_param e = {0};
	int r = create(files, req, parent, name, mode, fi, &term, &e);

	if (r < 0)
		files_reply(req, r);
	else
		reply_created(files, req, &term, &e, fi);
}

static int make_nameless(struct files *files, fuse_req_t req, fuse_ino_t parent, mode_t mode,
	struct fuse_file_info *fi, struct fuse_entry_param *ret)
{
	auto_use struct node_use dir = {0};
	auto_close int fd = -1;
	const struct files_term none = {0};
	struct node_key key;
	struct statx sx = {0};
	uint64_t ino;
	int r;

	r = files_use_dir(files, parent, &dir);
	if (r < 0)
		return r;
	fd = openat(dir.fd, ".", backing_flags(fi->flags) | O_TMPFILE | (fi->flags & O_EXCL),
		mode & 07777);
	if (fd < 0)
		return -errno;
	r = files_statx(fd, "", &sx);
	if (r < 0)
		return r;
	files_key(files, &sx, &key);
	r = node_table_enter_nameless(files->nodes, &key, &ino);
	if (r < 0)
		return r;
	files_fill(files, &sx, &ret->attr);
	files_fill_entry(files, &none, ino, ret);
	return attach_made(files, req, take_fd(&fd), ret, fi);
}

/* Reached only with a libfuse that has the operation (3.17); older ones answer EOPNOTSUPP. */
void files_tmpfile(struct files *files, fuse_req_t req, fuse_ino_t parent, mode_t mode,
	struct fuse_file_info *fi)
{
	const struct files_term none = {0};
	struct fuse_entry_param e = {0};
	int r = make_nameless(files, req, parent, mode, fi, &e);

	if (r < 0)
		files_reply(req, r);
	else
		reply_created(files, req, &none, &e, fi);
}

/* Data has been written by then; errors have been reported. Told for the sake of locks. */
void files_flush(struct files *files, fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	(void)files;
	(void)ino;
	(void)fi;
	files_reply(req, 0);
}

int files_handle_fd(const struct fuse_file_info *fi, bool *ret_writable)
{
	int fd = ((struct node_handle *)(uintptr_t)fi->fh)->fd;

	*ret_writable = (fcntl(fd, F_GETFL) & O_ACCMODE) != O_RDONLY;
	return fd;
}

bool files_handle_closes_unseen(const struct fuse_file_info *fi)
{
	return ((struct node_handle *)(uintptr_t)fi->fh)->closes_unseen;
}

void files_relieve(struct files *files)
{
	node_table_relieve(files->nodes);
}

/* As at an open: the pages that the kernel keeps of the file may be old. Those that it reads by itself are
 * not. */
void files_reply_locked(
	struct files *files, fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	const struct node_handle *handle = (const struct node_handle *)(uintptr_t)fi->fh;

	files_cache_settle(files);
	if (!handle->backing_id && !is_unchanged(files, ino, handle->fd))
		files_cache_forget_pages(files, ino);
	files_reply(req, 0);
}

void files_release(struct files *files, fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	(void)ino;
	close_handle(files, fi);
	files_reply(req, 0);
}
