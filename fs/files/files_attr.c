// Attributes of files/: reading and changing them.
#include "fs/files/files_impl.h"

#include <errno.h>
#include <stdio.h>
#include <sys/sysmacros.h>

#include "common/buf.h"
#include "common/scope.h"

#define DEVICE_SHIFT 48 /* above any inode number that a local file system gives */

int files_statx(int fd, const char *name, struct statx *ret)
{
	int flags = AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT | (*name ? 0 : AT_EMPTY_PATH);

	return statx(fd, name, flags, STATX_BASIC_STATS | STATX_BTIME, ret) < 0 ? -errno : 0;
}

static int64_t nsec_of(const struct statx_timestamp *ts)
{
	return ts->tv_sec * 1000000000LL + ts->tv_nsec;
}

void files_key(const struct files *files, const struct statx *sx, struct node_key *ret)
{
	*ret = (struct node_key){
		.dev = makedev(sx->stx_dev_major, sx->stx_dev_minor),
		.ino = sx->stx_ino,
		.type = sx->stx_mode & S_IFMT,
	};
	if (files->has_birth && ret->dev == files->root_dev && (sx->stx_mask & STATX_BTIME))
		ret->born_nsec = nsec_of(&sx->stx_btime);
}

/* Which of the devices below the root it is: 1, 2, ... */
static uint64_t device_tag(struct files *files, dev_t dev)
{
	unsigned i = 0;

	pthread_mutex_lock(&files->devices_lock);
	while (i < files->devices_len && files->devices[i] != dev)
		i++;
	if (i == files->devices_len && i < FILES_DEVICES_MAX)
		files->devices[files->devices_len++] = dev;
	pthread_mutex_unlock(&files->devices_lock);
	return i + 1;
}

uint64_t files_ino(struct files *files, dev_t dev, ino_t ino)
{
	return dev == files->root_dev ? ino : ino ^ (device_tag(files, dev) << DEVICE_SHIFT);
}

static struct timespec timespec_of(const struct statx_timestamp *ts)
{
	return (struct timespec){.tv_sec = ts->tv_sec, .tv_nsec = ts->tv_nsec};
}

void files_fill(struct files *files, const struct statx *sx, struct stat *ret)
{
	const struct files_config *c = &files->config;

	*ret = (struct stat){
		.st_ino = files_ino(
			files, makedev(sx->stx_dev_major, sx->stx_dev_minor), sx->stx_ino),
		.st_mode = sx->stx_mode,
		.st_nlink = sx->stx_nlink,
		.st_uid = files_shown_id(sx->stx_uid, c->ids_base, c->ids_len, c->owner_uid),
		.st_gid = files_shown_id(sx->stx_gid, c->ids_base, c->ids_len, c->owner_gid),
		.st_rdev = makedev(sx->stx_rdev_major, sx->stx_rdev_minor),
		.st_size = (off_t)sx->stx_size,
		.st_blksize = sx->stx_blksize,
		.st_blocks = (blkcnt_t)sx->stx_blocks,
		.st_atim = timespec_of(&sx->stx_atime),
		.st_mtim = timespec_of(&sx->stx_mtime),
		.st_ctim = timespec_of(&sx->stx_ctime),
	};
}

void files_fix_link_size(
	struct files *files, int dir_fd, const char *name, unsigned depth, struct stat *st)
{
	auto_buf struct buf text = {0};

	if (files_link_text(files, dir_fd, name, depth, &text) == 0)
		st->st_size = (off_t)text.len;
}

/* By name where the node itself is not open; what is found there has to be the same inode. */
static int stat_place(struct files *files, uint64_t ino, struct stat *ret)
{
	auto_place struct node_place place = {0};
	struct node_key key;
	struct statx sx = {0};
	int r;

	r = node_table_place(files->nodes, ino, &place);
	if (r == 0)
		r = files_statx(place.use.fd, place.name, &sx);
	if (r < 0)
		return r == -ENOENT || r == -ENOTDIR ? -ESTALE : r;
	files_key(files, &sx, &key);
	if (!node_key_same(&key, &place.key))
		return -ESTALE;
	files_fill(files, &sx, ret);
	if (S_ISLNK(sx.stx_mode))
		files_fix_link_size(files, place.use.fd, place.name, place.depth, ret);
	return 0;
}

int files_stat(struct files *files, uint64_t ino, struct stat *ret)
{
	auto_use struct node_use use = {0};
	struct statx sx = {0};
	int r;

	r = stat_place(files, ino, ret);
	if (r != -ESTALE)
		return r;
	r = node_table_use(files->nodes, ino, &use);
	if (r == 0)
		r = files_statx(use.fd, "", &sx);
	if (r == 0)
		files_fill(files, &sx, ret);
	return r;
}

static void reply_attr(struct files *files, fuse_req_t req, uint64_t ino,
	const struct files_term *term, int r, const struct stat *st)
{
	double timeout;

	files_cache_settle(files);
	if (r < 0) {
		files_reply(req, r);
		return;
	}
	timeout = files_cache_attr(files, term, ino, st);
	fuse_reply_attr(req, st, timeout);
	files_cache_end(files, term, ino);
}

void files_getattr(struct files *files, fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	struct files_term term = files_cache_begin_node(files, ino);
	struct stat st;
	int r;

	(void)fi;
	r = files_stat(files, ino, &st);
	reply_attr(files, req, ino, &term, r, &st);
}

static int set_owner(struct files *files, int fd, const struct stat *attr, int to_set)
{
	const struct files_config *c = &files->config;
	uid_t uid = (uid_t)-1;
	gid_t gid = (gid_t)-1;
	int r = 0;

	if (to_set & FUSE_SET_ATTR_UID)
		r = files_real_id(attr->st_uid, c->ids_base, c->ids_len, c->owner_uid, &uid);
	if (r == 0 && (to_set & FUSE_SET_ATTR_GID))
		r = files_real_id(attr->st_gid, c->ids_base, c->ids_len, c->owner_gid, &gid);
	if (r < 0)
		return r;
	return fchownat(fd, "", uid, gid, AT_EMPTY_PATH | AT_SYMLINK_NOFOLLOW) < 0 ? -errno : 0;
}

static int set_mode(struct files *files, int fd, mode_t mode)
{
	char name[16];

	snprintf(name, sizeof(name), "%d", fd);
	return fchmodat(files->proc_fd, name, mode & 07777, 0) < 0 ? -errno : 0;
}

/* Through an open file: by path it would wait for whoever holds a lease. */
static int set_size(struct files *files, int fd, off_t size, const struct fuse_ctx *caller,
	struct fuse_file_info *fi)
{
	auto_close int opened = fi ? -1 : files_reopen(files, fd, O_WRONLY);

	if (!fi && opened < 0)
		return opened;
	fd = fi ? ((struct node_handle *)(uintptr_t)fi->fh)->fd : opened;
	if (ftruncate(fd, size) < 0)
		return -errno;
	files_drop_set_ids(fd, caller);
	return 0;
}

static int set_times(int fd, const struct stat *attr, int to_set)
{
	struct timespec times[2] = {{.tv_nsec = UTIME_OMIT}, {.tv_nsec = UTIME_OMIT}};

	if (to_set & FUSE_SET_ATTR_ATIME_NOW)
		times[0].tv_nsec = UTIME_NOW;
	else if (to_set & FUSE_SET_ATTR_ATIME)
		times[0] = attr->st_atim;
	if (to_set & FUSE_SET_ATTR_MTIME_NOW)
		times[1].tv_nsec = UTIME_NOW;
	else if (to_set & FUSE_SET_ATTR_MTIME)
		times[1] = attr->st_mtim;
	return utimensat(fd, "", times, AT_EMPTY_PATH) < 0 ? -errno : 0;
}

/* The mode after the owner, which takes the set-id bits away; the times last, since the size
 * changes them. */
static int set_attr(struct files *files, int fd, const struct stat *attr, int to_set,
	const struct fuse_ctx *caller, struct fuse_file_info *fi)
{
	const int times = FUSE_SET_ATTR_ATIME | FUSE_SET_ATTR_ATIME_NOW | FUSE_SET_ATTR_MTIME |
			  FUSE_SET_ATTR_MTIME_NOW;
	int r = 0;

	if (to_set & FUSE_SET_ATTR_SIZE)
		r = set_size(files, fd, attr->st_size, caller, fi);
	if (r == 0 && (to_set & (FUSE_SET_ATTR_UID | FUSE_SET_ATTR_GID)))
		r = set_owner(files, fd, attr, to_set);
	if (r == 0 && (to_set & FUSE_SET_ATTR_MODE))
		r = set_mode(files, fd, attr->st_mode);
	if (r == 0 && (to_set & times))
		r = set_times(fd, attr, to_set);
	return r;
}

static int change(struct files *files, fuse_ino_t ino, struct stat *attr, int to_set,
	const struct fuse_ctx *caller, struct fuse_file_info *fi)
{
	auto_use struct node_use use = {0};
	int r;

	r = node_table_use(files->nodes, ino, &use);
	if (r < 0)
		return r;
	if (use.reserved)
		return -EACCES;
	r = set_attr(files, use.fd, attr, to_set, caller, fi);
	return r < 0 ? r : files_stat(files, ino, attr);
}

void files_setattr(struct files *files, fuse_req_t req, fuse_ino_t ino, struct stat *attr,
	int to_set, struct fuse_file_info *fi)
{
	struct files_term term = files_cache_begin_node(files, ino);
	struct stat st = *attr;
	int r;

	r = change(files, ino, &st, to_set, fuse_req_ctx(req), fi);
	reply_attr(files, req, ino, &term, r, &st);
}
