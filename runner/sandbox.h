// The sandbox: its namespaces, its tree, its init, and the link over which the daemon asks init to
// start and kill processes. Knows nothing of runs, kernels or FUSE.
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "common/fail.h"

enum sandbox_net { SANDBOX_NET_NONE, SANDBOX_NET_HOST, SANDBOX_NET_USER, SANDBOX_NET_PROXY };

/* Whether SANDBOX_NET_USER can work: slirp4netns or pasta is there, and /dev/net/tun is open to
 * us. */
bool sandbox_net_user_possible(void);
/* Which program would be used; NULL: none is there. */
const char *sandbox_net_program(void);
/* What to do about an errno of opening /dev/net/tun. */
const char *sandbox_net_tun_advice(int error);

/* Whether the kernel can keep the host's abstract sockets from commands that share its network. */
bool sandbox_net_scopes_sockets(void);

struct sandbox_limits {
	uint64_t memory_bytes; /* of the whole sandbox; 0: no limit */
	uint64_t pids;
	double cpus;
	uint64_t disk_bytes;
	uint64_t file_bytes; /* RLIMIT_FSIZE; 0: no limit */
	uint64_t open_files; /* RLIMIT_NOFILE; 0: 7/8 of what the daemon has */
};

struct sandbox_config {
	const char *name; /* borrowed; also the host name inside, made fit for one */
	const char *state_path; /* borrowed; for messages */
	int state_fd; /* borrowed; the state directory, locked, mode 0700 */
	const char *drivers; /* borrowed; a host directory that is let in, read-only, at
				/opt/sandpit; NULL: none */
	const char *skeleton_path; /* borrowed; a directory of the user's for what sandboxes share:
				      see sandbox_skeleton_complete(); NULL: none */
	const char *rootfs; /* borrowed; NULL: the host's own system directories */
	enum sandbox_net net;
	struct sandbox_limits limits;
};

/* How ids inside the sandbox appear to the daemon's own system calls (after sandbox_join()). */
struct sandbox_ids {
	uid_t base; /* the daemon sees sandbox id n as base + n */
	uint32_t len; /* how many ids are mapped: 1 or 65536 */
};

struct sandbox;

/* Makes the sandbox and its init. Call once, while the process has one thread. On failure nothing
 * is left behind and f says what to do (which sysctl, package or option). The state directory gets
 * what it lacks: root/ (the sandbox's /), the overlays' upper and work directories. */
int sandbox_start(const struct sandbox_config *config, struct sandbox **ret, struct fail *f);

/* Whether sandbox_join() will enter another user namespace. */
bool sandbox_will_join(void);

/* Rootless: puts the calling, still single-threaded process into the sandbox's user namespace, so
 * that it can reach files of every id mapped there. As root it does nothing. */
int sandbox_join(struct sandbox *s, struct fail *f);

/* To be called at the start of every thread that makes file system calls on the tree: as root it
 * sets the file system ids so that what is created belongs to the sandbox's uid 0, and keeps the
 * capabilities. */
int sandbox_thread_start(const struct sandbox *s);

/* Puts the calling thread, for the rest of its life, into the sandbox's network: what sockets it
 * makes are inside. Nothing with SANDBOX_NET_HOST. After sandbox_join(). 0 or -errno. */
int sandbox_enter_net(const struct sandbox *s);

/* A listening TCP socket at 127.0.0.1:port inside, made by a thread of its own; owned by the
 * caller. -errno. */
int sandbox_listen(const struct sandbox *s, uint16_t port);

/* Kills everything in it, waits for init, releases all. NULL is allowed. */
void sandbox_free(struct sandbox *s);

/* Whether the next sandbox of this user finds the directories of /usr and the like ready to take
 * new files. */
bool sandbox_skeleton_is_whole(const struct sandbox *s);

/* Makes them ready; slow, so in a thread of its own, whose priority it lowers. 0, -ECANCELED once
 * cancelled is set, or -errno. */
int sandbox_skeleton_complete(const struct sandbox *s, const atomic_bool *cancelled);

/* All borrowed from the sandbox, open until sandbox_free(). */
int sandbox_tree_fd(const struct sandbox *s); /* O_PATH: recursive clone of the tree without
						  /proc, /dev and other mounts of the running sandbox */
int sandbox_proc_fd(const struct sandbox *s); /* the sandbox's own /proc, readable */
int sandbox_link_fd(const struct sandbox *s); /* readable when sandbox_next_event() has one */
pid_t sandbox_init_pid(const struct sandbox *s); /* in the daemon's pid namespace */
const struct sandbox_ids *sandbox_ids(const struct sandbox *s);

/* What is in force, for status.json: "user" or "single" ids, "cgroup v2" ... or "rlimits". */
const char *sandbox_ids_mode(const struct sandbox *s);
const char *sandbox_limits_mode(const struct sandbox *s);
/* Whether commands may change what is the host's, /usr and the like, in layers of the sandbox's own. */
bool sandbox_can_change_system(const struct sandbox *s);
/* Whether its limit of processors is in force. */
bool sandbox_limits_cpus(const struct sandbox *s);

struct sandbox_usage {
	uint64_t cpu_usec;
	uint64_t memory_bytes;
	uint64_t pids;
	uint64_t oom_kills; /* rises when the kernel killed something for memory */
};

/* What the sandbox's processes use now: from the cgroup, else summed over its /proc. */
int sandbox_usage(const struct sandbox *s, struct sandbox_usage *ret);

/* The same of a spawn with limits of its own, until it is SANDBOX_EMPTY; UINT64_MAX where no
 * control group tells. */
void sandbox_spawn_usage(const struct sandbox *s, uint32_t id, struct sandbox_usage *ret);

/* What was refused or killed for a limit: counters that only rise. Where a spawn has a control
 * group of its own for it, what that counts, until it is SANDBOX_EMPTY; else the whole sandbox. */
struct sandbox_hits {
	uint64_t memory; /* processes that were killed */
	uint64_t pids; /* processes that could not be made */
};
void sandbox_hits(struct sandbox *s, uint32_t id, struct sandbox_hits *ret);

/* Kills every process inside but init. Returns how many were there. */
unsigned sandbox_kill_all(const struct sandbox *s);

/* A user of the sandbox's own /etc/passwd and /etc/group, by name or number. -EINVAL with words
 * when there is none, or when its ids are not mapped. */
struct sandbox_user {
	char name[64];
	char home[256];
	char shell[256];
	uid_t uid; /* inside */
	gid_t gid;
	gid_t groups[64];
	size_t groups_len;
};
int sandbox_find_user(
	const struct sandbox *s, const char *name, struct sandbox_user *ret, struct fail *f);

/* Whether the file system that a directory is on can have the layers in which the sandbox changes what is the
 * host's: an overlay cannot, as all of a container is but its volumes. It can show them. */
bool sandbox_takes_layers(int dir_fd);

/* Says why an overlay over lower, with layers in a directory of state_path, was refused with err; false
 * when it is not known. */
bool sandbox_explain_overlay(const char *lower, int layers_fd, const char *state_path, bool is_root,
	int err, struct fail *f);

/* Whether a sandbox can be made of a tree (rootfs=): 0, or -errno with words. */
int sandbox_check_rootfs(const char *rootfs, struct fail *f);

/* Whether path (absolute, inside) is a directory of the sandbox: 0, -ENOENT, -ENOTDIR, -EACCES...
 * Links are followed inside the tree only. */
int sandbox_check_dir(const struct sandbox *s, const char *path);

/* Ids inside that commands can never take, whatever the sandbox's root does. */
#define SANDBOX_NESTING_UID 65533
#define SANDBOX_INIT_UID 65535

/* The user of programs that build a sandbox of their own inside (sandbox_spawn.nests). False where
 * only one id is mapped: such a sandbox has no second user. */
bool sandbox_nesting_user(const struct sandbox *s, struct sandbox_user *ret);

struct sandbox_spawn {
	uint32_t id; /* the caller's, unique among live ones; comes back in events */
	const char *const *argv; /* argv[0] without a slash is looked up in env's PATH */
	const char *const *env; /* all of it; nothing is inherited */
	const char *cwd; /* absolute, inside */
	const struct sandbox_user *user;
	int in_fd, out_fd, err_fd; /* borrowed; become 0, 1, 2; in_fd -1: /dev/null */
	int extra_fd; /* borrowed; becomes 3; -1: none */
	struct sandbox_limits
		limits; /* of this process tree; zeros: none. memory, pids and cpus are
					 exact where there are control groups; else memory is of
					 each process and pids of all of the user's, and cpus is
					 refused: -EOPNOTSUPP. disk is refused. */
	bool nests; /* as sandbox_nesting_user(), who alone may: it can make user, process and
		       network namespaces, and keeps root's power over files */
};

/* Asks init to start a process in a session of its own. 0, or -errno (-E2BIG: argv and env are too
 * large for exec; -EAGAIN: too many requests under way). The outcome comes as an event. */
int sandbox_spawn(struct sandbox *s, const struct sandbox_spawn *spawn, struct fail *f);

enum sandbox_target {
	SANDBOX_PROCESS, /* the first process */
	SANDBOX_GROUP, /* its process group */
	SANDBOX_TREE, /* everything that came from it, double-forked or not, also after it ended */
};

/* Sends a signal. SIGKILL to a tree repeats until nothing of it lives. 0 or -errno. */
int sandbox_kill(struct sandbox *s, uint32_t id, int sig, enum sandbox_target target);

/* Forgets a spawn whose first process ended: its id may be used again, its tree not killed any
 * more. */
int sandbox_forget(struct sandbox *s, uint32_t id);

enum sandbox_event_kind {
	SANDBOX_STARTED, /* exec succeeded */
	SANDBOX_FAILED, /* could not start: err and text say why; no other event follows */
	SANDBOX_ENDED, /* the first process was reaped: wait_status */
	SANDBOX_EMPTY, /* nothing of its tree lives any more (comes after ENDED, perhaps at once) */
};

struct sandbox_event {
	enum sandbox_event_kind kind;
	uint32_t id;
	pid_t pid; /* inside */
	int wait_status; /* as waitpid(2) gives it */
	int err; /* negative errno */
	uint64_t cpu_usec;
	uint32_t spawns; /* that init has carried out so far */
	bool alone; /* no process but init lives */
	char text[200]; /* which step failed, on which path */
};

/* Whether no process lives in it but init, so that nothing can change in its tree. */
bool sandbox_is_quiet(const struct sandbox *s);

/* Whom to tell of a change of that: in the call that asks for the first process, before it can
 * start, and in the one that gets the event of the last one's end, before that is returned. */
void sandbox_watch_quiet(struct sandbox *s, void (*changed)(void *arg, bool quiet), void *arg);

/* 1 and an event, 0 when there is none now, -EPIPE when init has died (the sandbox is gone). */
int sandbox_next_event(struct sandbox *s, struct sandbox_event *ret);
