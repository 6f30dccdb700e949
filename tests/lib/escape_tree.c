// Namespaces, mounts and device nodes.
#include "escape.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

static long escape_unshare_user(void)
{
	return unshare(CLONE_NEWUSER);
}

static long escape_unshare_mount(void)
{
	return unshare(CLONE_NEWNS);
}

static long escape_unshare_pid(void)
{
	return unshare(CLONE_NEWPID);
}

static long escape_unshare_cgroup(void)
{
	return unshare(CLONE_NEWCGROUP);
}

static long escape_clone_user(void)
{
	long pid = syscall(SYS_clone, CLONE_NEWUSER | SIGCHLD, 0, 0, 0, 0);

	if (pid == 0)
		_exit(0);
	return pid;
}

static long escape_clone3(void)
{
	struct {
		uint64_t flags, pidfd, child_tid, parent_tid, exit_signal, stack, stack_size, tls;
	} args = {.flags = CLONE_NEWUSER, .exit_signal = SIGCHLD};
	long pid = syscall(SYS_clone3, &args, sizeof(args));

	if (pid == 0)
		_exit(0);
	return pid;
}

static long escape_mount_tmpfs(void)
{
	return mount("none", "/tmp", "tmpfs", 0, NULL);
}

static long escape_mount_overlay(void)
{
	return mount("none", "/tmp", "overlay", 0, "lowerdir=/:/usr");
}

static long escape_remount_root(void)
{
	return mount(NULL, "/", NULL, MS_REMOUNT | MS_BIND, NULL);
}

static long escape_umount_proc(void)
{
	return umount2("/proc", MNT_DETACH);
}

static long escape_fsopen(void)
{
	return syscall(SYS_fsopen, "tmpfs", 0);
}

static long escape_open_tree(void)
{
	return syscall(SYS_open_tree, AT_FDCWD, "/", 1);
}

static long escape_move_mount(void)
{
	return syscall(SYS_move_mount, AT_FDCWD, "/tmp", AT_FDCWD, "/root", 0);
}

static long escape_mount_setattr(void)
{
	uint64_t attr[4] = {0};

	return syscall(SYS_mount_setattr, AT_FDCWD, "/", 0, attr, sizeof(attr));
}

static long escape_pivot_root(void)
{
	return syscall(SYS_pivot_root, ".", ".");
}

static long escape_chroot(void)
{
	return chroot("/tmp");
}

static long escape_setns(void)
{
	int fd = open("/proc/1/ns/mnt", O_RDONLY);

	return fd < 0 ? -1 : setns(fd, 0);
}

static long escape_open_by_handle(void)
{
	struct {
		struct file_handle handle;
		unsigned char bytes[8];
	} h = {.handle = {.handle_bytes = 8, .handle_type = 1}, .bytes = {2}};
	int fd = open("/", O_RDONLY);

	return open_by_handle_at(fd, &h.handle, O_RDONLY);
}

static long escape_mknod(void)
{
	return mknod("/tmp/escape-null", S_IFCHR | 0666, makedev(1, 3));
}

static long escape_fanotify(void)
{
	return syscall(SYS_fanotify_init, 0, 0);
}

const struct escape escapes_tree[] = {
	ESCAPE(unshare_user),
	ESCAPE(unshare_mount),
	ESCAPE(unshare_pid),
	ESCAPE(unshare_cgroup),
	ESCAPE(clone_user),
	ESCAPE(clone3),
	ESCAPE(mount_tmpfs),
	ESCAPE(mount_overlay),
	ESCAPE(remount_root),
	ESCAPE(umount_proc),
	ESCAPE(fsopen),
	ESCAPE(open_tree),
	ESCAPE(move_mount),
	ESCAPE(mount_setattr),
	ESCAPE(pivot_root),
	ESCAPE(chroot),
	ESCAPE(setns),
	ESCAPE(open_by_handle),
	ESCAPE(mknod),
	ESCAPE(fanotify),
	ESCAPES_END,
};
