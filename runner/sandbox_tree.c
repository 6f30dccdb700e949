// The mounts that make the sandbox's tree, seen from the child that makes them.
//
// Everything in the tree may have been left there by hostile commands, so nothing in it is reached
// by a path that could hold a link: mounts are made detached and attached by descriptor.
#include "runner/sandbox_impl.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/scope.h"
#include "common/unsafe.h"

#define PLAIN_ATTRS (MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV)
#define ASIDE_TRIES 1000

int sandbox_tree_openat2(int dir_fd, const char *path, int flags, uint64_t resolve)
{
	struct open_how how = {.flags = (uint64_t)(flags | O_CLOEXEC), .resolve = resolve};
	int fd;

	if (unsafe_is("resolve"))
		how = (struct open_how){.flags = how.flags & ~(uint64_t)O_NOFOLLOW};

	/* EAGAIN: something was renamed meanwhile, and ".." could not be trusted. */
	for (int i = 0; i < 16; i++) {
		fd = (int)syscall(SYS_openat2, dir_fd, path, &how, sizeof(how));
		if (fd >= 0 || errno != EAGAIN)
			break;
	}
	return fd < 0 ? -errno : fd;
}

/* What the kernel wrote to the file system context, the last message first cut of its "e ". */
static void read_messages(int fs_fd, char *to, size_t size)
{
	char line[256];
	ssize_t n;

	to[0] = '\0';
	while ((n = read(fs_fd, line, sizeof(line) - 1)) > 0) {
		line[n] = '\0';
		line[strcspn(line, "\n")] = '\0';
		snprintf(to, size, " (%s)", n > 2 && line[1] == ' ' ? line + 2 : line);
	}
}

int sandbox_tree_new_fs(
	const char *type, const char *const *options, unsigned attrs, int *ret, struct fail *f)
{
	char messages[300];
	auto_close int fs_fd = fsopen(type, FSOPEN_CLOEXEC);
	int bad = 0;

	if (fs_fd < 0)
		return fail_errno(f, -errno, "this kernel cannot mount %s here", type);
	for (; *options && bad == 0; options += 2) {
		bad = options[1][0]
			      ? fsconfig(fs_fd, FSCONFIG_SET_STRING, options[0], options[1], 0)
			      : fsconfig(fs_fd, FSCONFIG_SET_FLAG, options[0], NULL, 0);
	}
	if (bad == 0)
		bad = fsconfig(fs_fd, FSCONFIG_CMD_CREATE, NULL, NULL, 0);
	int fd = bad == 0 ? fsmount(fs_fd, FSMOUNT_CLOEXEC, attrs) : -1;
	if (fd >= 0) {
		*ret = fd;
		return 0;
	}
	int err = -errno;
	read_messages(fs_fd, messages, sizeof(messages));
	return fail_set(f, err, "mounting %s: %s%s", type, strerror(-err), messages);
}

static int attach(int mount_fd, int target_fd, struct fail *f)
{
	if (move_mount(mount_fd, "", target_fd, "",
		    MOVE_MOUNT_F_EMPTY_PATH | MOVE_MOUNT_T_EMPTY_PATH) < 0)
		return fail_errno(f, -errno, "attaching a mount");
	return 0;
}

/* By its path: a descriptor from outside of the new mount namespace is no layer. */
static int open_skeleton(const struct sandbox_plan *plan, struct sandbox_layer *l, struct fail *f)
{
	char path[PATH_MAX];

	if (!plan->skeleton_name[0])
		return 0;
	snprintf(path, sizeof(path), "%s/%s/%s", plan->config->skeleton_path, plan->skeleton_name,
		l->name);
	l->skeleton_fd = open(path, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	return l->skeleton_fd < 0 ? fail_errno(f, -errno, "opening %s", path) : 0;
}

int sandbox_tree_open(struct sandbox_plan *plan, int *ret_root, int *ret_stage, struct fail *f)
{
	const int flags = O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
	char path[64];

	for (size_t i = 0; i < plan->layers_len; i++) {
		struct sandbox_layer *l = &plan->layers[i];
		l->host_fd = open(l->host, flags & ~O_NOFOLLOW);
		if (l->host_fd < 0)
			return fail_errno(f, -errno, "opening %s", l->host);
		if (l->plain)
			continue;
		snprintf(path, sizeof(path), "layers/%s.up", l->name);
		l->upper_fd = open(path, flags);
		snprintf(path, sizeof(path), "layers/%s.wk", l->name);
		l->work_fd = open(path, flags);
		if (l->upper_fd < 0 || l->work_fd < 0)
			return fail_errno(f, -errno, "opening %s in the state directory", path);
		int err = open_skeleton(plan, l, f);
		if (err < 0)
			return err;
	}
	*ret_root = open("root", flags);
	*ret_stage = open("stage", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (*ret_root < 0 || *ret_stage < 0)
		return fail_errno(f, -errno, "opening root and stage in the state directory");
	return 0;
}

static int mount_overlay(
	const struct sandbox_plan *plan, struct sandbox_layer *l, int *ret, struct fail *f)
{
	char lower[96], upper[32], work[32];
	const int below[] = {plan->fixed ? l->upper_fd : -1, l->skeleton_fd,
		l->lower_fd >= 0 ? l->lower_fd : l->host_fd};
	size_t len = 0;

	for (size_t i = 0; i < ARRAY_LEN(below); i++)
		if (below[i] >= 0)
			len += (size_t)snprintf(lower + len, sizeof(lower) - len,
				"%s/proc/self/fd/%d", len ? ":" : "", below[i]);
	snprintf(upper, sizeof(upper), "/proc/self/fd/%d", l->upper_fd);
	snprintf(work, sizeof(work), "/proc/self/fd/%d", l->work_fd);
	/* userxattr also turns off what would let a planted attribute name another directory. */
	const char *const options[] = {"source", "sandpit", "userxattr", "", "lowerdir", lower,
		plan->fixed ? NULL : "upperdir", upper, "workdir", work, NULL};
	struct fail why = {0};
	int err = sandbox_tree_new_fs("overlay", options, PLAIN_ATTRS, ret, &why);
	if (err < 0 && !sandbox_explain_overlay(l->host, l->upper_fd, plan->config->state_path,
			       plan->ids.root, err, f))
		fail_set(f, err,
			"%s over %s, layers in %s; the state directory must lie on a local file "
			"system such as ext4, xfs or btrfs (set state=), the kernel be 5.11 or newer",
			why.text, l->host, plan->config->state_path);
	return err;
}

int sandbox_tree_set_aside(int dir_fd, const char *name)
{
	char other[300];

	for (int i = 1; i <= ASIDE_TRIES; i++) {
		snprintf(other, sizeof(other), "%s.replaced-%d", name, i);
		if (renameat2(dir_fd, name, dir_fd, other, RENAME_NOREPLACE) == 0)
			return 0;
		if (errno != EEXIST)
			return -errno;
	}
	return -EEXIST;
}

static int enter_or_make(int dir_fd, const char *name)
{
	const int flags = O_PATH | O_DIRECTORY | O_NOFOLLOW;
	const uint64_t resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS;
	int fd = sandbox_tree_openat2(dir_fd, name, flags, resolve);
	int err = 0;

	if (fd == -ELOOP || fd == -ENOTDIR)
		err = sandbox_tree_set_aside(dir_fd, name);
	else if (fd != -ENOENT)
		return fd;
	if (err == 0 && mkdirat(dir_fd, name, 0755) < 0)
		err = -errno;
	return err < 0 ? err : sandbox_tree_openat2(dir_fd, name, flags, resolve);
}

int sandbox_tree_mount_point(int root_fd, const char *path, int *ret, struct fail *f)
{
	auto_close int dir_fd = fcntl(root_fd, F_DUPFD_CLOEXEC, 3);
	char name[256];

	if (dir_fd < 0)
		return -errno;
	for (const char *at = path; *at;) {
		size_t len = strcspn(at, "/");
		snprintf(name, sizeof(name), "%.*s", (int)len, at);
		int next = enter_or_make(dir_fd, name);
		if (next < 0)
			return fail_errno(f, next, "preparing the mount point /%s", path);
		close(dir_fd);
		dir_fd = next;
		at += len + (at[len] == '/');
	}
	*ret = take_fd(&dir_fd);
	return 0;
}

static int attach_at_root(int root_fd, struct fail *f)
{
	if (move_mount(root_fd, "", AT_FDCWD, "/", MOVE_MOUNT_F_EMPTY_PATH) < 0)
		return fail_errno(f, -errno, "attaching the tree");
	return 0;
}

static int mount_plain_root(int root_dir_fd, int *ret, struct fail *f)
{
	struct mount_attr attr = {.attr_set = PLAIN_ATTRS, .propagation = MS_PRIVATE};
	auto_close int fd =
		open_tree(root_dir_fd, "", AT_EMPTY_PATH | OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC);

	if (fd < 0)
		return fail_errno(f, -errno, "taking root/ of the state directory as the root");
	if (mount_setattr(fd, "", AT_EMPTY_PATH, &attr, sizeof(attr)) < 0)
		return fail_errno(f, -errno, "setting nosuid and nodev on the root");
	*ret = take_fd(&fd);
	return 0;
}

static int mount_plain(struct sandbox_layer *l, int *ret, struct fail *f)
{
	struct mount_attr attr = {
		.attr_set = PLAIN_ATTRS | MOUNT_ATTR_RDONLY, .propagation = MS_PRIVATE};
	auto_close int fd = take_fd(&l->lower_fd);

	if (fd < 0)
		fd = open_tree(l->host_fd, "", AT_EMPTY_PATH | OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC);
	if (fd < 0)
		return fail_errno(f, -errno, "taking %s as a part of the tree", l->host);
	if (mount_setattr(fd, "", AT_EMPTY_PATH, &attr, sizeof(attr)) < 0)
		return fail_errno(f, -errno, "making %s read-only", l->host);
	*ret = take_fd(&fd);
	return 0;
}

static int attach_layer(
	struct sandbox_plan *plan, struct sandbox_layer *l, int root_fd, struct fail *f)
{
	auto_close int mount_fd = -1;
	auto_close int point_fd = -1;
	int err = sandbox_tree_mount_point(root_fd, l->target, &point_fd, f);

	if (err == 0)
		err = l->plain ? mount_plain(l, &mount_fd, f)
			       : mount_overlay(plan, l, &mount_fd, f);
	return err < 0 ? err : attach(mount_fd, point_fd, f);
}

int sandbox_tree_mount(
	struct sandbox_plan *plan, int root_dir_fd, int stage_fd, int *ret, struct fail *f)
{
	auto_close int root_fd = -1;
	bool whole = plan->config->rootfs != NULL;
	int err = 0;

	/* A mount can be a lower layer, or take other mounts, only while it is attached, so these
	 * lie in the host's part until the root changes. Each over what it is a copy of: a stack of them at "/" would survive the change of root,
	 * and "/.." would lead there. */
	for (size_t i = 0; i < plan->layers_len && err == 0; i++) {
		if (plan->layers[i].lower_fd >= 0 && !plan->layers[i].plain)
			err = attach(plan->layers[i].lower_fd, plan->layers[i].host_fd, f);
	}
	if (err == 0 && !whole)
		err = sandbox_etc_fill(root_dir_fd, stage_fd, plan, f);
	if (err == 0)
		err = whole ? mount_overlay(plan, &plan->layers[0], &root_fd, f)
			    : mount_plain_root(root_dir_fd, &root_fd, f);
	if (err == 0)
		err = attach_at_root(root_fd, f);
	if (err == 0 && whole)
		err = sandbox_etc_fill(root_fd, -1, plan, f);
	for (size_t i = whole; i < plan->layers_len && err == 0; i++)
		err = attach_layer(plan, &plan->layers[i], root_fd, f);
	if (err == 0)
		*ret = take_fd(&root_fd);
	return err;
}

int sandbox_tree_clone(int root_fd, int *ret, struct fail *f)
{
	int fd = unsafe_is("clone") ? fcntl(root_fd, F_DUPFD_CLOEXEC, 3)
				    : open_tree(root_fd, "",
					      AT_EMPTY_PATH | AT_RECURSIVE | OPEN_TREE_CLONE |
						      OPEN_TREE_CLOEXEC);

	if (fd < 0)
		return fail_errno(f, -errno, "copying the tree's mounts for the daemon");
	*ret = fd;
	return 0;
}

/* Nothing may be mounted over or around the root: ".." would lead there. */
static int check_root(int root_fd, struct fail *f)
{
	struct statx ours, root, above;
	const unsigned mask = STATX_INO | STATX_MNT_ID;

	if (statx(root_fd, "", AT_EMPTY_PATH, mask, &ours) < 0 ||
		statx(AT_FDCWD, "/", 0, mask, &root) < 0 ||
		statx(AT_FDCWD, "/..", 0, mask, &above) < 0)
		return fail_errno(f, -errno, "looking at the new root");
	if (ours.stx_mnt_id != root.stx_mnt_id || ours.stx_mnt_id != above.stx_mnt_id ||
		ours.stx_ino != root.stx_ino || ours.stx_ino != above.stx_ino)
		return fail_set(f, -EXDEV, "the tree did not become the root");
	return 0;
}

int sandbox_tree_enter(int root_fd, struct fail *f)
{
	if (fchdir(root_fd) < 0 || syscall(SYS_pivot_root, ".", ".") < 0)
		return fail_errno(f, -errno, "making the tree the root");
	if (umount2(".", MNT_DETACH) < 0 || chdir("/") < 0)
		return fail_errno(f, -errno, "leaving the old root");
	return check_root(root_fd, f);
}
