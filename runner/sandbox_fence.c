// The user namespace around the sandbox's own. What the kernel counts for users it counts in each
// namespace for every id of it, and in those around for their owners: only there is a limit one for
// the whole sandbox, however many ids its commands take (user_namespaces(7), kernel/ucount.c).
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/scope.h"
#include "common/unsafe.h"
#include "runner/sandbox_impl.h"

struct answer {
	pid_t pid; /* of the sandbox's first process; -errno where there is none */
	struct fail why;
};

/* Where the kernel has no such setting, or it is not to be written, the sandbox's own stands. */
static void limit(const char *path, const char *value)
{
	auto_close int fd = open(path, O_WRONLY | O_CLOEXEC);

	if (fd >= 0 && write(fd, value, strlen(value)) < 0)
		return;
}

static void clone_inside(
	struct sandbox_plan *plan, unsigned long flags, int fd, struct answer *answer)
{
	/* The parent is the daemon, as it would be without a namespace between. */
	pid_t pid =
		(pid_t)syscall(SYS_clone, flags | CLONE_PARENT | SIGCHLD, NULL, NULL, NULL, NULL);

	if (pid == 0) {
		close(fd);
		sandbox_child_main(plan);
	}
	answer->pid = pid;
	if (pid < 0) {
		answer->pid = sandbox_explain_namespaces(&answer->why, -errno, plan->ids.root);
		return;
	}
	int err = idmap_write_inside(&plan->ids, pid, &answer->why);
	if (err < 0) {
		kill(pid, SIGKILL);
		answer->pid = err;
	}
}

_Noreturn static void fence_main(struct sandbox_plan *plan, unsigned long flags, int fd)
{
	struct answer answer = {0};
	char go;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (read(fd, &go, 1) != 1)
		_exit(1);
	if (!unsafe_is("limits")) {
		limit("/proc/sys/user/max_inotify_instances", SANDBOX_INOTIFY_INSTANCES);
		limit("/proc/sys/user/max_inotify_watches", SANDBOX_INOTIFY_WATCHES);
	}
	clone_inside(plan, flags, fd, &answer);
	_exit(send(fd, &answer, sizeof(answer), MSG_NOSIGNAL) != sizeof(answer));
}

static int let_go(const struct sandbox_plan *plan, pid_t fence, int fd, struct answer *ret)
{
	int err = idmap_write(&plan->ids, fence, &ret->why);

	if (err < 0)
		return err;
	if (send(fd, "", 1, MSG_NOSIGNAL) != 1 || recv(fd, ret, sizeof(*ret), 0) != sizeof(*ret))
		return fail_set(&ret->why, -EPIPE, "the process that makes the sandbox died");
	return ret->pid;
}

int sandbox_fence_clone(
	struct sandbox_plan *plan, unsigned long flags, pid_t *ret_pid, struct fail *f)
{
	struct answer answer = {0};
	int ends[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
		return fail_errno(f, -errno, "socketpair");
	pid_t fence = (pid_t)syscall(SYS_clone, CLONE_NEWUSER | SIGCHLD, NULL, NULL, NULL, NULL);
	if (fence == 0) {
		close(ends[0]);
		fence_main(plan, flags, ends[1]);
	}
	close(ends[1]);
	auto_close int fd = ends[0];
	if (fence < 0)
		return sandbox_explain_namespaces(f, -errno, plan->ids.root);
	int pid = let_go(plan, fence, fd, &answer);
	close_fd(&fd);
	while (waitpid(fence, NULL, 0) < 0 && errno == EINTR)
		;
	if (pid < 0)
		return fail_set(f, pid, "%s", answer.why.text);
	*ret_pid = pid;
	return 0;
}
