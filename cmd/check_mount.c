// Checks that enter namespaces and mount in them: overlays and idmapped mounts, tried in a child.
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/fuse.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cmd/check.h"
#include "common/program.h"
#include "common/scope.h"
#include "fs/state_dir.h"
#include "runner/checkpoint/checkpoint.h"
#include "runner/checkpoint/store_dir.h"
#include "runner/sandbox.h"

int check_in_child(int (*work)(void))
{
	int status;
	pid_t pid;

	fflush(NULL);
	pid = fork();
	if (pid < 0)
		return -errno;
	if (pid == 0)
		_exit(-work() & 0xff);
	while (waitpid(pid, &status, 0) < 0) {
		if (errno != EINTR)
			return -errno;
	}
	return WIFEXITED(status) ? -WEXITSTATUS(status) : -EINTR;
}

/* Where the trial overlay's layers lie; for the child. */
static char trial[4096];
static bool trial_is_fixed; /* to be seen only: see sandbox_takes_layers() */

static int write_file(const char *path, const char *text)
{
	auto_close int fd = open(path, O_WRONLY | O_CLOEXEC);

	if (fd < 0)
		return -errno;
	return write(fd, text, strlen(text)) < 0 ? -errno : 0;
}

int check_enter_user_namespace(void)
{
	char map[64];
	uid_t uid = geteuid();
	gid_t gid = getegid();
	int r = unshare(CLONE_NEWUSER | CLONE_NEWNS) < 0 ? -errno : 0;

	if (r < 0)
		return r;
	snprintf(map, sizeof(map), "0 %u 1", uid);
	r = write_file("/proc/self/uid_map", map);
	if (r == 0)
		r = write_file("/proc/self/setgroups", "deny");
	snprintf(map, sizeof(map), "0 %u 1", gid);
	if (r == 0)
		r = write_file("/proc/self/gid_map", map);
	/* Where AppArmor leaves a namespace without capabilities, this fails. */
	if (r == 0 && mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
		r = -errno;
	return r;
}

/* As a sandbox does it: the system's /usr below, a layer beside the state directories above. */
static int mount_overlay(void)
{
	bool is_root = geteuid() == 0;
	char options[3 * sizeof(trial)], at[sizeof(trial) + 8];
	int r = is_root ? (unshare(CLONE_NEWNS) < 0 ? -errno : 0) : check_enter_user_namespace();

	if (r < 0)
		return r;
	if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
		return -errno;
	if (trial_is_fixed)
		snprintf(options, sizeof(options), "lowerdir=%s/up:/usr%s", trial,
			is_root ? "" : ",userxattr");
	else
		snprintf(options, sizeof(options), "lowerdir=/usr,upperdir=%s/up,workdir=%s/wk%s",
			trial, trial, is_root ? "" : ",userxattr");
	snprintf(at, sizeof(at), "%s/at", trial);
	return mount("overlay", at, "overlay", 0, options) < 0 ? -errno : 0;
}

static int mount_proc_alone(void)
{
	return mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL) < 0 ? -errno
											  : 0;
}

/* A new /proc needs process ids of its own. */
static int mount_proc(void)
{
	int r = check_enter_user_namespace();

	if (r == 0 && unshare(CLONE_NEWPID) < 0)
		r = -errno;
	return r < 0 ? r : check_in_child(mount_proc_alone);
}

/* The kernel says what it can do in the first request of a mount: its include/uapi/linux/fuse.h. Not
 * in older headers. */
#define FLAGS2_PASSTHROUGH (1U << (37 - 32))

static int offers_passthrough(void)
{
	struct {
		struct fuse_in_header header;
		struct fuse_init_in init;
		char room[FUSE_MIN_READ_BUFFER];
	} request = {0};
	auto_close int fd = open("/dev/fuse", O_RDWR | O_CLOEXEC);
	char options[80];

	if (fd < 0 || unshare(CLONE_NEWNS) < 0)
		return -errno;
	snprintf(options, sizeof(options), "fd=%d,rootmode=40000,user_id=0,group_id=0", fd);
	if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
		mount("check", "/proc", "fuse", MS_NOSUID | MS_NODEV, options) < 0 ||
		read(fd, &request, sizeof(request)) < 0)
		return -errno;
	return request.init.flags2 & FLAGS2_PASSTHROUGH ? 0 : -EOPNOTSUPP;
}

int check_kernel_passthrough(void)
{
	return check_in_child(offers_passthrough);
}

static int new_tmpfs(void)
{
	auto_close int fs_fd = fsopen("tmpfs", FSOPEN_CLOEXEC);

	if (fs_fd < 0 || fsconfig(fs_fd, FSCONFIG_CMD_CREATE, NULL, NULL, 0) < 0)
		return -1;
	return fsmount(fs_fd, FSMOUNT_CLOEXEC, MOUNT_ATTR_NODEV);
}

/* The calls that a sandbox is made of, which filters of system calls may know less well than mount. */
static int mount_detached(void)
{
	struct mount_attr attr = {.attr_set = MOUNT_ATTR_RDONLY};
	auto_close int fd = -1, tree = -1;
	int r = geteuid() != 0 ? check_enter_user_namespace()
			       : (unshare(CLONE_NEWNS) < 0 ? -errno : 0);

	if (r < 0)
		return r;
	if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
		return -errno;
	fd = new_tmpfs();
	if (fd < 0 || mount_setattr(fd, "", AT_EMPTY_PATH, &attr, sizeof(attr)) < 0 ||
		move_mount(fd, "", AT_FDCWD, "/proc", MOVE_MOUNT_F_EMPTY_PATH) < 0)
		return -errno;
	tree = open_tree(AT_FDCWD, "/proc", OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC);
	return tree < 0 ? -errno : 0;
}

enum check_result check_mounting(struct buf *why)
{
	int r = check_in_child(mount_detached);

	if (r == 0)
		return buf_add_str(why, "in a namespace"), CHECK_OK;
	if (r == -EPERM && geteuid() == 0 && !program_may(CAP_SYS_ADMIN))
		buf_add_str(why, "root may not mount here: in a container --cap-add SYS_ADMIN");
	else
		buf_printf(why,
			"the kernel's calls for mounts (fsopen, fsmount, move_mount, open_tree, "
			"mount_setattr) fail: %s; Linux 5.12 or later is needed, and in a container "
			"--security-opt seccomp=unconfined",
			strerror(-r));
	return CHECK_MISSING;
}

static const char *state_place, *store_place; /* borrowed; NULL: the default */
static bool is_of_rootfs;

void check_set_places(const char *state_path, const char *store_path, bool has_rootfs)
{
	is_of_rootfs = has_rootfs;
	state_place = state_path;
	store_place = store_path;
}

static int take_state_path(char **ret, struct fail *f)
{
	int r;

	if (!state_place) {
		r = state_dir_default("", ret, f);
		if (r == 0)
			*strrchr(*ret, '/') = '\0';
		return r;
	}
	*ret = strdup(state_place);
	return *ret ? 0 : -ENOMEM;
}

enum check_result check_state(struct buf *why)
{
	auto_free char *path = NULL;
	struct fail f = {0};
	int r = take_state_path(&path, &f);

	if (r == 0)
		r = state_dir_possible(path, &f);
	buf_add_str(why, r == 0 ? path : *f.text ? f.text : strerror(-r));
	return r == 0 ? CHECK_OK : CHECK_MISSING;
}

enum check_result check_checkpoints(struct buf *why)
{
	auto_free char *path = store_place ? strdup(store_place) : NULL;
	struct fail f = {0};
	int r;

	if (checkpoint_check(&f) < 0)
		return buf_add_str(why, f.text), CHECK_MISSING;
	r = path ? 0 : store_dir_default(&path);
	if (r == 0)
		r = state_dir_parent(path);
	buf_add_str(why, path ? path : "no home to keep them in");
	if (r == 0)
		return CHECK_OK;
	buf_printf(
		why, ": %s; set XDG_DATA_HOME, or store=, to a directory of yours", strerror(-r));
	return CHECK_MISSING;
}

enum check_result check_proc(struct buf *why)
{
	int r = check_in_child(check_enter_user_namespace);

	if (r < 0)
		return buf_add_str(why, "cannot be tried without user namespaces"), CHECK_MISSING;
	r = check_in_child(mount_proc);
	if (r == 0)
		return buf_add_str(why, "can be mounted"), CHECK_OK;
	if (r == -EPERM)
		buf_add_str(why, "this container's /proc is masked: start it with --security-opt "
				 "systempaths=unconfined");
	else
		buf_printf(why, "cannot be mounted: %s", strerror(-r));
	return CHECK_MISSING;
}

static void each_layer(int (*act)(int fd, const char *name))
{
	static const char *const names[] = {"up", "wk/work", "wk", "at"};
	auto_close int fd = open(trial, O_PATH | O_DIRECTORY | O_CLOEXEC);

	for (size_t i = 0; fd >= 0 && i < ARRAY_LEN(names); i++)
		act(fd, names[i]);
}

static int make_layer(int fd, const char *name)
{
	return strchr(name, '/') ? 0 : mkdirat(fd, name, 0700);
}

static int remove_layer(int fd, const char *name)
{
	return unlinkat(fd, name, AT_REMOVEDIR);
}

/* A directory on the file system where the states are or will be. */
static int make_trial(void)
{
	auto_free char *home = NULL;
	int r = take_state_path(&home, NULL);

	if (r == 0)
		r = state_dir_parent(home);
	if (r < 0)
		return r;
	while (access(home, F_OK) < 0 && strrchr(home, '/') > home)
		*strrchr(home, '/') = '\0';
	if (snprintf(trial, sizeof(trial), "%s/.sandpit-check.XXXXXX", home) >= (int)sizeof(trial))
		return -ENAMETOOLONG;
	return mkdtemp(trial) ? 0 : -errno;
}

enum check_result check_overlay(struct buf *why)
{
	auto_close int layers_fd = -1;
	struct fail f = {0};
	int r = make_trial();

	if (r < 0) {
		buf_printf(why, "no place to try it: %s", strerror(-r));
		return CHECK_MISSING;
	}
	layers_fd = open(trial, O_PATH | O_DIRECTORY | O_CLOEXEC);
	trial_is_fixed = !is_of_rootfs && !sandbox_takes_layers(layers_fd);
	each_layer(make_layer);
	r = check_in_child(mount_overlay);
	each_layer(remove_layer);
	rmdir(trial);
	*strrchr(trial, '/') = '\0';
	if (r == 0 && trial_is_fixed)
		buf_printf(why,
			"%s lies on one, as in a container: commands cannot change /usr and the like, "
			"for which XDG_STATE_HOME, or state=, has to be on a volume",
			trial);
	else if (r == 0)
		buf_add_str(why, "can be mounted where the states are");
	if (r == 0)
		return CHECK_OK;
	if (sandbox_explain_overlay("/usr", layers_fd, trial, geteuid() == 0, r, &f))
		return buf_add_str(why, f.text), CHECK_MISSING;
	if (r == -ENODEV)
		buf_add_str(why, "modprobe overlay");
	else if (r == -EINVAL)
		buf_printf(why,
			"not with layers in %s: set XDG_STATE_HOME, or state=, to a place on "
			"another file system",
			trial);
	else
		buf_printf(why,
			"%s (in a container: --security-opt seccomp=unconfined "
			"--security-opt apparmor=unconfined)",
			strerror(-r));
	return CHECK_MISSING;
}

/* Maps /usr by the user namespace of a child that waits until this one ends. */
static int idmap_usr(void)
{
	struct mount_attr attr = {.attr_set = MOUNT_ATTR_IDMAP};
	auto_close int ns = -1, tree = -1;
	int link[2];
	char path[64], byte;
	pid_t pid;
	int r = socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, link) < 0 ? -errno : 0;

	pid = r < 0 ? -1 : fork();
	if (pid < 0)
		return r < 0 ? r : -errno;
	if (pid == 0) {
		close(link[1]);
		r = unshare(CLONE_NEWUSER);
		_exit(write(link[0], "", 1) < 0 || read(link[0], &byte, 1) < 0 || r < 0);
	}
	close(link[0]);
	(void)!read(link[1], &byte, 1); /* it is in its namespace */
	snprintf(path, sizeof(path), "/proc/%ld/uid_map", (long)pid);
	write_file(path, "0 100000 65536");
	snprintf(path, sizeof(path), "/proc/%ld/gid_map", (long)pid);
	write_file(path, "0 100000 65536");
	snprintf(path, sizeof(path), "/proc/%ld/ns/user", (long)pid);
	ns = open(path, O_RDONLY | O_CLOEXEC);
	attr.userns_fd = (uint64_t)ns;
	tree = open_tree(AT_FDCWD, "/usr", OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC);
	r = ns < 0 || tree < 0 || mount_setattr(tree, "", AT_EMPTY_PATH, &attr, sizeof(attr)) < 0
		    ? -errno
		    : 0;
	close(link[1]);
	waitpid(pid, NULL, 0);
	return r;
}

enum check_result check_idmap(struct buf *why)
{
	int r;

	if (geteuid() != 0)
		return buf_add_str(why, "used by root only"), CHECK_UNUSED;
	r = check_in_child(idmap_usr);
	if (r == 0)
		return buf_add_str(why, "of /usr"), CHECK_OK;
	buf_printf(why, "of /usr: %s (kernel 5.12 or newer, and a file system that can)",
		strerror(-r));
	return CHECK_MISSING;
}
