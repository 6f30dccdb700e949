// The sandbox's /proc, with what tells about the host or changes it masked, and its small /dev.
#include "runner/sandbox_impl.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/scope.h"
#include "common/unsafe.h"

#define CLOSED_ATTRS (MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC)

/* Pseudo terminals of one sandbox: the machine has some 3,000 for all of them. */
#define TERMINALS_MAX "256"
#define NO_LIMIT "1048576"

/* Covered by the null device. */
static const char *const masked_files[] = {"cmdline", "config.gz", "interrupts", "kallsyms",
	"kcore", "key-users", "keys", "kmsg", "latency_stats", "sched_debug", "sysrq-trigger",
	"timer_list", "timer_stats", "vmallocinfo"};

/* Covered by an empty directory. */
static const char *const masked_dirs[] = {"acpi", "asound", "scsi"};

/* Who may write to pressure has the kernel watch the whole machine for it, without any limit. */
static const char *const read_only_dirs[] = {"bus", "fs", "irq", "pressure", "sys"};

static int attach(int mount_fd, int dir_fd, const char *name)
{
	auto_close int target = openat(dir_fd, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);

	if (target < 0)
		return -errno;
	if (move_mount(mount_fd, "", target, "",
		    MOVE_MOUNT_F_EMPTY_PATH | MOVE_MOUNT_T_EMPTY_PATH) < 0)
		return -errno;
	return 0;
}

/* A detached copy of one file or directory of a mount, with attrs set. */
static int copy_mount(int dir_fd, const char *path, uint64_t attrs)
{
	struct mount_attr attr = {.attr_set = attrs};
	auto_close int fd =
		open_tree(dir_fd, path, OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_SYMLINK_NOFOLLOW);

	if (fd < 0 || mount_setattr(fd, "", AT_EMPTY_PATH, &attr, sizeof(attr)) < 0)
		return -errno;
	return take_fd(&fd);
}

static int bind_node(int dir_fd, const char *name, const char *source, uint64_t attrs)
{
	auto_close int fd = copy_mount(AT_FDCWD, source, attrs);

	return fd < 0 ? fd : attach(fd, dir_fd, name);
}

static int mask_dir(int dir_fd, const char *name)
{
	static const char *const options[] = {"mode", "0555", "size", "4k", NULL};
	auto_close int fd = -1;
	int err =
		sandbox_tree_new_fs("tmpfs", options, CLOSED_ATTRS | MOUNT_ATTR_RDONLY, &fd, NULL);

	return err < 0 ? err : attach(fd, dir_fd, name);
}

static int make_read_only(int dir_fd, const char *name)
{
	auto_close int fd = copy_mount(dir_fd, name, CLOSED_ATTRS | MOUNT_ATTR_RDONLY);

	return fd < 0 ? fd : attach(fd, dir_fd, name);
}

static int mask_proc(int proc_fd, struct fail *f)
{
	struct stat st;
	int err = 0;
	const char *name = NULL;

	for (size_t i = 0; i < ARRAY_LEN(masked_files) && err == 0; i++) {
		name = masked_files[i];
		if (fstatat(proc_fd, name, &st, AT_SYMLINK_NOFOLLOW) == 0)
			err = bind_node(proc_fd, name, "/dev/null", MOUNT_ATTR_RDONLY);
	}
	for (size_t i = 0; i < ARRAY_LEN(masked_dirs) && err == 0; i++) {
		name = masked_dirs[i];
		if (fstatat(proc_fd, name, &st, AT_SYMLINK_NOFOLLOW) == 0)
			err = mask_dir(proc_fd, name);
	}
	for (size_t i = 0; i < ARRAY_LEN(read_only_dirs) && err == 0; i++) {
		name = read_only_dirs[i];
		if (fstatat(proc_fd, name, &st, AT_SYMLINK_NOFOLLOW) == 0)
			err = make_read_only(proc_fd, name);
	}
	return err < 0 ? fail_errno(f, err, "masking /proc/%s", name) : 0;
}

static int open_sysctl(int proc_fd, const char *name)
{
	char path[64];

	snprintf(path, sizeof(path), "sys/user/%s", name);
	return openat(proc_fd, path, O_WRONLY | O_CLOEXEC);
}

static void write_sysctl(int fd, const char *value)
{
	/* Fences behind the filter: where the kernel has no such setting, the filter stands. */
	if (fd >= 0 && write(fd, value, strlen(value)) < 0)
		return;
}

static void set_sysctls(int proc_fd, struct sandbox_plan *plan)
{
	plan->fence_fd = open_sysctl(proc_fd, "max_user_namespaces");
	write_sysctl(plan->fence_fd, "0");
	/* These count against the mounting user's own limits outside, root's as well. */
	auto_close int instances_fd = open_sysctl(proc_fd, "max_inotify_instances");
	auto_close int watches_fd = open_sysctl(proc_fd, "max_inotify_watches");
	if (unsafe_is("limits"))
		return;
	write_sysctl(instances_fd, SANDBOX_INOTIFY_INSTANCES);
	write_sysctl(watches_fd, SANDBOX_INOTIFY_WATCHES);
}

int sandbox_dev_mount_proc(int root_fd, struct sandbox_plan *plan, int *ret_proc, struct fail *f)
{
	static const char *const options[] = {"source", "proc", NULL};
	auto_close int mount_fd = -1;
	auto_close int point_fd = -1;
	auto_close int sys_fd = -1;
	int err = sandbox_tree_new_fs("proc", options, CLOSED_ATTRS, &mount_fd, f);

	if (err == -EPERM)
		return fail_set(f, err,
			"mounting /proc is not allowed here, as in a container whose own /proc is "
			"masked: start that container with --security-opt systempaths=unconfined "
			"(docker) or --security-opt unmask=ALL (podman)");
	if (err == 0)
		err = sandbox_tree_mount_point(root_fd, "proc", &point_fd, f);
	/* Nothing is mounted there, but it is the same kind of directory. */
	if (err == 0)
		err = sandbox_tree_mount_point(root_fd, "sys", &sys_fd, f);
	if (err < 0)
		return err;
	err = attach(mount_fd, point_fd, ".");
	if (err < 0)
		return fail_errno(f, err, "attaching /proc");
	set_sysctls(mount_fd, plan);
	err = unsafe_is("masks") ? 0 : mask_proc(mount_fd, f);
	if (err < 0)
		return err;
	*ret_proc = openat(mount_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return *ret_proc < 0 ? fail_errno(f, -errno, "opening /proc") : 0;
}

static int make_node(int dev_fd, const char *name, struct fail *f)
{
	char source[32];

	auto_close int fd = openat(dev_fd, name, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0666);
	if (fd < 0)
		return fail_errno(f, -errno, "creating /dev/%s", name);
	snprintf(source, sizeof(source), "/dev/%s", name);
	/* It can be written to all the same; its times, which are the host's, cannot be changed. */
	int err = bind_node(
		dev_fd, name, source, MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NOEXEC);
	return err < 0 ? fail_errno(f, err, "taking %s from the host", source) : 0;
}

static int make_links(int dev_fd, struct fail *f)
{
	static const char *const links[][2] = {{"fd", "/proc/self/fd"},
		{"stdin", "/proc/self/fd/0"}, {"stdout", "/proc/self/fd/1"},
		{"stderr", "/proc/self/fd/2"}, {"ptmx", "pts/ptmx"}};

	for (size_t i = 0; i < ARRAY_LEN(links); i++) {
		if (symlinkat(links[i][1], dev_fd, links[i][0]) < 0)
			return fail_errno(f, -errno, "creating /dev/%s", links[i][0]);
	}
	return 0;
}

static int mount_sub(int dev_fd, const char *name, const char *type, const char *const *options,
	unsigned attrs, struct fail *f)
{
	auto_close int fd = -1;

	if (mkdirat(dev_fd, name, 0755) < 0)
		return fail_errno(f, -errno, "creating /dev/%s", name);
	int err = sandbox_tree_new_fs(type, options, attrs, &fd, f);
	if (err == 0)
		err = attach(fd, dev_fd, name);
	return err < 0 ? fail_errno(f, err, "mounting /dev/%s", name) : 0;
}

static int mount_pts_and_shm(int dev_fd, const struct sandbox_plan *plan, struct fail *f)
{
	char size[24] = "50%";
	uint64_t memory = plan->config->limits.memory_bytes;

	if (memory)
		snprintf(size, sizeof(size), "%" PRIu64, memory);
	/* Group 5 is tty's, where it is mapped. */
	const char *const pts[] = {"source", "devpts", "ptmxmode", "0666", "mode", "0620", "max",
		unsafe_is("limits") ? NO_LIMIT : TERMINALS_MAX, plan->ids.single ? NULL : "gid",
		"5", NULL};
	const char *const shm[] = {"source", "shm", "mode", "1777", "size", size, NULL};
	int err = mount_sub(dev_fd, "pts", "devpts", pts, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NOEXEC, f);
	return err < 0 ? err : mount_sub(dev_fd, "shm", "tmpfs", shm, CLOSED_ATTRS, f);
}

int sandbox_dev_mount_dev(int root_fd, const struct sandbox_plan *plan, struct fail *f)
{
	static const char *const nodes[] = {"null", "zero", "full", "random", "urandom", "tty"};
	static const char *const options[] = {"source", "dev", "mode", "0755", "size", "1m", NULL};
	auto_close int dev_fd = -1;
	auto_close int point_fd = -1;
	int err = sandbox_tree_new_fs("tmpfs", options, CLOSED_ATTRS, &dev_fd, f);

	if (err == 0)
		err = sandbox_tree_mount_point(root_fd, "dev", &point_fd, f);
	if (err < 0)
		return err;
	err = attach(dev_fd, point_fd, ".");
	if (err < 0)
		return fail_errno(f, err, "attaching /dev");
	for (size_t i = 0; i < ARRAY_LEN(nodes) && err == 0; i++)
		err = make_node(dev_fd, nodes[i], f);
	if (err == 0)
		err = make_links(dev_fd, f);
	return err < 0 ? err : mount_pts_and_shm(dev_fd, plan, f);
}
