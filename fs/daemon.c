// The daemon: one mounted sandbox, from mount to umount.
#include "fs/daemon.h"

#include <errno.h>
#include <malloc.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/scope.h"
#include "fs/agent.h"
#include "fs/checkpoint_jobs.h"
#include "fs/checkpoint_tree.h"
#include "fs/drivers.h"
#include "fs/event_log.h"
#include "fs/files/files.h"
#include "fs/files/locks.h"
#include "fs/mount.h"
#include "fs/parked.h"
#include "fs/reserve.h"
#include "fs/session.h"
#include "fs/skeleton_job.h"
#include "fs/state_dir.h"
#include "fs/synth/scratch.h"
#include "fs/synth/synth_ops.h"
#include "kernels/browser/browser.h"
#include "kernels/context.h"
#include "runner/checkpoint/checkpoint.h"
#include "runner/checkpoint/checkpoint_view.h"
#include "runner/limits/disk_guard.h"
#include "runner/net/ports.h"
#include "runner/net/proxy.h"
#include "runner/peer.h"
#include "runner/sandbox.h"

struct signals {
	struct loop_source source; /* a signalfd, owned */
	struct mount *m;
};

static void on_signal(struct loop_source *source, uint32_t events)
{
	struct signals *signals = container_of(source, struct signals, source);
	struct signalfd_siginfo info;

	(void)events;
	if (read(source->fd, &info, sizeof(info)) != sizeof(info))
		return;
	mount_log(signals->m, "stopping: signal %u", info.ssi_signo);
	loop_stop(signals->m->loop);
}

static int watch_signals(struct mount *m, struct signals *signals)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGHUP);
	sigprocmask(SIG_BLOCK, &set, NULL);
	signal(SIGPIPE, SIG_IGN);
	signals->m = m;
	signals->source = (struct loop_source){
		.fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK), .ready = on_signal};
	if (signals->source.fd < 0)
		return -errno;
	return loop_watch(m->loop, &signals->source, EPOLLIN);
}

static const char *const net_names[] = {[SANDBOX_NET_NONE] = "none",
	[SANDBOX_NET_HOST] = "host",
	[SANDBOX_NET_USER] = "user",
	[SANDBOX_NET_PROXY] = "proxy"};

static enum sandbox_net net_of(const struct config *c)
{
	for (size_t i = 0; c->net && i < ARRAY_LEN(net_names); i++)
		if (!strcmp(c->net, net_names[i]))
			return (enum sandbox_net)i;
	return sandbox_net_user_possible() ? SANDBOX_NET_USER : SANDBOX_NET_NONE;
}

static int start_sandbox(struct mount *m, struct fail *f)
{
	const struct config *c = m->config;
	char *drivers auto_free = NULL, *skeleton auto_free = NULL;
	int r = drivers_find(&drivers);

	if (r < 0)
		return fail_errno(f, r, "looking for the drivers");
	/* Without a place for it nothing can be installed, and all else works. */
	state_dir_default(".skeleton", &skeleton, NULL);
	const struct sandbox_config config = {
		.drivers = drivers,
		.name = m->name,
		.state_path = m->state_path,
		.state_fd = m->state_fd,
		.skeleton_path = skeleton,
		.rootfs = c->rootfs,
		.net = net_of(c),
		.limits = {.memory_bytes = c->memory,
			.pids = c->pids,
			.cpus = c->cpus,
			.disk_bytes = c->disk,
			.file_bytes = c->fsize,
			.open_files = c->nofile},
	};
	m->net = net_names[config.net];
	if (config.net == SANDBOX_NET_HOST && !sandbox_net_scopes_sockets())
		mount_log(m, "net=host: commands reach the host's abstract sockets, too, for the "
			     "kernel lacks Landlock's scopes (Linux 6.12)");
	return sandbox_start(&config, &m->sandbox, f);
}

static void on_event(void *arg, const struct sandbox_event *event)
{
	struct mount *m = arg;

	if (m->contexts)
		contexts_event(m->contexts, event);
	if (m->browser)
		browser_event(m->browser, event);
}

static void on_run_failed(void *arg, const char *path, int err, const struct fail *f)
{
	mount_failed(arg, path, err, f);
}

static void on_sandbox_died(void *arg)
{
	struct mount *m = arg;

	if (m->contexts)
		contexts_sandbox_died(m->contexts);
	if (m->browser)
		browser_sandbox_died(m->browser);
	if (m->ports)
		ports_sandbox_died(m->ports);
}

static int open_proxy(struct mount *m, struct fail *f)
{
	const struct proxy_config config = {
		.loop = m->loop,
		.sandbox = m->sandbox,
		.allow = m->config->net_allow,
		.log = (void (*)(void *, const char *, ...))mount_log,
		.arg = m,
	};

	return net_of(m->config) == SANDBOX_NET_PROXY ? proxy_new(&config, &m->proxy, f) : 0;
}

static int open_runs(struct mount *m, struct fail *f)
{
	const struct runs_config config = {
		.loop = m->loop,
		.sandbox = m->sandbox,
		.state_path = m->state_path,
		.state_fd = m->state_fd,
		.environment = m->proxy ? proxy_environment(m->proxy) : NULL,
		.output_bytes = m->config->output_bytes,
		.timeout_usec = m->config->timeout * USEC_PER_SEC,
		.hooks = {.log = (void (*)(void *, const char *, ...))mount_log,
			.event = on_event,
			.failed = on_run_failed,
			.sandbox_died = on_sandbox_died,
			.arg = m},
	};

	return runs_open(&config, &m->runs, f);
}

static void code_failed(void *arg, const char *path, int err, const struct fail *f)
{
	mount_failed(arg, path, err, f);
}

static int open_contexts(struct mount *m, struct fail *f)
{
	const struct contexts_config config = {
		.loop = m->loop,
		.sandbox = m->sandbox,
		.runs = m->runs,
		.config = m->config,
		.state_path = m->state_path,
		.state_fd = m->state_fd,
		.log = (void (*)(void *, const char *, ...))mount_log,
		.failed = code_failed,
		.arg = m,
	};

	return contexts_open(&config, &m->contexts, f);
}

static int open_browser(struct mount *m, struct fail *f)
{
	const struct browser_config config = {
		.loop = m->loop,
		.sandbox = m->sandbox,
		.runs = m->runs,
		.shares_network = net_of(m->config) == SANDBOX_NET_HOST,
		.log = (void (*)(void *, const char *, ...))mount_log,
		.arg = m,
	};

	return browser_open(&config, &m->browser, f);
}

/* First the runs, then, when it goes on growing, whatever else there is: kernels, the browser. */
static void on_disk_over(void *arg, const struct disk_use *use, unsigned round)
{
	struct mount *m = arg;
	unsigned ended = round == 1 ? runs_end_for_disk(m->runs) : 0;
	const char *what = "runs";

	if (!ended) {
		what = "processes";
		ended = round == 1 ? 0 : sandbox_kill_all(m->sandbox);
	}
	files_set_full(m->files, true);
	if (ended || round == 1)
		mount_log(m, "limit: the disk holds %llu of %llu bytes in %llu items; %u %s ended",
			(unsigned long long)use->bytes, (unsigned long long)m->config->disk,
			(unsigned long long)use->items, ended, what);
}

static void on_disk_under(void *arg)
{
	struct mount *m = arg;

	files_set_full(m->files, false);
	mount_log(m, "the disk has room again");
}

static int open_disk(struct mount *m, struct fail *f)
{
	const struct disk_guard_config config = {
		.loop = m->loop,
		.state_fd = m->state_fd,
		.proc_fd = sandbox_proc_fd(m->sandbox),
		.limit_bytes = m->config->disk,
		.over = on_disk_over,
		.under = on_disk_under,
		.arg = m,
	};
	int r = disk_guard_new(&config, &m->disk);

	return r < 0 ? fail_errno(f, r, "watching the disk") : 0;
}

static bool is_own_port(void *arg, uint16_t port)
{
	const struct mount *m = arg;

	return (m->proxy && port == PROXY_PORT) || (m->browser && port == m->browser->port);
}

static int open_ports(struct mount *m, struct fail *f)
{
	const struct ports_config config = {
		.loop = m->loop,
		.sandbox = m->sandbox,
		.shares_network = net_of(m->config) == SANDBOX_NET_HOST,
		.peer_fd = m->config->allow_other ? -1 : m->peer_fd,
		.user = m->uid,
		.is_own = is_own_port,
		.log = (void (*)(void *, const char *, ...))mount_log,
		.arg = m,
	};

	return ports_new(&config, &m->ports, f);
}

/* Half of what the process may have open is for files/ to keep; the rest is for open files, pipes
 * and the like. */
static unsigned files_fds(void)
{
	struct rlimit limit = {.rlim_cur = 1024, .rlim_max = 1024};

	getrlimit(RLIMIT_NOFILE, &limit);
	limit.rlim_cur = limit.rlim_max < 1048576 ? limit.rlim_max : 1048576;
	setrlimit(RLIMIT_NOFILE, &limit);
	return limit.rlim_cur / 2 < 8192 ? (unsigned)limit.rlim_cur / 2 : 8192;
}

static int open_files(struct mount *m, struct fail *f)
{
	const struct sandbox_ids *ids = sandbox_ids(m->sandbox);
	const struct files_config config = {
		.tree_fd = sandbox_tree_fd(m->sandbox),
		.root_ino = FILES_ROOT,
		.ids_base = ids->base,
		.ids_len = ids->len,
		.owner_uid = m->uid,
		.owner_gid = m->gid,
		.generation = m->generation,
		.max_fds = files_fds(),
		.counts_bytes = m->config->disk != 0,
		.loop = m->loop,
	};

	return files_new(&config, &m->files, f);
}

static int open_locks(struct mount *m, struct fail *f)
{
	int r = locks_new(files_fds() / 2, &m->locks);

	return r < 0 ? fail_errno(f, r, "the table of locks") : 0;
}

/* What a crash left in the tree or in the store is removed. */
static int open_checkpoints(struct mount *m, struct fail *f)
{
	int r = checkpoint_jobs_new(m, &m->checkpoints);

	if (r == 0)
		r = checkpoint_view_new(
			m->store_path, checkpoint_jobs_project(m->checkpoints), &m->view);
	if (r == 0)
		r = checkpoint_tree_open(m, f);
	if (r < 0)
		return r;
	r = checkpoint_restore_clean(sandbox_tree_fd(m->sandbox));
	if (r < 0)
		mount_log(m, "what an unfinished restore left cannot be removed: %s", strerror(-r));
	checkpoint_jobs_collect(m->checkpoints, NULL);
	return 0;
}

/* Before the mount is told to be ready: later nobody would learn that there can be none. */
static int start_threads(struct mount *m, struct fail *f)
{
	int r = loop_start(m->loop);

	return r < 0 ? fail_errno(f, r, "starting a thread") : 0;
}

static void thread_start(void *arg)
{
	sandbox_thread_start(((struct mount *)arg)->sandbox);
}

/* In this order: what needs the host's own view (mount, agent) before the sandbox's user namespace
 * is entered, and everything that forks before there are threads. */
static int start(struct mount *m, bool foreground, struct signals *signals, struct fail *f)
{
	int r = event_log_open(m->state_fd, foreground, &m->log);

	if (r < 0)
		return fail_errno(f, r, "%s/log", m->state_path);
	r = loop_new(&m->loop);
	if (r == 0)
		r = watch_signals(m, signals);
	if (r < 0)
		return fail_errno(f, r, "cannot start the event loop");
	r = agent_new(m->mount_point, sandbox_will_join(), &m->agent, f);
	if (r == 0)
		r = start_sandbox(m, f);
	if (r == 0)
		r = session_mount(m, f);
	m->peer_fd = peer_open();
	return r == 0 ? sandbox_join(m->sandbox, f) : r;
}

static void stop(struct mount *m, struct signals *signals)
{
	parked_reply_all(m, -ENOTCONN);
	skeleton_job_stop(m->skeleton);
	checkpoint_jobs_stop(m->checkpoints);
	checkpoint_view_free(m->view);
	checkpoint_jobs_free(m->checkpoints);
	session_close(m);
	locks_free(m->locks);
	synth_handles_close(m);
	browser_close_all(m->browser);
	m->browser = NULL;
	contexts_close(m->contexts);
	m->contexts = NULL;
	checkpoint_tree_close(m);
	disk_guard_free(m->disk);
	m->disk = NULL;
	ports_free(m->ports);
	m->ports = NULL;
	if (m->runs)
		runs_close(m->runs);
	proxy_free(m->proxy);
	close_fd(&m->peer_fd);
	sandbox_free(m->sandbox);
	if (m->files)
		files_free(m->files);
	scratch_free_all(m);
	agent_free(m->agent);
	if (m->loop)
		loop_free(m->loop);
	close_fd(&signals->source.fd);
	if (m->log)
		event_log_close(m->log);
	for (size_t i = 0; i < ARRAY_LEN(m->texts); i++)
		free(m->texts[i]);
	free(m->error);
}

static void log_start(struct mount *m)
{
	mount_log(m, "mounted at %s", m->mount_point);
	if (m->peer_fd < 0)
		mount_log(m,
			"warning: this kernel does not tell whose a connection is: all users of "
			"this machine may use ports/");
	if (m->config->cpus > 0 && !sandbox_limits_cpus(m->sandbox))
		mount_log(m,
			"warning: cpus=%g has no effect: no control group can be made here, see "
			"sandpit check",
			m->config->cpus);
}

int daemon_run(const struct daemon_options *options, struct fail *f)
{
	struct mount m = {
		.config = options->config,
		.name = options->name,
		.mount_point = options->mount_point,
		.state_path = options->state_path,
		.registry_path = options->registry_path,
		.store_path = options->store_path,
		.state_fd = options->state_fd,
		.uid = getuid(),
		.gid = getgid(),
		.started_usec = clock_wall_usec(),
		.trees_fd = -1,
		.peer_fd = -1,
	};
	struct signals signals = {.source.fd = -1};
	int r;

	list_init(&m.scratch);
	list_init(&m.frozen);
	list_init(&m.handles);
	list_init(&m.lock_waits);
	list_init(&m.parked);
	list_init(&m.interrupted);
	if (getrandom(&m.generation, sizeof(m.generation), 0) < 0)
		m.generation = (uint32_t)m.started_usec;
	mallopt(M_MMAP_THRESHOLD, 8 * 1024 * 1024);
	mallopt(M_ARENA_MAX, 2);
	r = start(&m, options->foreground, &signals, f);
	if (r == 0)
		r = open_proxy(&m, f);
	if (r == 0)
		r = open_runs(&m, f);
	if (r == 0)
		r = open_contexts(&m, f);
	if (r == 0)
		r = open_browser(&m, f);
	if (r == 0)
		r = open_ports(&m, f);
	if (r == 0)
		r = open_files(&m, f);
	if (r == 0)
		r = open_locks(&m, f);
	if (r == 0)
		r = open_checkpoints(&m, f);
	if (r == 0)
		r = open_disk(&m, f);
	if (r == 0)
		r = session_watch(&m, f);
	if (r == 0)
		r = start_threads(&m, f);
	if (r == 0) {
		loop_set_thread_start(m.loop, thread_start, &m);
		log_start(&m);
		skeleton_job_start(&m, &m.skeleton);
		reserve_hold(m.state_fd);
		options->ready(options->ready_arg);
		r = loop_run(m.loop, m.config->threads ? (unsigned)m.config->threads : 16);
		mount_log(&m, "unmounted");
	}
	stop(&m, &signals);
	reserve_hold(m.state_fd);
	return r;
}
