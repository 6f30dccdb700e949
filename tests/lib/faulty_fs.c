// A file system that shows a directory and fails, or answers nothing, on command: for what happens when
// the disk below a sandbox does.
//
// faulty_fs DIR MOUNT_POINT CONTROL: shows DIR at MOUNT_POINT, in the foreground. While there is a file
// CONTROL, its one line says what goes wrong:
//     fail OP,OP,... PART    these operations give EIO where the path contains PART
//     hold OP,OP,... PART    they are answered once CONTROL says otherwise
// OP is as in the table below, or `all`; without PART every path is meant.
#define FUSE_USE_VERSION 314
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <fuse.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/xattr.h>
#include <time.h>
#include <unistd.h>

#define TICK_NSEC 10000000
#define REQUESTS_MAX 500 /* that may be held at once; as in the options below */

static const char *control;
static char base[4096];

enum what { NOTHING, FAIL, HOLD };

static bool names(char *ops, const char *op)
{
	const char *word;

	while ((word = strsep(&ops, ",")))
		if (!strcmp(word, op) || !strcmp(word, "all"))
			return true;
	return false;
}

/* What the control file says of this operation now. */
static enum what command(const char *op, const char *path)
{
	char line[4096] = "", mode[16], ops[256], part[2048] = "";
	FILE *f = fopen(control, "re");

	if (!f)
		return NOTHING;
	if (!fgets(line, sizeof(line), f))
		line[0] = '\0';
	fclose(f);
	if (sscanf(line, "%15s %255s %2047s", mode, ops, part) < 2)
		return NOTHING;
	if (!names(ops, op) || !strstr(path, part))
		return NOTHING;
	return *mode == 'h' ? HOLD : FAIL;
}

/* 0, or the error that the operation is to give. */
static int fault(const char *op, const char *path)
{
	const struct timespec tick = {.tv_nsec = TICK_NSEC};
	enum what what = command(op, path);

	while (what == HOLD) {
		nanosleep(&tick, NULL);
		what = command(op, path);
	}
	return what == FAIL ? -EIO : 0;
}

/* The program's working directory is what it shows. */
static const char *below(const char *path)
{
	return path[1] ? path + 1 : ".";
}

static int fd_of(const struct fuse_file_info *fi)
{
	return (int)fi->fh;
}

static int answer(int r)
{
	return r < 0 ? -errno : r;
}

#define RUN(op, path, call)                                                                        \
	do {                                                                                       \
		int error = fault(op, path);                                                       \
		return error ? error : answer(call);                                               \
	} while (0)

static int do_getattr(const char *path, struct stat *st, struct fuse_file_info *fi)
{
	if (fi)
		RUN("getattr", path, fstat(fd_of(fi), st));
	RUN("getattr", path, fstatat(AT_FDCWD, below(path), st, AT_SYMLINK_NOFOLLOW));
}

static int do_readlink(const char *path, char *text, size_t size)
{
	int error = fault("readlink", path);
	ssize_t n = error ? error : readlink(below(path), text, size - 1);

	if (n < 0)
		return error ? error : -errno;
	text[n] = '\0';
	return 0;
}

/* Who makes something is its owner, as on any file system. */
static int own(const char *path)
{
	const struct fuse_context *caller = fuse_get_context();

	return lchown(below(path), caller->uid, caller->gid);
}

static int do_mknod(const char *path, mode_t mode, dev_t dev)
{
	int error = fault("mknod", path);

	if (error)
		return error;
	return answer(mknod(below(path), mode, dev) < 0 ? -1 : own(path));
}

static int do_mkdir(const char *path, mode_t mode)
{
	int error = fault("mkdir", path);

	if (error)
		return error;
	return answer(mkdir(below(path), mode) < 0 ? -1 : own(path));
}

static int do_symlink(const char *target, const char *path)
{
	int error = fault("symlink", path);

	if (error)
		return error;
	return answer(symlink(target, below(path)) < 0 ? -1 : own(path));
}

static int do_unlink(const char *path)
{
	RUN("unlink", path, unlink(below(path)));
}

static int do_rmdir(const char *path)
{
	RUN("rmdir", path, rmdir(below(path)));
}

static int do_rename(const char *from, const char *to, unsigned flags)
{
	RUN("rename", from, renameat2(AT_FDCWD, below(from), AT_FDCWD, below(to), flags));
}

static int do_link(const char *from, const char *to)
{
	RUN("link", from, link(below(from), below(to)));
}

static int do_chmod(const char *path, mode_t mode, struct fuse_file_info *fi)
{
	(void)fi;
	RUN("setattr", path, chmod(below(path), mode));
}

static int do_chown(const char *path, uid_t uid, gid_t gid, struct fuse_file_info *fi)
{
	(void)fi;
	RUN("setattr", path, lchown(below(path), uid, gid));
}

static int do_truncate(const char *path, off_t size, struct fuse_file_info *fi)
{
	if (fi)
		RUN("write", path, ftruncate(fd_of(fi), size));
	RUN("write", path, truncate(below(path), size));
}

static int do_utimens(const char *path, const struct timespec times[2], struct fuse_file_info *fi)
{
	(void)fi;
	RUN("setattr", path, utimensat(AT_FDCWD, below(path), times, AT_SYMLINK_NOFOLLOW));
}

static int keep(struct fuse_file_info *fi, int fd)
{
	if (fd < 0)
		return -errno;
	fi->fh = (uint64_t)fd;
	return 0;
}

/* Appending is the kernel's business: it gives the offset. */
static int do_open(const char *path, struct fuse_file_info *fi)
{
	int error = fault("open", path);

	return error ? error : keep(fi, open(below(path), (fi->flags & ~O_APPEND) | O_CLOEXEC));
}

static int do_create(const char *path, mode_t mode, struct fuse_file_info *fi)
{
	int error = fault("create", path);

	if (!error)
		error = keep(
			fi, open(below(path), (fi->flags & ~O_APPEND) | O_CREAT | O_CLOEXEC, mode));
	return error ? error : answer(own(path));
}

static int do_read(const char *path, char *to, size_t size, off_t off, struct fuse_file_info *fi)
{
	RUN("read", path, (int)pread(fd_of(fi), to, size, off));
}

static int do_write(
	const char *path, const char *from, size_t size, off_t off, struct fuse_file_info *fi)
{
	RUN("write", path, (int)pwrite(fd_of(fi), from, size, off));
}

static int do_statfs(const char *path, struct statvfs *st)
{
	RUN("statfs", path, statvfs(".", st));
}

static int do_flush(const char *path, struct fuse_file_info *fi)
{
	(void)fi;
	return fault("flush", path);
}

static int do_release(const char *path, struct fuse_file_info *fi)
{
	(void)path;
	return answer(close(fd_of(fi)));
}

static int do_fsync(const char *path, int datasync, struct fuse_file_info *fi)
{
	RUN("fsync", path, datasync ? fdatasync(fd_of(fi)) : fsync(fd_of(fi)));
}

static int do_opendir(const char *path, struct fuse_file_info *fi)
{
	int error = fault("opendir", path);

	return error ? error : keep(fi, open(below(path), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
}

/* All of it at once. */
static int do_readdir(const char *path, void *to, fuse_fill_dir_t fill, off_t off,
	struct fuse_file_info *fi, enum fuse_readdir_flags flags)
{
	int error = fault("readdir", path);
	DIR *dir = error ? NULL : opendir(below(path));

	(void)off;
	(void)fi;
	(void)flags;
	if (!dir)
		return error ? error : -errno;
	for (struct dirent *e; (e = readdir(dir));) {
		struct stat st = {.st_ino = e->d_ino, .st_mode = (mode_t)e->d_type << 12};

		fill(to, e->d_name, &st, 0, 0);
	}
	closedir(dir);
	return 0;
}

/* A link's own, too, by way of its directory. */
static void attr_path(const char *path, char *ret, size_t size)
{
	snprintf(ret, size, "%s/%s", base, below(path));
}

static int do_setxattr(
	const char *path, const char *name, const char *value, size_t size, int flags)
{
	char full[8192];

	attr_path(path, full, sizeof(full));
	RUN("setxattr", path, lsetxattr(full, name, value, size, flags));
}

static int do_getxattr(const char *path, const char *name, char *value, size_t size)
{
	char full[8192];

	attr_path(path, full, sizeof(full));
	RUN("getxattr", path, (int)lgetxattr(full, name, value, size));
}

static int do_listxattr(const char *path, char *names, size_t size)
{
	char full[8192];

	attr_path(path, full, sizeof(full));
	RUN("listxattr", path, (int)llistxattr(full, names, size));
}

static int do_removexattr(const char *path, const char *name)
{
	char full[8192];

	attr_path(path, full, sizeof(full));
	RUN("removexattr", path, lremovexattr(full, name));
}

static int do_fallocate(const char *path, int mode, off_t off, off_t len, struct fuse_file_info *fi)
{
	RUN("write", path, fallocate(fd_of(fi), mode, off, len));
}

/* Inode numbers are those of what is shown; nothing is kept from one look to the next, and what is
 * removed is removed. The library has gone to / by now. */
static void *do_init(struct fuse_conn_info *conn, struct fuse_config *config)
{
	conn->max_background = conn->congestion_threshold = REQUESTS_MAX;
	if (chdir(base) < 0)
		exit(1);
	config->use_ino = 1;
	config->hard_remove = 1;
	config->entry_timeout = config->attr_timeout = config->negative_timeout = 0;
	return NULL;
}

static const struct fuse_operations operations = {
	.init = do_init,
	.getattr = do_getattr,
	.readlink = do_readlink,
	.mknod = do_mknod,
	.mkdir = do_mkdir,
	.unlink = do_unlink,
	.rmdir = do_rmdir,
	.symlink = do_symlink,
	.rename = do_rename,
	.link = do_link,
	.chmod = do_chmod,
	.chown = do_chown,
	.truncate = do_truncate,
	.utimens = do_utimens,
	.open = do_open,
	.create = do_create,
	.read = do_read,
	.write = do_write,
	.statfs = do_statfs,
	.flush = do_flush,
	.release = do_release,
	.fsync = do_fsync,
	.fsyncdir = do_fsync,
	.opendir = do_opendir,
	.readdir = do_readdir,
	.releasedir = do_release,
	.setxattr = do_setxattr,
	.getxattr = do_getxattr,
	.listxattr = do_listxattr,
	.removexattr = do_removexattr,
	.fallocate = do_fallocate,
};

/* Many threads: one that holds an answer back must not keep others waiting. */
int main(int argc, char **argv)
{
	char foreground[] = "-f";
	char options[] = "-oallow_other,default_permissions,fsname=faulty,"
			 "max_threads=500,max_idle_threads=500";
	char *args[] = {argv[0], foreground, options, argc == 4 ? argv[2] : NULL, NULL};

	if (argc != 4 || !realpath(argv[1], base)) {
		fprintf(stderr, "faulty_fs: usage: DIR MOUNT_POINT CONTROL\n");
		return 2;
	}
	control = argv[3];
	umask(0);
	return fuse_main(4, args, &operations, NULL);
}
