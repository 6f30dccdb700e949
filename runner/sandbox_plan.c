// The daemon's part of building a sandbox: the state directory, init's program and set-up in memory
// files, the link, and as root the layers with mapped ids.
#include "runner/sandbox_impl.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/names.h"
#include "common/scope.h"
#include "runner/seccomp_filter.h"

_Static_assert(INIT_FILTERS == SECCOMP_FILTERS, "init knows all filters");
_Static_assert(INIT_OWN_FILTERS == SECCOMP_COMMANDS, "init's own come first");
_Static_assert(SANDBOX_INIT_UID == IDMAP_LEN - 1, "the last id is init's");

#ifndef MFD_EXEC
#define MFD_EXEC 0x0010U
#endif

/* pasta takes 0.3 to 0.4 s. */
#define NET_WAIT_MSEC 2000

extern const char sandbox_init_image[], sandbox_init_image_end[];

/* A directory on the host becomes a layer; a link there is a link inside (sandbox_etc.c). */
static const struct {
	const char *host;
	const char *target;
	const char *name;
	bool others;
} host_layers[] = {
	{"/usr", "usr", "usr", false},
	{"/opt", "opt", "opt", false},
	{"/bin", "bin", "bin", false},
	{"/sbin", "sbin", "sbin", false},
	{"/lib", "lib", "lib", false},
	{"/lib32", "lib32", "lib32", false},
	{"/lib64", "lib64", "lib64", false},
	{"/libx32", "libx32", "libx32", false},
	/* What is installed in /usr, so that apt agrees with it. */
	{"/var/lib/dpkg", "var/lib/dpkg", "dpkg", false},
	/* The parts of /etc with hundreds of links: too slow to copy at the first start. */
	{"/etc/alternatives", "etc/alternatives", "alternatives", true},
	{"/etc/fonts", "etc/fonts", "fonts", true},
	{"/etc/ssl/certs", "etc/ssl/certs", "certs", true},
};

static struct sandbox_layer *add_layer(
	struct sandbox_plan *plan, const char *host, const char *target, const char *name)
{
	struct sandbox_layer *l = &plan->layers[plan->layers_len++];

	*l = (struct sandbox_layer){
		.host = host,
		.target = target,
		.name = name,
		.lower_fd = -1,
		.host_fd = -1,
		.skeleton_fd = -1,
		.upper_fd = -1,
		.work_fd = -1,
	};
	return l;
}

/* What runs inside on the daemon's behalf: the drivers of code/ and browser/. */
static void add_drivers(struct sandbox_plan *plan)
{
	if (!plan->config->drivers)
		return;
	add_layer(plan, plan->config->drivers, "opt/sandpit", NULL);
	plan->layers[plan->layers_len - 1].plain = true;
}

/* Nothing could run in an empty one, and it is likely not the directory that was meant. */
static int check_content(const char *rootfs, struct fail *f)
{
	DIR *dir auto_dir = names_open(AT_FDCWD, rootfs);

	if (!dir)
		return fail_errno(f, -errno, "rootfs %s", rootfs);
	return !names_next(dir)
		       ? fail_set(f, -EINVAL,
				 "rootfs %s is empty: it needs the tree of an operating system, as "
				 "mmdebstrap makes one",
				 rootfs)
		       : 0;
}

/* Whether a directory is another or lies below it. */
static bool is_within(int dir_fd, const struct stat *other)
{
	auto_close int fd = openat(dir_fd, ".", O_PATH | O_DIRECTORY | O_CLOEXEC);
	struct stat st, above;

	if (fd < 0 || fstat(fd, &st) < 0)
		return false;
	for (;;) {
		if (st.st_dev == other->st_dev && st.st_ino == other->st_ino)
			return true;
		int next = openat(fd, "..", O_PATH | O_DIRECTORY | O_CLOEXEC);
		if (next < 0)
			return false;
		close(fd);
		fd = next;
		if (fstat(fd, &above) < 0 ||
			(above.st_dev == st.st_dev && above.st_ino == st.st_ino))
			return false;
		st = above;
	}
}

int sandbox_check_rootfs(const char *rootfs, struct fail *f)
{
	struct stat st, root;

	if (stat(rootfs, &st) < 0 || stat("/", &root) < 0)
		return fail_errno(f, -errno, "rootfs %s", rootfs);
	if (!S_ISDIR(st.st_mode))
		return fail_set(f, -ENOTDIR, "rootfs %s is no directory", rootfs);
	if (st.st_dev == root.st_dev && st.st_ino == root.st_ino)
		return fail_set(f, -EINVAL,
			"rootfs %s is this machine's own root: give the tree of another system, or "
			"leave rootfs away, then the sandbox has this one's programs",
			rootfs);
	return check_content(rootfs, f);
}

static int check_rootfs(const struct sandbox_plan *plan, struct fail *f)
{
	const char *rootfs = plan->config->rootfs;
	int err = sandbox_check_rootfs(rootfs, f);
	struct stat st;

	if (err < 0)
		return err;
	if (stat(rootfs, &st) < 0)
		return fail_errno(f, -errno, "rootfs %s", rootfs);
	if (is_within(plan->config->state_fd, &st))
		return fail_set(f, -EINVAL,
			"rootfs %s holds the state directory %s, which cannot be a layer over it: set "
			"state= to a place elsewhere",
			rootfs, plan->config->state_path);
	return 0;
}

static int choose_layers(struct sandbox_plan *plan, struct fail *f)
{
	const char *rootfs = plan->config->rootfs;
	struct stat st;

	plan->fixed = !rootfs && !sandbox_takes_layers(plan->config->state_fd);
	if (rootfs) {
		int err = check_rootfs(plan, f);
		if (err < 0)
			return err;
		add_layer(plan, rootfs, "", "root");
		add_drivers(plan);
		return 0;
	}
	for (size_t i = 0; i < ARRAY_LEN(host_layers); i++) {
		if (lstat(host_layers[i].host, &st) < 0 || !S_ISDIR(st.st_mode))
			continue;
		struct sandbox_layer *l = add_layer(
			plan, host_layers[i].host, host_layers[i].target, host_layers[i].name);
		l->others = host_layers[i].others;
	}
	add_drivers(plan);
	return 0;
}

bool sandbox_plan_is_layer(const struct sandbox_plan *plan, const char *target)
{
	for (size_t i = 0; i < plan->layers_len; i++) {
		if (strcmp(plan->layers[i].target, target) == 0)
			return true;
	}
	return false;
}

/* As root the tree belongs to the mapped root, as a user to the user, who is root inside. */
static int make_dir(const struct sandbox_plan *plan, const char *path, mode_t mode, struct fail *f)
{
	int state_fd = plan->config->state_fd;

	if (mkdirat(state_fd, path, mode) < 0) {
		if (errno == EEXIST)
			return 0;
		return fail_errno(f, -errno, "creating %s/%s", plan->config->state_path, path);
	}
	if (plan->ids.root && fchownat(state_fd, path, plan->ids.uid_base, plan->ids.gid_base,
				      AT_SYMLINK_NOFOLLOW) < 0)
		return fail_errno(
			f, -errno, "giving %s/%s to the sandbox", plan->config->state_path, path);
	if (fchmodat(state_fd, path, mode, 0) < 0)
		return fail_errno(f, -errno, "creating %s/%s", plan->config->state_path, path);
	return 0;
}

/* Where the drivers are mounted, which cannot be made there later. What a sandbox of before, that had none, put
 * in its place is set aside, as it is where layers can be changed. */
static int make_drivers_place(const struct sandbox_plan *plan, struct fail *f)
{
	const char *path = "layers/opt.up/sandpit";
	struct stat st;

	if (plan->config->drivers &&
		fstatat(plan->config->state_fd, path, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
		!S_ISDIR(st.st_mode)) {
		int err = sandbox_tree_set_aside(plan->config->state_fd, path);

		if (err < 0)
			return fail_errno(
				f, err, "setting %s/%s aside", plan->config->state_path, path);
	}
	return make_dir(plan, path, 0755, f);
}

static int make_state(const struct sandbox_plan *plan, struct fail *f)
{
	char path[64];
	struct stat st;
	int err = make_dir(plan, "root", 0755, f);

	if (err == 0)
		err = make_dir(plan, "stage", 0700, f);
	if (err == 0)
		err = make_dir(plan, "layers", 0700, f);
	for (size_t i = 0; i < plan->layers_len && err == 0; i++) {
		const struct sandbox_layer *l = &plan->layers[i];
		if (l->plain)
			continue;
		/* The upper directory's mode is the merged directory's. */
		mode_t mode = stat(l->host, &st) == 0 ? st.st_mode & 0777 : 0755;
		snprintf(path, sizeof(path), "layers/%s.up", l->name);
		err = make_dir(plan, path, mode, f);
		snprintf(path, sizeof(path), "layers/%s.wk", l->name);
		if (err == 0)
			err = make_dir(plan, path, 0700, f);
	}
	if (err == 0 && plan->fixed && sandbox_plan_is_layer(plan, "opt"))
		err = make_drivers_place(plan, f);
	return err;
}

static int write_all(int fd, const void *data, size_t len)
{
	const char *at = data;

	while (len) {
		ssize_t n = write(fd, at, len);
		if (n < 0)
			return -errno;
		at += n;
		len -= (size_t)n;
	}
	return 0;
}

static int seal(int fd)
{
	const int seals = F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE;

	return fcntl(fd, F_ADD_SEALS, seals) < 0 ? -errno : 0;
}

/* A copy in memory, so that nothing inside can reach the file that the daemon was started from. */
static int make_image(struct sandbox_plan *plan, struct fail *f)
{
	const unsigned flags = MFD_CLOEXEC | MFD_ALLOW_SEALING;
	size_t len = (size_t)(sandbox_init_image_end - sandbox_init_image);

	plan->image_fd = memfd_create("sandpit-init", flags | MFD_EXEC);
	if (plan->image_fd < 0 && errno == EINVAL) /* before Linux 6.3 */
		plan->image_fd = memfd_create("sandpit-init", flags);
	if (plan->image_fd < 0)
		return fail_errno(
			f, -errno, "making a memory file for init (vm.memfd_noexec must not be 2)");
	int err = write_all(plan->image_fd, sandbox_init_image, len);
	if (err == 0)
		err = seal(plan->image_fd);
	return err < 0 ? fail_errno(f, err, "writing init to memory") : 0;
}

/* The kernel counts the descriptors that are on their way through sockets for a user, and the limit
 * of open files bounds them. Commands have a lower one than the daemon, so that it can still send
 * some to init when they have sent all that they may. */
static uint64_t fewer_files(void)
{
	struct rlimit limit = {.rlim_max = 1024};

	getrlimit(RLIMIT_NOFILE, &limit);
	return limit.rlim_max == RLIM_INFINITY ? 1048576 : limit.rlim_max - limit.rlim_max / 8;
}

static struct sandbox_limits init_limits(const struct sandbox_plan *plan)
{
	struct sandbox_limits l = plan->config->limits;

	if (!l.pids)
		l.pids = SANDBOX_DEFAULT_PIDS;
	if (!l.open_files)
		l.open_files = fewer_files();
	if (cgroup_limits_memory(plan->cgroup))
		l.memory_bytes = 0;
	/* The disk's guard comes too late for one call that allocates a huge file. */
	if (l.disk_bytes && (!l.file_bytes || l.file_bytes > l.disk_bytes))
		l.file_bytes = l.disk_bytes;
	return l;
}

static int make_setup(struct sandbox_plan *plan, struct fail *f)
{
	struct init_setup setup = {
		.uid = plan->ids.single ? 0 : SANDBOX_INIT_UID,
		.scope_sockets = plan->config->net == SANDBOX_NET_HOST,
		.net_wait_msec = plan->config->net == SANDBOX_NET_USER ? NET_WAIT_MSEC : 0,
		.limits = init_limits(plan),
	};

	plan->setup_fd = memfd_create("setup", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (plan->setup_fd < 0)
		return fail_errno(f, -errno, "making a memory file");
	if (getrandom(setup.unshare_key, sizeof(setup.unshare_key), 0) != sizeof(setup.unshare_key))
		return fail_errno(f, -errno, "making a random key");
	int err = write_all(plan->setup_fd, &setup, sizeof(setup));
	if (err == 0)
		err = seccomp_filter_write(plan->setup_fd, setup.unshare_key, setup.filter_len, f);
	if (err < 0)
		return err;
	if (pwrite(plan->setup_fd, &setup, sizeof(setup), 0) != sizeof(setup))
		return fail_errno(f, -errno, "writing init's set-up");
	return seal(plan->setup_fd);
}

/* Letters, digits and inner dashes, at most 63. */
static void make_host_name(struct sandbox_plan *plan)
{
	size_t len = 0;

	for (const char *p = plan->config->name; *p && len < 63; p++) {
		bool plain = (*p >= 'a' && *p <= 'z') || (*p >= 'A' && *p <= 'Z') ||
			     (*p >= '0' && *p <= '9');
		if (plain)
			plan->host_name[len++] = *p;
		else if (len && plan->host_name[len - 1] != '-')
			plan->host_name[len++] = '-';
	}
	while (len && plan->host_name[len - 1] == '-')
		len--;
	if (!len)
		len = (size_t)snprintf(plan->host_name, sizeof(plan->host_name), "sandbox");
	plan->host_name[len] = '\0';
}

int sandbox_plan_make(struct sandbox_plan *plan, struct fail *f)
{
	/* So that a daemon is not held up for long by an init that cannot keep up. */
	const struct timeval patience = {.tv_sec = 2};

	make_host_name(plan);
	int err = choose_layers(plan, f);
	if (err == 0)
		err = make_state(plan, f);
	if (err == 0)
		err = make_image(plan, f);
	if (err == 0)
		err = make_setup(plan, f);
	if (err < 0)
		return err;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, plan->link_fds) < 0 ||
		setsockopt(plan->link_fds[0], SOL_SOCKET, SO_SNDTIMEO, &patience,
			sizeof(patience)) < 0)
		return fail_errno(f, -errno, "making the link to init");
	return 0;
}

void sandbox_plan_clear(struct sandbox_plan *plan)
{
	for (size_t i = 0; i < plan->layers_len; i++)
		close_fd(&plan->layers[i].lower_fd);
	close_fd(&plan->image_fd);
	close_fd(&plan->setup_fd);
	close_fd(&plan->fence_fd);
	close_fd(&plan->link_fds[0]);
	close_fd(&plan->link_fds[1]);
}

int sandbox_plan_map_layers(struct sandbox_plan *plan, int user_ns_fd, struct fail *f)
{
	struct mount_attr attr = {
		.attr_set = MOUNT_ATTR_IDMAP,
		.propagation = MS_PRIVATE,
		.userns_fd = (uint64_t)user_ns_fd,
	};

	for (size_t i = 0; i < plan->layers_len && plan->ids.root; i++) {
		struct sandbox_layer *l = &plan->layers[i];
		if (l->others)
			continue;
		auto_close int fd =
			open_tree(AT_FDCWD, l->host, OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC);
		if (fd < 0)
			return fail_errno(f, -errno, "taking %s as a layer", l->host);
		if (mount_setattr(fd, "", AT_EMPTY_PATH, &attr, sizeof(attr)) == 0)
			l->lower_fd = take_fd(&fd);
		else if (errno != EINVAL && errno != EOPNOTSUPP && errno != ENOSYS)
			return fail_errno(f, -errno, "mapping the ids of %s", l->host);
		/* A file system, or a kernel, without mapped ids is used as it is: its files belong
		 * to nobody inside, as they do for an ordinary user. */
	}
	return 0;
}
