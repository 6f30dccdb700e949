// The agent outside of the sandbox's user namespace.
#include "fs/agent.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "common/program.h"
#include "common/scope.h"

struct agent {
	char *mount_point; /* owned */
	pid_t pid; /* 0: none */
	int socket; /* owned; -1: none */
};

enum question_kind { LOOK, IS_BELOW, WANTS_END, UNMOUNT };

struct question {
	enum question_kind kind;
	pid_t pid;
	struct caller_file file; /* LOOK */
	char path[256]; /* IS_BELOW */
};

/* fusermount3 is set-user-ID: an ordinary user's way to unmount. */
static int run_fusermount(const char *mount_point)
{
	char path[PATH_MAX];
	int status;
	pid_t pid = fork();

	if (pid < 0)
		return -errno;
	if (pid == 0) {
		int null = open("/dev/null", O_RDWR | O_CLOEXEC);

		if (null >= 0)
			dup2(null, 2);
		if (program_find("fusermount3", path, sizeof(path)))
			execl(path, "fusermount3", "-u", "-z", "-q", "--", mount_point, NULL);
		_exit(127);
	}
	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return -errno;
	return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? 0 : -EIO;
}

static int unmount(const struct agent *agent)
{
	if (umount2(agent->mount_point, MNT_DETACH | UMOUNT_NOFOLLOW) == 0)
		return 0;
	return errno == EPERM ? run_fusermount(agent->mount_point) : -errno;
}

static void serve(const struct agent *agent)
{
	struct question question;

	while (recv(agent->socket, &question, sizeof(question), 0) == sizeof(question)) {
		int answer;

		question.path[sizeof(question.path) - 1] = '\0';
		if (question.kind == LOOK)
			answer = (int)caller_look(question.pid, &question.file);
		else if (question.kind == IS_BELOW)
			answer = caller_is_below(question.pid, question.path);
		else if (question.kind == WANTS_END)
			answer = caller_wants_end(question.pid);
		else
			answer = unmount(agent);
		if (send(agent->socket, &answer, sizeof(answer), MSG_NOSIGNAL) < 0)
			break;
	}
}

/* The child keeps nothing but its socket; signals of the terminal are the daemon's business. */
static void child(const struct agent *agent)
{
	static const int ignored[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE};
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	sigset_t none;

	for (int fd = 0; null >= 0 && fd < 3; fd++)
		dup2(null, fd);

	for (size_t i = 0; i < ARRAY_LEN(ignored); i++)
		signal(ignored[i], SIG_IGN);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	prctl(PR_SET_NAME, "sandpit-agent");
	if (agent->socket > 3)
		close_range(3, (unsigned)agent->socket - 1, 0);
	close_range((unsigned)agent->socket + 1, ~0U, 0);
	serve(agent);
	_exit(0);
}

static int start(struct agent *agent)
{
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return -errno;
	agent->pid = fork();
	if (agent->pid == 0) {
		close(pair[0]);
		agent->socket = pair[1];
		child(agent);
	}
	close(pair[1]);
	agent->socket = pair[0];
	if (agent->pid > 0)
		return 0;
	agent->pid = 0;
	return -errno;
}

int agent_new(const char *mount_point, bool needed, struct agent **ret, struct fail *f)
{
	struct agent *agent = calloc(1, sizeof(*agent));
	int r = agent ? 0 : -ENOMEM;

	if (r == 0) {
		agent->socket = -1;
		agent->mount_point = strdup(mount_point);
		r = agent->mount_point ? 0 : -ENOMEM;
	}
	if (r == 0 && needed)
		r = start(agent);
	if (r < 0) {
		agent_free(agent);
		return fail_errno(f, r, "cannot start the agent process");
	}
	*ret = agent;
	return 0;
}

bool agent_is_apart(const struct agent *agent)
{
	return agent && agent->pid > 0;
}

void agent_free(struct agent *agent)
{
	if (!agent)
		return;
	close_fd(&agent->socket);
	if (agent->pid > 0)
		waitpid(agent->pid, NULL, 0);
	free(agent->mount_point);
	free(agent);
}

/* The answer, or fallback when the agent is gone. */
static int ask(struct agent *agent, const struct question *question, int fallback)
{
	int answer;

	if (send(agent->socket, question, sizeof(*question), MSG_NOSIGNAL) < 0 ||
		recv(agent->socket, &answer, sizeof(answer), 0) != sizeof(answer))
		return fallback;
	return answer;
}

enum caller_state agent_look(struct agent *agent, pid_t pid, const struct caller_file *file)
{
	struct question question = {.kind = LOOK, .pid = pid, .file = *file};

	if (pid <= 0)
		return CALLER_LAST;
	if (agent->socket < 0)
		return caller_look(pid, file);
	return (enum caller_state)ask(agent, &question, CALLER_LAST);
}

bool agent_is_below(struct agent *agent, pid_t pid, const char *path)
{
	struct question question = {.kind = IS_BELOW, .pid = pid};

	if (pid <= 0)
		return false;
	if (agent->socket < 0)
		return caller_is_below(pid, path);
	memcpy(question.path, path, strnlen(path, sizeof(question.path) - 1));
	return ask(agent, &question, false);
}

bool agent_wants_end(struct agent *agent, pid_t pid)
{
	struct question question = {.kind = WANTS_END, .pid = pid};

	return agent->socket < 0 ? caller_wants_end(pid) : ask(agent, &question, true);
}

int agent_unmount(struct agent *agent)
{
	struct question question = {.kind = UNMOUNT};

	return agent->socket < 0 ? unmount(agent) : ask(agent, &question, -EIO);
}
