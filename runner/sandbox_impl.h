// What the parts of the sandbox share: its record in the daemon, and the plan that the daemon makes
// for the child which builds the sandbox from within. For sandbox*.c only.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "common/fail.h"
#include "common/list.h"
#include "runner/limits/cgroup.h"
#include "runner/idmap.h"
#include "runner/init_proto.h"
#include "runner/sandbox.h"

#define SANDBOX_DEFAULT_PIDS 2048
#define SANDBOX_DEFAULT_UID 1000 /* of the user named "user" */

/* A directory of the host that is let in as the lower layer of an overlay. */
struct sandbox_layer {
	const char *host; /* path on the host */
	const char *target; /* path inside, relative to the root; "" is the root itself */
	const char *name; /* of the layer's directories, layers/NAME.up and .wk */
	bool others; /* what others may not read on the host stays closed to the sandbox's root */
	int lower_fd; /* root: a detached mount with ids mapped; -1: the path is used */
	int skeleton_fd; /* opened by the child: the middle layer of sandbox_skeleton.c; -1: none */
	int host_fd, upper_fd, work_fd; /* opened by the child, while it has the daemon's ids */
	bool plain; /* no overlay: mounted as it is, read-only, without directories of its own */
};

#define SANDBOX_LAYERS_MAX 17

/* Made by the daemon, read by the child that it clones. */
struct sandbox_plan {
	const struct sandbox_config *config; /* borrowed */
	struct idmap ids;
	struct cgroup *cgroup; /* borrowed */
	struct sandbox_layer layers[SANDBOX_LAYERS_MAX];
	size_t layers_len;
	bool fixed; /* what the upper directories hold is seen, and nothing in layers can be changed */
	char host_name[65];
	char skeleton_name[32]; /* below the configured skeleton_path; "": none */
	int image_fd; /* owned; init's program, sealed */
	int setup_fd; /* owned; struct init_setup and the filters */
	int fence_fd; /* owned; in the child: INIT_FENCE_FD; -1: the kernel has none */
	int link_fds[2]; /* owned; the daemon's end and init's */
};

/* What the child says before it becomes init; kinds beyond those of struct sandbox_event. */
enum { SANDBOX_CHILD_FAILED = 200, SANDBOX_CHILD_BUILT };

struct sandbox_report {
	uint32_t kind;
	int32_t err;
	struct fail why; /* SANDBOX_CHILD_FAILED */
};

/* The middle layers of one state of the host. */
struct sandbox_skeleton {
	int base_fd; /* owned; where all of this user lie; -1: there are none */
	int fd; /* owned; the one in use, locked */
	bool whole; /* it has all directories */
	uint64_t key;
	struct sandbox_layer layers[SANDBOX_LAYERS_MAX]; /* host and name only */
	size_t layers_len;
};

struct sandbox {
	struct sandbox_skeleton skeleton;
	bool fixed; /* as in its plan */
	pid_t pid; /* init; 0 once reaped */
	int pid_fd; /* owned, like all descriptors here */
	int link_fd;
	int tree_fd;
	int proc_fd;
	int user_ns_fd;
	int net_ns_fd; /* -1: the host's */
	bool dead; /* the link is closed at the other end */
	uint32_t spawns; /* asked for, */
	uint32_t spawns_done; /* and as init has counted them */
	bool alone; /* init has said so after the last of these */
	bool told_running;
	void (*quiet_changed)(void *arg, bool quiet); /* may be NULL */
	void *quiet_arg;
	pid_t net_pid; /* the supervisor of pasta or slirp4netns; 0: none */
	int net_fd; /* it ends when this is closed */
	struct idmap map;
	struct sandbox_ids ids;
	struct cgroup *cgroup; /* owned */
	struct cgroup_hits hits; /* as last read; they stand while nothing lives in the sandbox */
	bool hits_known; /* nothing lived then, */
	uint32_t hits_spawns; /* and so many had been asked for */
	struct list run_groups; /* of struct run_group in sandbox_limit.c */
};

/* sandbox_limit.c */

/* Makes a control group for a spawn that asks for limits which one can set, and leaves in *rlimits
 * those that are left for rlimits. fds are of the group, to join it; borrowed. */
int sandbox_limit_begin(struct sandbox *s, const struct sandbox_spawn *spawn,
	struct sandbox_limits *rlimits, int fds[INIT_GROUPS_MAX], size_t *ret_len, struct fail *f);
/* Nothing of the spawn lives any more. */
void sandbox_limit_end(struct sandbox *s, uint32_t id);
void sandbox_limit_clear(struct sandbox *s);

/* sandbox_plan.c */

/* Whether a path on the host, without its first slash, is let in as a layer of its own. */
bool sandbox_plan_is_layer(const struct sandbox_plan *plan, const char *target);

/* Decides on the layers and makes what the state directory lacks, the filters and the link. */
int sandbox_plan_make(struct sandbox_plan *plan, struct fail *f);
void sandbox_plan_clear(struct sandbox_plan *plan);

/* Once the user namespace has its maps: as root, the lower layers with mapped ids. */
int sandbox_plan_map_layers(struct sandbox_plan *plan, int user_ns_fd, struct fail *f);

/* sandbox_skeleton.c */

/* Gives the plan's layers their middle layers, where the user needs some; without, if they cannot
 * be made, nothing can be added to the host's directories. */
void sandbox_skeleton_choose(struct sandbox_skeleton *k, struct sandbox_plan *plan);
void sandbox_skeleton_clear(struct sandbox_skeleton *k);

/* sandbox.c: why namespaces are refused, and what the machine's owner can do. */
int sandbox_explain_namespaces(struct fail *f, int err, bool is_root);

/* Of a sandbox, and of each id in it: they count against the mounting user's own limits outside. */
#define SANDBOX_INOTIFY_INSTANCES "64"
#define SANDBOX_INOTIFY_WATCHES "32768"

/* Clones the child that builds the sandbox, with these flags, in a user namespace around its own; its
 * id maps are written. 0 or -errno with words. */
int sandbox_fence_clone(
	struct sandbox_plan *plan, unsigned long flags, pid_t *ret_pid, struct fail *f);

/* sandbox_link.c */

#define SANDBOX_SEND_MAX SANDBOX_LAYERS_MAX

/* One packet, with at most SANDBOX_SEND_MAX descriptors. 0 or -errno of sendmsg(2). */
int sandbox_send(int socket, const void *data, size_t len, const int *fds, size_t fds_len);

/* sandbox_child.c: all that happens in the cloned child; never returns. */
_Noreturn void sandbox_child_main(struct sandbox_plan *plan);

/* sandbox_tree.c: the child's mounts. Descriptors of directories on plain file systems come in,
 * descriptors of mounts go out. */

/* Opens the state's directories before the child gives up its ids. */
int sandbox_tree_open(struct sandbox_plan *plan, int *ret_root, int *ret_stage, struct fail *f);
/* Puts the root and the layers together; *ret is the attached root mount. */
int sandbox_tree_mount(
	struct sandbox_plan *plan, int root_dir_fd, int stage_fd, int *ret, struct fail *f);
/* A copy of the tree as it is now, for the daemon. */
int sandbox_tree_clone(int root_fd, int *ret, struct fail *f);
/* Makes root_fd the root of the mount namespace and forgets the old one. */
int sandbox_tree_enter(int root_fd, struct fail *f);
/* Opens a directory to mount on, made or remade when it is not a plain directory: links in the
 * tree are the sandbox's own and are never followed. */
int sandbox_tree_mount_point(int root_fd, const char *path, int *ret, struct fail *f);
/* Whatever took the place of a mount point keeps its content under another name, NAME.replaced-N. 0 or
 * -errno. */
int sandbox_tree_set_aside(int dir_fd, const char *name);
/* fsopen to fsmount with options as "key", "value" pairs ending in NULL (value "": a flag). */
int sandbox_tree_new_fs(
	const char *type, const char *const *options, unsigned attrs, int *ret, struct fail *f);
int sandbox_tree_openat2(int dir_fd, const char *path, int flags, uint64_t resolve);

/* sandbox_dev.c: /proc and /dev. */
int sandbox_dev_mount_proc(int root_fd, struct sandbox_plan *plan, int *ret_proc, struct fail *f);
int sandbox_dev_mount_dev(int root_fd, const struct sandbox_plan *plan, struct fail *f);

/* sandbox_etc.c: what lies in a new root. */
int sandbox_etc_fill(
	int root_dir_fd, int stage_fd, const struct sandbox_plan *plan, struct fail *f);

/* sandbox_net.c */

/* Where a name server answers inside with net=user. */
#define SANDBOX_NET_DNS "10.0.2.3"

int sandbox_net_loopback(struct fail *f);
/* Starts slirp4netns or pasta beside; it is not waited for: init lets the first command wait. */
int sandbox_net_start(struct sandbox *s, const struct sandbox_config *config, struct fail *f);
void sandbox_net_stop(struct sandbox *s);
