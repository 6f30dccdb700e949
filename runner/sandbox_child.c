// The child that builds the sandbox from within its new namespaces, and then becomes init.
#include "runner/sandbox_impl.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/close_range.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/scope.h"
#include "common/unsafe.h"

static int send_report(const struct sandbox_plan *plan, const struct sandbox_report *r,
	const int *fds, size_t fds_len)
{
	return sandbox_send(plan->link_fds[1], r, sizeof(*r), fds, fds_len);
}

/* Waits until the daemon has written the id maps; the layers that it prepared come along. */
static int wait_for_go(struct sandbox_plan *plan)
{
	char control[CMSG_SPACE(SANDBOX_LAYERS_MAX * sizeof(int))] __attribute__((aligned(16)));
	uint8_t has_lower[SANDBOX_LAYERS_MAX] = {0};
	struct iovec iov = {.iov_base = has_lower, .iov_len = sizeof(has_lower)};
	struct msghdr msg = {.msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = control,
		.msg_controllen = sizeof(control)};

	if (recvmsg(plan->link_fds[1], &msg, MSG_CMSG_CLOEXEC) != sizeof(has_lower))
		return -EPIPE;
	struct cmsghdr *c = CMSG_FIRSTHDR(&msg);
	const unsigned char *data = c ? CMSG_DATA(c) : NULL;
	for (size_t i = 0; i < plan->layers_len; i++) {
		if (!has_lower[i] || !data)
			continue;
		memcpy(&plan->layers[i].lower_fd, data, sizeof(int));
		data += sizeof(int);
	}
	return 0;
}

/* The working directory moves along into the new mount namespace: from there the state directory
 * is reached without its path. */
static int take_mounts(struct sandbox_plan *plan, struct fail *f)
{
	if (fchdir(plan->config->state_fd) < 0)
		return fail_errno(f, -errno, "entering the state directory");
	int err = cgroup_join(plan->cgroup);
	if (err < 0)
		return fail_errno(f, err, "entering the control group");
	if (unshare(CLONE_NEWNS | CLONE_NEWCGROUP) < 0)
		return sandbox_explain_namespaces(f, -errno, plan->ids.root);
	if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
		return sandbox_explain_namespaces(f, -errno, plan->ids.root);
	return 0;
}

static int become_root(const struct sandbox_plan *plan, struct fail *f)
{
	if (!plan->ids.single && setgroups(0, NULL) < 0)
		return fail_errno(f, -errno, "dropping groups");
	if (syscall(SYS_setresgid, 0, 0, 0) < 0 || syscall(SYS_setresuid, 0, 0, 0) < 0)
		return fail_errno(f, -errno, "becoming the namespace's root");
	return 0;
}

static int set_identity(const struct sandbox_plan *plan, struct fail *f)
{
	if (sethostname(plan->host_name, strlen(plan->host_name)) < 0 || setdomainname("", 0) < 0)
		return fail_errno(f, -errno, "setting the host name");
	return plan->config->net == SANDBOX_NET_HOST ? 0 : sandbox_net_loopback(f);
}

static int mount_all(struct sandbox_plan *plan, int root_dir_fd, int stage_fd, int *ret_tree,
	int *ret_proc, struct fail *f)
{
	auto_close int root_fd = -1;
	int err = sandbox_tree_mount(plan, root_dir_fd, stage_fd, &root_fd, f);

	if (err == 0)
		err = sandbox_tree_clone(root_fd, ret_tree, f);
	if (err == 0)
		err = sandbox_dev_mount_proc(root_fd, plan, ret_proc, f);
	if (err == 0)
		err = sandbox_dev_mount_dev(root_fd, plan, f);
	return err < 0 ? err : sandbox_tree_enter(root_fd, f);
}

static int build(struct sandbox_plan *plan, struct fail *f)
{
	auto_close int root_dir_fd = -1;
	auto_close int stage_fd = -1;
	auto_close int tree_fd = -1;
	auto_close int proc_fd = -1;
	struct sandbox_report built = {.kind = SANDBOX_CHILD_BUILT};
	int err = take_mounts(plan, f);

	umask(022);
	if (err == 0)
		err = sandbox_tree_open(plan, &root_dir_fd, &stage_fd, f);
	if (err == 0)
		err = become_root(plan, f);
	if (err == 0)
		err = set_identity(plan, f);
	if (err == 0)
		err = mount_all(plan, root_dir_fd, stage_fd, &tree_fd, &proc_fd, f);
	if (err < 0)
		return err;
	const int fds[2] = {tree_fd, proc_fd};
	return send_report(plan, &built, fds, 2);
}

/* Gives init its few descriptors under their numbers; all others close as it starts. */
static int place_fds(struct sandbox_plan *plan)
{
	int null_fd = open("/dev/null", O_RDWR | O_CLOEXEC);
	int link_fd = fcntl(plan->link_fds[1], F_DUPFD_CLOEXEC, 10);
	int setup_fd = fcntl(plan->setup_fd, F_DUPFD_CLOEXEC, 10);
	int image_fd = fcntl(plan->image_fd, F_DUPFD_CLOEXEC, 10);
	int fence_fd = plan->fence_fd < 0 ? null_fd : plan->fence_fd;

	fence_fd = fcntl(fence_fd, F_DUPFD_CLOEXEC, 10);
	if (null_fd < 0 || fence_fd < 0 || link_fd < 0 || setup_fd < 0 || image_fd < 0)
		return -errno;
	for (int i = 0; i < 3; i++) {
		if (dup2(null_fd, i) < 0)
			return -errno;
	}
	if (dup2(link_fd, INIT_LINK_FD) < 0 || dup2(setup_fd, INIT_SETUP_FD) < 0 ||
		dup2(fence_fd, INIT_FENCE_FD) < 0)
		return -errno;
	if (!unsafe_is("descriptors") &&
		syscall(SYS_close_range, INIT_FENCE_FD + 1, ~0U, CLOSE_RANGE_CLOEXEC) < 0)
		return -errno;
	return image_fd;
}

/* A process 1 that is the daemon's clone, and init beside it. */
static void stay_as_first(void)
{
	if (fork() == 0)
		return;
	while (waitpid(-1, NULL, 0) > 0 || errno == EINTR)
		;
	_exit(0);
}

static int become_init(struct sandbox_plan *plan, struct fail *f)
{
	static char name[] = "sandpit-init";
	char *const argv[] = {name, NULL};
	char *const env[] = {unsafe_entry(), NULL};
	int image_fd = place_fds(plan);

	if (image_fd < 0)
		return fail_errno(f, image_fd, "preparing init's descriptors");
	if (unsafe_is("fresh"))
		stay_as_first();
	syscall(SYS_execveat, image_fd, "", argv, env, AT_EMPTY_PATH);
	return fail_errno(f, -errno, "executing init");
}

_Noreturn void sandbox_child_main(struct sandbox_plan *plan)
{
	struct sandbox_report failed = {.kind = SANDBOX_CHILD_FAILED};

	close_fd(&plan->link_fds[0]);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (wait_for_go(plan) < 0)
		_exit(1);
	failed.err = build(plan, &failed.why);
	if (failed.err == 0)
		failed.err = become_init(plan, &failed.why);
	send_report(plan, &failed, NULL, 0);
	_exit(1);
}
