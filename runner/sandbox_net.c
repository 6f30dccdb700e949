// The sandbox's network: its loopback, and with net=user the program that connects it to the
// outside, under a supervisor that ends it when the daemon ends in whatever way.
#include "runner/sandbox_impl.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/close_range.h>
#include <linux/landlock.h>
#include <net/if.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/scope.h"
#include "common/unsafe.h"

#define ARGS_MAX 24

int sandbox_net_loopback(struct fail *f)
{
	struct ifreq request = {.ifr_name = "lo", .ifr_flags = IFF_UP | IFF_RUNNING};
	auto_close int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	if (fd < 0 || ioctl(fd, SIOCSIFFLAGS, &request) < 0)
		return fail_errno(f, -errno, "bringing up the sandbox's loopback");
	return 0;
}

/* In the order in which they are tried. pasta is eight times faster, but that of Debian 12 sends data
 * again and again to who has ended its own direction. Both keep the host's own loopback out of reach,
 * and forward no ports to the inside. The process id comes last. */
static const struct program {
	const char *path;
	const char *root_args[2]; /* as root, besides */
	const char *args[ARGS_MAX];
} programs[] = {
	{"/usr/bin/slirp4netns", {NULL},
		{"--configure", "--mtu=65520", "--disable-host-loopback", "--enable-seccomp"}},
	{"/usr/bin/pasta", {"--runas", "0"},
		{"--quiet", "--foreground", "--config-net", "--no-map-gw", "--dns-forward",
			SANDBOX_NET_DNS, "-t", "none", "-u", "none", "-T", "none", "-U", "none"}},
};

const char *sandbox_net_program(void)
{
	for (size_t i = 0; i < ARRAY_LEN(programs); i++) {
		if (access(programs[i].path, X_OK) == 0)
			return programs[i].path;
	}
	return NULL;
}

const char *sandbox_net_tun_advice(int error)
{
	if (error == EACCES)
		return "chmod 666 /dev/net/tun, as udev does; or use net=proxy or net=none";
	if (error == EPERM)
		return "in a container: --device /dev/net/tun; or use net=proxy or net=none";
	return "modprobe tun, in a container --device /dev/net/tun; or use net=proxy or net=none";
}

bool sandbox_net_user_possible(void)
{
	return sandbox_net_program() && access("/dev/net/tun", R_OK | W_OK) == 0;
}

bool sandbox_net_scopes_sockets(void)
{
	return syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION) >= 6;
}

static bool shuts_loopback(const char *arg)
{
	return strcmp(arg, "--disable-host-loopback") == 0 || strcmp(arg, "--no-map-gw") == 0;
}

static _Noreturn void execute(const struct program *p, const struct sandbox *s)
{
	const char *argv[ARGS_MAX + 6] = {p->path};
	char pid[16];
	char *const env[] = {NULL};
	size_t len = 1;

	for (size_t i = 0; i < ARRAY_LEN(p->args) && p->args[i]; i++)
		if (!unsafe_is("loopback") || !shuts_loopback(p->args[i]))
			argv[len++] = p->args[i];
	for (size_t i = 0; i < 2 && p->root_args[i] && s->map.root; i++)
		argv[len++] = p->root_args[i];
	snprintf(pid, sizeof(pid), "%d", s->pid);
	argv[len++] = pid;
	if (strstr(p->path, "slirp"))
		argv[len++] = "tap0";
	syscall(SYS_close_range, 3, ~0U, CLOSE_RANGE_CLOEXEC);
	/* pasta gives up where it is ignored already. */
	signal(SIGPIPE, SIG_DFL);
	execve(p->path, (char *const *)argv, env);
	_exit(127);
}

/* Runs one program until it ends by itself, or the daemon does: then this does not return. */
static void supervise_one(const struct program *p, const struct sandbox *s, int daemon_fd)
{
	pid_t pid = fork();

	if (pid == 0)
		execute(p, s);
	if (pid < 0)
		return;
	int pid_fd = (int)syscall(SYS_pidfd_open, pid, 0);
	struct pollfd fds[2] = {{.fd = daemon_fd}, {.fd = pid_fd, .events = POLLIN}};
	while (poll(fds, 2, -1) < 0 && errno == EINTR)
		;
	bool daemon_ended = fds[0].revents != 0;
	if (daemon_ended)
		kill(pid, SIGKILL);
	while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
		;
	close(pid_fd);
	if (daemon_ended)
		_exit(0);
}

static _Noreturn void supervise(const struct sandbox *s, int daemon_fd)
{
	sigset_t none;
	int null_fd = open("/dev/null", O_RDWR | O_CLOEXEC);

	prctl(PR_SET_NAME, "sandpit-net");
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	for (int i = 0; i < 3; i++)
		dup2(null_fd, i);
	dup2(daemon_fd, 3);
	syscall(SYS_close_range, 4, ~0U, 0);
	for (size_t i = 0; i < ARRAY_LEN(programs); i++) {
		if (access(programs[i].path, X_OK) == 0)
			supervise_one(&programs[i], s, 3);
	}
	_exit(1);
}

int sandbox_net_start(struct sandbox *s, const struct sandbox_config *config, struct fail *f)
{
	int fds[2];

	if (config->net != SANDBOX_NET_USER)
		return 0;
	if (!sandbox_net_program())
		return fail_set(f, -ENOENT,
			"net=user needs slirp4netns or pasta: install the package slirp4netns, or "
			"use net=proxy or net=none");
	auto_close int tun_fd = open("/dev/net/tun", O_RDWR | O_CLOEXEC);
	if (tun_fd < 0)
		return fail_errno(f, -errno, "net=user needs /dev/net/tun (%s)",
			sandbox_net_tun_advice(errno));
	if (pipe2(fds, O_CLOEXEC) < 0)
		return fail_errno(f, -errno, "making a pipe");
	s->net_pid = fork();
	if (s->net_pid == 0) {
		close(fds[1]);
		supervise(s, fds[0]);
	}
	close(fds[0]);
	s->net_fd = fds[1];
	if (s->net_pid < 0) {
		s->net_pid = 0;
		return fail_errno(f, -errno, "starting the network's supervisor");
	}
	return 0;
}

void sandbox_net_stop(struct sandbox *s)
{
	close_fd(&s->net_fd);
	if (!s->net_pid)
		return;
	while (waitpid(s->net_pid, NULL, 0) < 0 && errno == EINTR)
		;
	s->net_pid = 0;
}

struct listen {
	const struct sandbox *sandbox;
	uint16_t port;
	int fd; /* or -errno */
};

static void *listen_inside(void *arg)
{
	struct listen *l = arg;
	const struct sockaddr_in address = {.sin_family = AF_INET,
		.sin_port = htons(l->port),
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	auto_close int fd = -1;

	l->fd = sandbox_enter_net(l->sandbox);
	if (l->fd < 0)
		return NULL;
	fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0 || bind(fd, (const struct sockaddr *)&address, sizeof(address)) < 0 ||
		listen(fd, 128) < 0)
		l->fd = -errno;
	else
		l->fd = take_fd(&fd);
	return NULL;
}

int sandbox_listen(const struct sandbox *s, uint16_t port)
{
	struct listen l = {.sandbox = s, .port = port};
	pthread_t thread;
	int r = -pthread_create(&thread, NULL, listen_inside, &l);

	if (r < 0)
		return r;
	pthread_join(thread, NULL);
	return l.fd;
}
