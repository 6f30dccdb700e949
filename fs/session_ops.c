// What the kernel asks: each request goes to files/ or to the other directories.
#include "fs/session_ops.h"

#include <errno.h>
#include <fcntl.h>

#include "common/scope.h"
#include "fs/files/files.h"
#include "fs/lock_ops.h"
#include "fs/mount.h"
#include "fs/synth/synth_ops.h"

#define BACKGROUND_MAX 1024

/* FUSE 7.40, Linux 6.9: it surely gives up the pages of what is written past them. */
#define DIRECT_MINOR 40

static struct mount *mount_of(fuse_req_t req)
{
	return fuse_req_userdata(req);
}

/* files/ and checkpoints/N/tree/ are served by the same code. */
static struct files *files_of(struct mount *m, fuse_ino_t ino)
{
	return files_is_in_trees(ino) ? m->trees : m->files;
}

/* Answers a request that would change a checkpoint's content. */
static bool refuse_in_trees(fuse_req_t req, fuse_ino_t ino)
{
	if (files_is_in_trees(ino))
		fuse_reply_err(req, EROFS);
	return files_is_in_trees(ino);
}

/* The same for what `rm -r` of a whole checkpoint does to its content on the way: see
 * struct synth_dir. */
static bool answer_removal_in_trees(fuse_req_t req, fuse_ino_t ino)
{
	if (files_is_in_trees(ino))
		fuse_reply_err(
			req, removals_has(mount_of(req), fuse_req_ctx(req)->pid) ? 0 : EROFS);
	return files_is_in_trees(ino);
}

/* Serves files/ while another thread may lead. */
#define BY_FILES(m, call)                                                                          \
	do {                                                                                       \
		loop_lend((m)->loop);                                                              \
		call;                                                                              \
		loop_reclaim((m)->loop);                                                           \
	} while (0)

/* Serves the other directories: what they show may have been heard of the sandbox. */
#define BY_SYNTH(m, call)                                                                          \
	do {                                                                                       \
		mount_tell(m);                                                                     \
		call;                                                                              \
	} while (0)

static void op_init(void *userdata, struct fuse_conn_info *conn)
{
	static const unsigned wanted[] = {FUSE_CAP_EXPORT_SUPPORT, FUSE_CAP_ASYNC_READ,
		FUSE_CAP_ATOMIC_O_TRUNC, FUSE_CAP_PARALLEL_DIROPS, FUSE_CAP_READDIRPLUS,
		FUSE_CAP_AUTO_INVAL_DATA, FUSE_CAP_ASYNC_DIO, FUSE_CAP_POSIX_LOCKS,
		FUSE_CAP_FLOCK_LOCKS, LIBFUSE_CAP_KILLPRIV, LIBFUSE_CAP_PASSTHROUGH};
	static const unsigned unwanted[] = {FUSE_CAP_WRITEBACK_CACHE, FUSE_CAP_SPLICE_READ,
		FUSE_CAP_SPLICE_WRITE, FUSE_CAP_SPLICE_MOVE, FUSE_CAP_HANDLE_KILLPRIV};

	for (size_t i = 0; i < ARRAY_LEN(wanted); i++)
		if (conn->capable & wanted[i])
			conn->want |= wanted[i];
	for (size_t i = 0; i < ARRAY_LEN(unwanted); i++)
		conn->want &= ~unwanted[i];
	conn->max_write = 1024 * 1024;
	/* Read-ahead and the like: as long as so many wait for a disk, the kernel asks for no more. */
	conn->max_background = BACKGROUND_MAX;
	conn->congestion_threshold = BACKGROUND_MAX;
	files_direct_offer(((struct mount *)userdata)->files, conn->proto_minor >= DIRECT_MINOR);
	files_backing_offer(
		((struct mount *)userdata)->files, conn->capable & LIBFUSE_CAP_PASSTHROUGH);
	libfuse_on_init(conn);
	((struct mount *)userdata)->greeted = true;
}

static void op_lookup(fuse_req_t req, fuse_ino_t parent, const char *name)
{
	struct mount *m = mount_of(req);

	if (files_owns(parent))
		BY_FILES(m, files_lookup(files_of(m, parent), req, parent, name));
	else
		BY_SYNTH(m, synth_lookup(m, req, parent, name));
}

static void forget(struct mount *m, fuse_ino_t ino, uint64_t nlookup)
{
	if (files_owns(ino))
		files_forget(files_of(m, ino), ino, nlookup);
}

static void op_forget(fuse_req_t req, fuse_ino_t ino, uint64_t nlookup)
{
	forget(mount_of(req), ino, nlookup);
	fuse_reply_none(req);
}

static void op_forget_multi(fuse_req_t req, size_t count, struct fuse_forget_data *forgets)
{
	for (size_t i = 0; i < count; i++)
		forget(mount_of(req), forgets[i].ino, forgets[i].nlookup);
	fuse_reply_none(req);
}

static void op_getattr(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	struct mount *m = mount_of(req);

	if (files_owns(ino))
		BY_FILES(m, files_getattr(files_of(m, ino), req, ino, fi));
	else
		BY_SYNTH(m, synth_getattr(m, req, ino));
}

static void op_setattr(
	fuse_req_t req, fuse_ino_t ino, struct stat *attr, int to_set, struct fuse_file_info *fi)
{
	struct mount *m = mount_of(req);

	if (refuse_in_trees(req, ino))
		return;
	if (files_owns(ino))
		BY_FILES(m, files_setattr(files_of(m, ino), req, ino, attr, to_set, fi));
	else
		BY_SYNTH(m, synth_setattr(m, req, ino, attr, to_set, fi));
}

static void op_readlink(fuse_req_t req, fuse_ino_t ino)
{
	struct mount *m = mount_of(req);

	if (files_owns(ino))
		BY_FILES(m, files_readlink(files_of(m, ino), req, ino));
	else
		BY_SYNTH(m, synth_readlink(m, req, ino));
}

static void op_mknod(fuse_req_t req, fuse_ino_t parent, const char *name, mode_t mode, dev_t rdev)
{
	struct mount *m = mount_of(req);

	if (refuse_in_trees(req, parent))
		return;
	if (files_owns(parent))
		BY_FILES(m, files_mknod(files_of(m, parent), req, parent, name, mode, rdev));
	else
		BY_SYNTH(m, synth_mknod(m, req, parent, name, mode));
}

static void op_mkdir(fuse_req_t req, fuse_ino_t parent, const char *name, mode_t mode)
{
	struct mount *m = mount_of(req);

	if (refuse_in_trees(req, parent))
		return;
	if (files_owns(parent))
		BY_FILES(m, files_mkdir(files_of(m, parent), req, parent, name, mode));
	else
		BY_SYNTH(m, synth_mkdir(m, req, parent, name));
}

static void op_unlink(fuse_req_t req, fuse_ino_t parent, const char *name)
{
	struct mount *m = mount_of(req);

	if (answer_removal_in_trees(req, parent))
		return;
	if (files_owns(parent))
		BY_FILES(m, files_unlink(files_of(m, parent), req, parent, name));
	else
		BY_SYNTH(m, synth_unlink(m, req, parent, name));
}

static void op_rmdir(fuse_req_t req, fuse_ino_t parent, const char *name)
{
	struct mount *m = mount_of(req);

	if (answer_removal_in_trees(req, parent))
		return;
	if (files_owns(parent))
		BY_FILES(m, files_rmdir(files_of(m, parent), req, parent, name));
	else
		BY_SYNTH(m, synth_rmdir(m, req, parent, name));
}

static void op_symlink(fuse_req_t req, const char *link, fuse_ino_t parent, const char *name)
{
	struct mount *m = mount_of(req);

	if (refuse_in_trees(req, parent))
		return;
	if (files_owns(parent))
		BY_FILES(m, files_symlink(files_of(m, parent), req, link, parent, name));
	else
		BY_SYNTH(m, synth_symlink(m, req, parent, name));
}

static void op_rename(fuse_req_t req, fuse_ino_t parent, const char *name, fuse_ino_t newparent,
	const char *newname, unsigned int flags)
{
	struct mount *m = mount_of(req);

	if (refuse_in_trees(req, parent) || refuse_in_trees(req, newparent))
		return;
	if (files_owns(parent) && files_owns(newparent))
		BY_FILES(m, files_rename(files_of(m, parent), req, parent, name, newparent, newname,
				    flags));
	else if (files_owns(parent) || files_owns(newparent))
		fuse_reply_err(req, EXDEV);
	else
		BY_SYNTH(m, synth_rename(m, req, parent, name, newparent, newname, flags));
}

static void op_link(fuse_req_t req, fuse_ino_t ino, fuse_ino_t newparent, const char *newname)
{
	struct mount *m = mount_of(req);

	if (refuse_in_trees(req, newparent))
		return;
	if (files_owns(ino) && files_owns(newparent) && !files_is_in_trees(ino))
		BY_FILES(m, files_link(files_of(m, ino), req, ino, newparent, newname));
	else if (files_owns(ino) || files_owns(newparent))
		fuse_reply_err(req, EXDEV);
	else
		BY_SYNTH(m, synth_link(m, req, newparent, newname));
}

static void op_open(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	struct mount *m = mount_of(req);

	if ((fi->flags & (O_ACCMODE | O_TRUNC)) != O_RDONLY && refuse_in_trees(req, ino))
		return;
	if (files_owns(ino))
		BY_FILES(m, files_open(files_of(m, ino), req, ino, fi));
	else
		BY_SYNTH(m, synth_open(m, req, ino, fi));
}

static void op_create(
	fuse_req_t req, fuse_ino_t parent, const char *name, mode_t mode, struct fuse_file_info *fi)
{
	struct mount *m = mount_of(req);

	if (refuse_in_trees(req, parent))
		return;
	if (files_owns(parent))
		BY_FILES(m, files_create(files_of(m, parent), req, parent, name, mode, fi));
	else
		BY_SYNTH(m, synth_create(m, req, parent, name, fi));
}

static void op_read(
	fuse_req_t req, fuse_ino_t ino, size_t size, off_t off, struct fuse_file_info *fi)
{
	struct mount *m = mount_of(req);

	if (files_owns(ino))
		BY_FILES(m, files_read(files_of(m, ino), req, ino, size, off, fi));
	else
		BY_SYNTH(m, synth_read(m, req, size, off, fi));
}

static void op_write_buf(fuse_req_t req, fuse_ino_t ino, struct fuse_bufvec *in, off_t off,
	struct fuse_file_info *fi)
{
	struct mount *m = mount_of(req);

	if (files_owns(ino))
		BY_FILES(m, files_write_buf(files_of(m, ino), req, ino, in, off, fi));
	else
		BY_SYNTH(m, synth_write(m, req, in, off, fi));
}

static void op_flush(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	struct mount *m = mount_of(req);

	lock_ops_flush(m, ino, fi);
	if (files_owns(ino))
		BY_FILES(m, files_flush(files_of(m, ino), req, ino, fi));
	else
		BY_SYNTH(m, synth_flush(m, req, fi));
}

static void op_release(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	struct mount *m = mount_of(req);

	lock_ops_release(m, ino, fi);
	if (files_owns(ino))
		BY_FILES(m, files_release(files_of(m, ino), req, ino, fi));
	else
		BY_SYNTH(m, synth_release(m, req, fi));
}

static void op_fsync(fuse_req_t req, fuse_ino_t ino, int datasync, struct fuse_file_info *fi)
{
	struct mount *m = mount_of(req);

	if (files_owns(ino))
		BY_FILES(m, files_fsync(files_of(m, ino), req, ino, datasync, fi));
	else
		BY_SYNTH(m, synth_fsync(m, req, fi));
}

/* The files of which ino is one, for a lock; NULL: it is synthetic. */
static struct files *lockable(struct mount *m, fuse_ino_t ino)
{
	return files_owns(ino) ? files_of(m, ino) : NULL;
}

static void op_getlk(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi, struct flock *lock)
{
	struct mount *m = mount_of(req);

	lock_ops_getlk(m, lockable(m, ino), req, ino, fi, lock);
}

static void op_setlk(
	fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi, struct flock *lock, int sleep)
{
	struct mount *m = mount_of(req);

	lock_ops_setlk(m, lockable(m, ino), req, ino, fi, lock, sleep);
}

static void op_flock(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi, int operation)
{
	struct mount *m = mount_of(req);

	lock_ops_flock(m, lockable(m, ino), req, ino, fi, operation);
}

static void op_poll(
	fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi, struct fuse_pollhandle *poll)
{
	if (files_owns(ino)) {
		if (poll)
			fuse_pollhandle_destroy(poll);
		fuse_reply_err(req, ENOSYS);
		return;
	}
	BY_SYNTH(mount_of(req), synth_poll(mount_of(req), req, fi, poll));
}

/* Asked once: with this answer the kernel opens and closes directories by itself, all of them. It also
 * keeps the names of each that was read to its end, and lists from them while the time of change stays
 * as it was: files_cache.h and synth_list.c see to it that they are right. */
static void op_opendir(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	(void)ino;
	(void)fi;
	fuse_reply_err(req, ENOSYS);
}

static void op_readdir(
	fuse_req_t req, fuse_ino_t ino, size_t size, off_t off, struct fuse_file_info *fi)
{
	struct mount *m = mount_of(req);

	(void)fi;
	if (files_owns(ino))
		BY_FILES(m, files_readdir(files_of(m, ino), req, ino, size, off));
	else
		BY_SYNTH(m, synth_readdir(m, req, ino, size, off, false));
}

static void op_readdirplus(
	fuse_req_t req, fuse_ino_t ino, size_t size, off_t off, struct fuse_file_info *fi)
{
	struct mount *m = mount_of(req);

	(void)fi;
	if (files_owns(ino))
		BY_FILES(m, files_readdirplus(files_of(m, ino), req, ino, size, off));
	else
		BY_SYNTH(m, synth_readdir(m, req, ino, size, off, true));
}

static void op_fsyncdir(fuse_req_t req, fuse_ino_t ino, int datasync, struct fuse_file_info *fi)
{
	struct mount *m = mount_of(req);

	(void)fi;
	if (files_owns(ino))
		BY_FILES(m, files_fsyncdir(files_of(m, ino), req, ino, datasync));
	else
		fuse_reply_err(req, 0);
}

static void op_statfs(fuse_req_t req, fuse_ino_t ino)
{
	struct mount *m = mount_of(req);

	BY_FILES(m, files_statfs(files_of(m, ino), req, files_owns(ino) ? ino : FILES_ROOT));
}

static void op_setxattr(
	fuse_req_t req, fuse_ino_t ino, const char *name, const char *value, size_t size, int flags)
{
	struct mount *m = mount_of(req);

	if (refuse_in_trees(req, ino))
		return;
	if (files_owns(ino))
		BY_FILES(m, files_setxattr(files_of(m, ino), req, ino, name, value, size, flags));
	else
		fuse_reply_err(req, EOPNOTSUPP);
}

static void op_getxattr(fuse_req_t req, fuse_ino_t ino, const char *name, size_t size)
{
	struct mount *m = mount_of(req);

	if (files_owns(ino))
		BY_FILES(m, files_getxattr(files_of(m, ino), req, ino, name, size));
	else
		fuse_reply_err(req, EOPNOTSUPP);
}

static void op_listxattr(fuse_req_t req, fuse_ino_t ino, size_t size)
{
	struct mount *m = mount_of(req);

	if (files_owns(ino))
		BY_FILES(m, files_listxattr(files_of(m, ino), req, ino, size));
	else if (size)
		fuse_reply_buf(req, NULL, 0);
	else
		fuse_reply_xattr(req, 0);
}

static void op_removexattr(fuse_req_t req, fuse_ino_t ino, const char *name)
{
	struct mount *m = mount_of(req);

	if (refuse_in_trees(req, ino))
		return;
	if (files_owns(ino))
		BY_FILES(m, files_removexattr(files_of(m, ino), req, ino, name));
	else
		fuse_reply_err(req, EOPNOTSUPP);
}

static void op_access(fuse_req_t req, fuse_ino_t ino, int mask)
{
	struct mount *m = mount_of(req);

	if ((mask & W_OK) && answer_removal_in_trees(req, ino))
		return;
	if (files_owns(ino))
		BY_FILES(m, files_access(files_of(m, ino), req, ino, mask));
	else
		BY_SYNTH(m, synth_access(m, req, ino, mask));
}

static void op_fallocate(fuse_req_t req, fuse_ino_t ino, int mode, off_t offset, off_t length,
	struct fuse_file_info *fi)
{
	struct mount *m = mount_of(req);

	if (refuse_in_trees(req, ino))
		return;
	if (files_owns(ino))
		BY_FILES(m, files_fallocate(files_of(m, ino), req, ino, mode, offset, length, fi));
	else
		fuse_reply_err(req, EOPNOTSUPP);
}

static void op_copy_file_range(fuse_req_t req, fuse_ino_t ino_in, off_t off_in,
	struct fuse_file_info *fi_in, fuse_ino_t ino_out, off_t off_out,
	struct fuse_file_info *fi_out, size_t len, int flags)
{
	struct mount *m = mount_of(req);

	if (refuse_in_trees(req, ino_out))
		return;
	if (files_is_in_trees(ino_in))
		fuse_reply_err(req, EXDEV);
	else if (files_owns(ino_in) && files_owns(ino_out))
		BY_FILES(m, files_copy_file_range(files_of(m, ino_in), req, ino_in, off_in, fi_in,
				    ino_out, off_out, fi_out, len, flags));
	else
		fuse_reply_err(req, EOPNOTSUPP);
}

static void op_lseek(
	fuse_req_t req, fuse_ino_t ino, off_t off, int whence, struct fuse_file_info *fi)
{
	struct mount *m = mount_of(req);

	if (files_owns(ino))
		BY_FILES(m, files_lseek(files_of(m, ino), req, ino, off, whence, fi));
	else
		fuse_reply_err(req, EINVAL);
}

#if FUSE_VERSION >= FUSE_MAKE_VERSION(3, 17)
static void op_tmpfile(fuse_req_t req, fuse_ino_t parent, mode_t mode, struct fuse_file_info *fi)
{
	struct mount *m = mount_of(req);

	if (refuse_in_trees(req, parent))
		return;
	if (files_owns(parent))
		BY_FILES(m, files_tmpfile(files_of(m, parent), req, parent, mode, fi));
	else
		fuse_reply_err(req, EOPNOTSUPP);
}
#endif

const struct fuse_lowlevel_ops session_ops = {
	.init = op_init,
	.lookup = op_lookup,
	.forget = op_forget,
	.forget_multi = op_forget_multi,
	.getattr = op_getattr,
	.setattr = op_setattr,
	.readlink = op_readlink,
	.mknod = op_mknod,
	.mkdir = op_mkdir,
	.unlink = op_unlink,
	.rmdir = op_rmdir,
	.symlink = op_symlink,
	.rename = op_rename,
	.link = op_link,
	.open = op_open,
	.create = op_create,
	.read = op_read,
	.write_buf = op_write_buf,
	.flush = op_flush,
	.release = op_release,
	.fsync = op_fsync,
	.getlk = op_getlk,
	.setlk = op_setlk,
	.flock = op_flock,
	.poll = op_poll,
	.opendir = op_opendir,
	.readdir = op_readdir,
	.readdirplus = op_readdirplus,
	.fsyncdir = op_fsyncdir,
	.statfs = op_statfs,
	.setxattr = op_setxattr,
	.getxattr = op_getxattr,
	.listxattr = op_listxattr,
	.removexattr = op_removexattr,
	.access = op_access,
	.fallocate = op_fallocate,
	.copy_file_range = op_copy_file_range,
	.lseek = op_lseek,
#if FUSE_VERSION >= FUSE_MAKE_VERSION(3, 17)
	.tmpfile = op_tmpfile,
#endif
};
