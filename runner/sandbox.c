// The sandbox's life in the daemon: start, join, what it uses, end.
#include "runner/sandbox.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/securebits.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/fsuid.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/scope.h"
#include "common/unsafe.h"
#include "runner/sandbox_impl.h"

/* The first start copies /etc, perhaps from a slow disk. */
#define BUILD_MSEC 60000

static bool sysctl_is(const char *path, char value)
{
	char c = 0;
	auto_close int fd = open(path, O_RDONLY | O_CLOEXEC);

	return fd >= 0 && read(fd, &c, 1) == 1 && c == value;
}

int sandbox_explain_namespaces(struct fail *f, int err, bool is_root)
{
	if (sysctl_is("/proc/sys/kernel/unprivileged_userns_clone", '0') && !is_root)
		return fail_set(f, err,
			"user namespaces are switched off for users: sysctl "
			"kernel.unprivileged_userns_clone=1");
	if (sysctl_is("/proc/sys/user/max_user_namespaces", '0'))
		return fail_set(f, err,
			"user namespaces are switched off: sysctl user.max_user_namespaces=10000");
	if (sysctl_is("/proc/sys/kernel/apparmor_restrict_unprivileged_userns", '1') && !is_root)
		return fail_set(f, err,
			"user namespaces are restricted by AppArmor: sysctl "
			"kernel.apparmor_restrict_unprivileged_userns=0");
	if (err == -EAGAIN)
		return fail_errno(f, err, "making namespaces");
	if (err == -ENOSPC)
		return fail_set(f, err,
			"no namespace more can be made: raise the limits that sysctl user shows, as "
			"user.max_mnt_namespaces");
	return fail_errno(f, err,
		"making namespaces (in a container: its seccomp profile must allow clone, unshare and "
		"mount, docker's --security-opt seccomp=unconfined)");
}

/* What the kernel counts for the mounting user outside as well: a new user namespace remembers the
 * limits of its maker as those of all who live in it (user_namespaces(7) names them; kernel
 * source, create_user_ns()). */
static const int shared_limits[] = {RLIMIT_SIGPENDING, RLIMIT_MSGQUEUE, RLIMIT_MEMLOCK};

/* Makes the limits half of what they are, so that the sandbox cannot use up what its user has. */
static void halve_limits(struct rlimit *ret_before)
{
	for (size_t i = 0; i < ARRAY_LEN(shared_limits); i++) {
		getrlimit(shared_limits[i], &ret_before[i]);
		struct rlimit half = ret_before[i];
		if (half.rlim_cur != RLIM_INFINITY)
			half.rlim_cur /= 2;
		setrlimit(shared_limits[i], &half);
	}
}

static void restore_limits(const struct rlimit *before)
{
	for (size_t i = 0; i < ARRAY_LEN(shared_limits); i++)
		setrlimit(shared_limits[i], &before[i]);
}

static int clone_child(struct sandbox *s, struct sandbox_plan *plan, struct fail *f)
{
	unsigned long flags = CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWIPC | CLONE_NEWUTS;

	if (plan->config->net != SANDBOX_NET_HOST)
		flags |= CLONE_NEWNET;
	struct rlimit before[ARRAY_LEN(shared_limits)] = {0};
	halve_limits(before);
	if (unsafe_is("limits"))
		restore_limits(before);
	int err = sandbox_fence_clone(plan, flags, &s->pid, f);
	restore_limits(before);
	if (err < 0)
		return err;
	close_fd(&plan->link_fds[1]);
	s->pid_fd = (int)syscall(SYS_pidfd_open, s->pid, 0);
	return s->pid_fd < 0 ? fail_errno(f, -errno, "pidfd_open (Linux 5.3)") : 0;
}

static int open_namespace(pid_t pid, const char *name)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/ns/%s", pid, name);
	return open(path, O_RDONLY | O_CLOEXEC);
}

static int send_go(const struct sandbox *s, const struct sandbox_plan *plan)
{
	uint8_t has_lower[SANDBOX_LAYERS_MAX] = {0};
	int fds[SANDBOX_LAYERS_MAX];
	size_t len = 0;

	for (size_t i = 0; i < plan->layers_len; i++) {
		has_lower[i] = plan->layers[i].lower_fd >= 0;
		if (has_lower[i])
			fds[len++] = plan->layers[i].lower_fd;
	}
	return sandbox_send(s->link_fd, has_lower, sizeof(has_lower), fds, len);
}

union child_packet {
	uint32_t kind;
	struct sandbox_report report;
	struct sandbox_event event;
};

/* Takes the next packet of the child that builds; its descriptors, if any, go to the sandbox. */
static int receive(struct sandbox *s, union child_packet *packet, struct fail *f)
{
	char control[CMSG_SPACE(2 * sizeof(int))] __attribute__((aligned(16)));
	struct pollfd poll_fd = {.fd = s->link_fd, .events = POLLIN};
	struct iovec iov = {.iov_base = packet, .iov_len = sizeof(*packet)};
	struct msghdr msg = {.msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = control,
		.msg_controllen = sizeof(control)};
	int ready;

	do
		ready = poll(&poll_fd, 1, BUILD_MSEC);
	while (ready < 0 && errno == EINTR);
	if (ready == 0)
		return fail_set(
			f, -ETIMEDOUT, "the sandbox was not ready within %d s", BUILD_MSEC / 1000);
	ssize_t len = recvmsg(s->link_fd, &msg, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
	if (len < (ssize_t)sizeof(packet->kind))
		return fail_set(
			f, -EPIPE, "the sandbox's first process died while it was starting");
	struct cmsghdr *c = CMSG_FIRSTHDR(&msg);
	if (c && c->cmsg_type == SCM_RIGHTS && c->cmsg_len == CMSG_LEN(2 * sizeof(int))) {
		memcpy(&s->tree_fd, CMSG_DATA(c), sizeof(int));
		memcpy(&s->proc_fd, CMSG_DATA(c) + sizeof(int), sizeof(int));
	}
	return 0;
}

static int wait_until_ready(struct sandbox *s, struct fail *f)
{
	union child_packet packet;

	for (;;) {
		int err = receive(s, &packet, f);
		if (err < 0)
			return err;
		if (packet.kind == SANDBOX_CHILD_FAILED)
			return fail_set(f, packet.report.err, "%s", packet.report.why.text);
		if (packet.kind != INIT_READY)
			continue;
		if (packet.event.err < 0)
			return fail_errno(f, packet.event.err, "init could not set itself up");
		return s->tree_fd < 0 || s->proc_fd < 0 ? -EPROTO : 0;
	}
}

static int bring_up(struct sandbox *s, struct sandbox_plan *plan, struct fail *f)
{
	int err;

	s->link_fd = take_fd(&plan->link_fds[0]);
	s->user_ns_fd = open_namespace(s->pid, "user");
	if (s->user_ns_fd < 0)
		return fail_errno(f, -errno, "opening the sandbox's user namespace");
	if (plan->config->net != SANDBOX_NET_HOST) {
		s->net_ns_fd = open_namespace(s->pid, "net");
		if (s->net_ns_fd < 0)
			return fail_errno(f, -errno, "opening the sandbox's network namespace");
	}
	err = sandbox_plan_map_layers(plan, s->user_ns_fd, f);
	if (err < 0)
		return err;
	err = send_go(s, plan);
	if (err < 0)
		return fail_errno(f, err, "starting the sandbox's first process");
	return wait_until_ready(s, f);
}

/* The state directory is locked by the daemon, so its number tells the daemon's group from others,
 * and a group of that name is what a crash left behind. */
static int make_cgroup(struct sandbox *s, const struct sandbox_config *config, struct fail *f)
{
	struct sandbox_limits limits = config->limits;
	struct stat st;
	char name[48];

	if (fstat(config->state_fd, &st) < 0)
		return fail_errno(f, -errno, "the state directory %s", config->state_path);
	snprintf(name, sizeof(name), "%lx-%lx", (unsigned long)st.st_dev, (unsigned long)st.st_ino);
	if (!limits.pids)
		limits.pids = SANDBOX_DEFAULT_PIDS;
	limits.pids += INIT_EXTRA_THREADS;
	return cgroup_new(name, &limits, &s->cgroup, f);
}

static int start_with(struct sandbox *s, const struct sandbox_config *config, struct fail *f)
{
	auto_call(sandbox_plan_clear) struct sandbox_plan plan = {
		.config = config,
		.ids = s->map,
		.image_fd = -1,
		.setup_fd = -1,
		.fence_fd = -1,
		.link_fds = {-1, -1},
	};
	int err = make_cgroup(s, config, f);

	if (err < 0)
		return err;
	plan.cgroup = s->cgroup;
	err = sandbox_plan_make(&plan, f);
	s->fixed = plan.fixed;
	if (err == 0)
		sandbox_skeleton_choose(&s->skeleton, &plan);
	if (err == 0)
		err = clone_child(s, &plan, f);
	if (err == 0)
		err = bring_up(s, &plan, f);
	return err < 0 ? err : sandbox_net_start(s, config, f);
}

static struct sandbox *new_sandbox(void)
{
	struct sandbox *s = calloc(1, sizeof(*s));

	if (s)
		list_init(&s->run_groups);
	if (s)
		s->pid_fd = s->link_fd = s->tree_fd = s->proc_fd = s->user_ns_fd = s->net_ns_fd =
			s->net_fd = -1;
	if (s)
		s->skeleton.base_fd = s->skeleton.fd = -1;
	return s;
}

static int start_once(const struct sandbox_config *config, const struct idmap *map,
	struct sandbox **ret, struct fail *f)
{
	struct sandbox *s = new_sandbox();

	if (!s)
		return -ENOMEM;
	s->map = *map;
	s->ids = (struct sandbox_ids){.base = map->root ? map->uid_base : 0, .len = map->len};
	int err = start_with(s, config, f);
	if (err < 0) {
		sandbox_free(s);
		return err;
	}
	*ret = s;
	return 0;
}

int sandbox_start(const struct sandbox_config *config, struct sandbox **ret, struct fail *f)
{
	struct idmap map;

	idmap_choose(&map);
	return start_once(config, &map, ret, f);
}

bool sandbox_will_join(void)
{
	struct idmap map;

	idmap_choose(&map);
	return !map.root;
}

int sandbox_join(struct sandbox *s, struct fail *f)
{
	if (s->map.root)
		return 0;
	if (setns(s->user_ns_fd, CLONE_NEWUSER) < 0)
		return fail_errno(f, -errno, "entering the sandbox's user namespace");
	return 0;
}

int sandbox_enter_net(const struct sandbox *s)
{
	return s->net_ns_fd >= 0 && setns(s->net_ns_fd, CLONE_NEWNET) < 0 ? -errno : 0;
}

int sandbox_thread_start(const struct sandbox *s)
{
	if (!s->map.root)
		return 0;
	int bits = prctl(PR_GET_SECUREBITS);
	if (bits < 0 || prctl(PR_SET_SECUREBITS, bits | SECBIT_NO_SETUID_FIXUP) < 0)
		return -errno;
	setfsgid(s->map.gid_base);
	setfsuid(s->map.uid_base);
	/* These two report the value before and no error: an invalid id asks for the present one. */
	if ((gid_t)setfsgid((gid_t)-1) != s->map.gid_base ||
		(uid_t)setfsuid((uid_t)-1) != s->map.uid_base)
		return -EPERM;
	return 0;
}

static void end_init(struct sandbox *s)
{
	if (!s->pid)
		return;
	/* The kernel then kills all of the pid namespace before it lets init be reaped. */
	kill(s->pid, SIGKILL);
	while (waitpid(s->pid, NULL, 0) < 0 && errno == EINTR)
		;
	s->pid = 0;
}

void sandbox_free(struct sandbox *s)
{
	if (!s)
		return;
	end_init(s);
	sandbox_net_stop(s);
	close_fd(&s->link_fd);
	close_fd(&s->pid_fd);
	close_fd(&s->tree_fd);
	close_fd(&s->proc_fd);
	close_fd(&s->user_ns_fd);
	close_fd(&s->net_ns_fd);
	sandbox_limit_clear(s);
	cgroup_free(s->cgroup);
	sandbox_skeleton_clear(&s->skeleton);
	free(s);
}

int sandbox_tree_fd(const struct sandbox *s)
{
	return s->tree_fd;
}

int sandbox_proc_fd(const struct sandbox *s)
{
	return s->proc_fd;
}

int sandbox_link_fd(const struct sandbox *s)
{
	return s->link_fd;
}

pid_t sandbox_init_pid(const struct sandbox *s)
{
	return s->pid;
}

const struct sandbox_ids *sandbox_ids(const struct sandbox *s)
{
	return &s->ids;
}

const char *sandbox_ids_mode(const struct sandbox *s)
{
	return s->map.single ? "single" : "user";
}

bool sandbox_can_change_system(const struct sandbox *s)
{
	return !s->fixed;
}

const char *sandbox_limits_mode(const struct sandbox *s)
{
	return cgroup_mode(s->cgroup);
}

bool sandbox_limits_cpus(const struct sandbox *s)
{
	return cgroup_limits_cpus(s->cgroup);
}
