// The sandbox's PID 1: starts, signals and reaps processes as the daemon asks over the link. It
// ends, and with it everything in its pid namespace, when the link is closed.
#include "runner/init/init.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/scope.h"
#include "common/unsafe.h"

/* Docker's set less MKNOD, NET_RAW, AUDIT_WRITE and SYS_CHROOT: what commands of uid 0 have. */
#define COMMAND_CAPS 0x800005fbULL
/* The last is for /proc/sys/user only: limits of resources are not the namespace's to raise. */
#define INIT_CAPS                                                                                  \
	(COMMAND_CAPS | 1ULL << CAP_SYS_ADMIN | 1ULL << CAP_SYS_PTRACE | 1ULL << CAP_SYS_RESOURCE)

#define SCAN_EVERY_USEC 5000

static int send_event(struct init *init, const struct sandbox_event *event)
{
	if (send(init->link_fd, event, sizeof(*event), MSG_DONTWAIT | MSG_NOSIGNAL) >= 0)
		return 0;
	if (errno != EAGAIN)
		_exit(0);
	init->blocked = true;
	return -EAGAIN;
}

static int send_of_spawn(struct init *init, struct spawn *s)
{
	static const enum sandbox_event_kind order[] = {
		SANDBOX_FAILED, SANDBOX_STARTED, SANDBOX_ENDED, SANDBOX_EMPTY};

	for (size_t i = 0; s->unsent && i < ARRAY_LEN(order); i++) {
		if (!(s->unsent & 1u << order[i]))
			continue;
		struct sandbox_event event = {
			.kind = order[i],
			.id = s->id,
			.pid = s->pid,
			.wait_status = s->wait_status,
			.err = s->err,
			.cpu_usec = s->cpu_usec,
			.spawns = init->spawns_done,
			.alone = order[i] != SANDBOX_STARTED && tree_is_alone(),
		};
		memcpy(event.text, s->text, sizeof(event.text));
		if (send_event(init, &event) < 0)
			return -EAGAIN;
		s->unsent &= ~(1u << order[i]);
	}
	return 0;
}

static void send_events(struct init *init)
{
	struct list *item, *spare;

	init->blocked = false;
	list_for_each_safe(item, spare, &init->spawns)
	{
		struct spawn *s = list_entry(item, struct spawn, link);
		if (!s->forgotten && send_of_spawn(init, s) < 0)
			return;
		if (s->failed || (s->forgotten && s->empty))
			spawn_free(s);
	}
}

static struct spawn *find_spawn(const struct init *init, uint32_t id)
{
	struct list *item;

	list_for_each(item, &init->spawns)
	{
		struct spawn *s = list_entry(item, struct spawn, link);
		if (s->id == id && !s->forgotten)
			return s;
	}
	return NULL;
}

static void handle(struct init *init, const void *packet, size_t len, int *fds, size_t fds_len)
{
	const struct init_request *r = packet;

	if (len >= sizeof(struct init_spawn) && r->kind == INIT_SPAWN) {
		init->spawns_done++;
		spawn_request(init, packet, len, fds, fds_len);
		return;
	}
	for (size_t i = 0; i < fds_len; i++)
		close(fds[i]);
	if (len < sizeof(*r))
		return;
	struct spawn *s = find_spawn(init, r->id);
	if (s && r->kind == INIT_KILL)
		tree_kill(init, s, r->sig, r->target);
	if (s && r->kind == INIT_FORGET && s->ended)
		s->forgotten = true;
}

/* Takes one packet. */
static void receive(struct init *init)
{
	static char packet[INIT_PACKET_MAX] __attribute__((aligned(16)));
	char control[CMSG_SPACE(sizeof(int) * INIT_FDS_MAX)] __attribute__((aligned(16)));
	struct iovec iov = {.iov_base = packet, .iov_len = sizeof(packet)};
	struct msghdr msg = {.msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = control,
		.msg_controllen = sizeof(control)};
	int fds[INIT_FDS_MAX];
	size_t fds_len = 0;

	ssize_t len = recvmsg(init->link_fd, &msg, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
	if (len < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (len <= 0)
		_exit(0);
	struct cmsghdr *c = CMSG_FIRSTHDR(&msg);
	if (c && c->cmsg_type == SCM_RIGHTS) {
		fds_len = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
		memcpy(fds, CMSG_DATA(c), fds_len * sizeof(int));
	}
	handle(init, packet, (size_t)len, fds, fds_len);
}

static uint64_t cpu_of(const struct rusage *ru)
{
	return ((uint64_t)ru->ru_utime.tv_sec + (uint64_t)ru->ru_stime.tv_sec) * USEC_PER_SEC +
	       (uint64_t)ru->ru_utime.tv_usec + (uint64_t)ru->ru_stime.tv_usec;
}

static bool note_end(struct init *init, pid_t pid, int status, const struct rusage *ru)
{
	struct list *item;

	list_for_each(item, &init->spawns)
	{
		struct spawn *s = list_entry(item, struct spawn, link);
		if (s->pid != pid || s->ended || s->failed)
			continue;
		s->ended = true;
		s->wait_status = status;
		s->cpu_usec = cpu_of(ru);
		s->unsent |= 1u << SANDBOX_ENDED;
		return true;
	}
	return false;
}

static void reap(struct init *init)
{
	struct signalfd_siginfo info[8];
	struct rusage ru;
	bool ended = false;
	int status;
	pid_t pid;

	while (read(init->signal_fd, info, sizeof(info)) > 0)
		;
	while ((pid = wait4(-1, &status, WNOHANG, &ru)) > 0) {
		if (note_end(init, pid, status, &ru))
			ended = true;
		else
			init->orphan_reaped = true;
	}
	if (ended)
		tree_check_empty(init);
}

static void run(struct init *init)
{
	struct pollfd fds[2] = {{.fd = init->link_fd}, {.fd = init->signal_fd, .events = POLLIN}};

	for (;;) {
		fds[0].events = (short)(POLLIN | (init->blocked ? POLLOUT : 0));
		int ready = poll(fds, 2, tree_timeout(init));
		if (ready < 0 && errno != EINTR)
			_exit(1);
		if (ready <= 0)
			fds[0].revents = fds[1].revents = 0;
		if (fds[1].revents)
			reap(init);
		if (fds[0].revents & (POLLIN | POLLHUP | POLLERR))
			receive(init);
		tree_step(init);
		if (init->orphan_reaped &&
			clock_monotonic_usec() - init->scanned_usec >= SCAN_EVERY_USEC)
			tree_check_empty(init);
		send_events(init);
	}
}

static int read_setup(struct init *init)
{
	struct init_setup *setup = &init->setup;

	if (pread(INIT_SETUP_FD, setup, sizeof(*setup), 0) != sizeof(*setup))
		return -EPROTO;
	return lseek(INIT_SETUP_FD, sizeof(*setup), SEEK_SET) < 0 ? -errno : 0;
}

static int read_filters(struct init *init)
{
	for (int i = 0; i < INIT_FILTERS; i++) {
		size_t len = init->setup.filter_len[i];
		void *data = malloc(len + 1);
		if (!data)
			return -ENOMEM;
		if (read(INIT_SETUP_FD, data, len) != (ssize_t)len)
			return -EPROTO;
		init->filters[i] = (struct sock_fprog){
			.len = (unsigned short)(len / sizeof(struct sock_filter)),
			.filter = data,
		};
	}
	close(INIT_SETUP_FD);
	return 0;
}

/* Of the calling thread, and of those that it starts; with SECCOMP_FILTER_FLAG_TSYNC of all. */
static int install_filters(const struct init *init, int first, int end, unsigned flags)
{
	if (unsafe_is("filter"))
		return 0;
	for (int i = first; i < end; i++) {
		long r = syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &init->filters[i]);
		if (r)
			return r < 0 ? -errno : -EBUSY;
	}
	return 0;
}

static int drop_caps(const struct init *init)
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct data[2] = {0};
	uint32_t uid = unsafe_is("uid") ? 0 : init->setup.uid;
	const uint64_t all = unsafe_is("caps") ? ~0ULL >> 23 : 0; /* up to the last there is */
	/* Commands have what init has, and neither may trace whom it pleases. */
	const bool even = unsafe_is("even");
	const uint64_t own = even ? INIT_CAPS & ~(1ULL << CAP_SYS_PTRACE) : INIT_CAPS | all;
	const uint64_t bound = even ? own : COMMAND_CAPS | all;

	for (int cap = 0; prctl(PR_CAPBSET_READ, cap) >= 0; cap++) {
		if (!(bound >> cap & 1) && prctl(PR_CAPBSET_DROP, cap) < 0)
			return -errno;
	}
	prctl(PR_SET_KEEPCAPS, 1);
	if (uid && (setgroups(0, NULL) < 0 || setresgid(uid, uid, uid) < 0))
		return -errno;
	if (uid && setresuid(uid, uid, uid) < 0)
		return -errno;
	prctl(PR_SET_KEEPCAPS, 0);
	for (int i = 0; i < 2; i++)
		data[i].effective = data[i].permitted = (uint32_t)(own >> 32 * i);
	return syscall(SYS_capset, &header, data) < 0 ? -errno : 0;
}

/* Landlock, ABI 6 (Linux 6.12; userspace-api/landlock.rst). Older kernels cannot, and the daemon's
 * log says so. */
static int scope_sockets(const struct init *init)
{
	const struct {
		uint64_t handled_access_fs, handled_access_net, scoped;
	} rules = {.scoped = 1}; /* LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET */

	if (!init->setup.scope_sockets || unsafe_is("scope"))
		return 0;
	auto_close int fd = (int)syscall(SYS_landlock_create_ruleset, &rules, sizeof(rules), 0);
	if (fd < 0)
		return errno == ENOSYS || errno == EOPNOTSUPP || errno == E2BIG || errno == EINVAL
			       ? 0
			       : -errno;
	return syscall(SYS_landlock_restrict_self, fd, 0) < 0 ? -errno : 0;
}

static int harden(struct init *init)
{
	int err = drop_caps(init);

	if (err < 0)
		return err;
	if (prctl(PR_SET_DUMPABLE, unsafe_is("dumpable") ? 1 : 0) < 0 ||
		prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 || prctl(PR_SET_PDEATHSIG, SIGKILL) < 0)
		return -errno;
	err = scope_sockets(init);
	if (err == 0)
		err = vigil_start(init);
	if (err == 0)
		err = nester_start();
	/* What is mounted here the filters would refuse. */
	if (err == 0)
		err = shield_proc(init);
	if (err == 0)
		err = install_filters(init, 0, INIT_OWN_FILTERS, SECCOMP_FILTER_FLAG_TSYNC);
	return err < 0 ? err : install_filters(init, INIT_COMMANDS_FILTER, INIT_NESTING_FILTER, 0);
}

static int prepare(struct init *init)
{
	sigset_t chld;

	for (int sig = 1; sig < NSIG; sig++)
		signal(sig, SIG_DFL);
	umask(022);
	setsid();
	init->link_fd = INIT_LINK_FD;
	list_init(&init->spawns);
	fcntl(INIT_FENCE_FD, F_SETFD, FD_CLOEXEC);
	int err = read_setup(init);
	if (err == 0)
		err = read_filters(init);
	if (err < 0)
		return err;
	init->proc_fd = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	sigemptyset(&chld);
	sigaddset(&chld, SIGCHLD);
	sigprocmask(SIG_SETMASK, &chld, NULL);
	init->signal_fd = signalfd(-1, &chld, SFD_CLOEXEC | SFD_NONBLOCK);
	if (init->proc_fd < 0 || init->signal_fd < 0)
		return -errno;
	return harden(init);
}

int main(void)
{
	static struct init init;
	struct sandbox_event ready = {.kind = (enum sandbox_event_kind)INIT_READY};

	prctl(PR_SET_NAME, "sandpit-init");
	ready.err = prepare(&init);
	if (send(INIT_LINK_FD, &ready, sizeof(ready), MSG_NOSIGNAL) < 0 || ready.err < 0)
		return 1;
	run(&init);
}
