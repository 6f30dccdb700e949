// What the parts of the init program share: the spawns that it knows and the scan of /proc.
#pragma once

#include <linux/filter.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "common/list.h"
#include "runner/init_proto.h"

/* One spawn: kept until the daemon forgets it and nothing of its tree lives. */
struct spawn {
	struct list link; /* in init.spawns */
	uint32_t id;
	pid_t pid;
	int tag_fd; /* owned; pins the cgroup namespace, so that its number is not given again */
	ino_t tag; /* the namespace's number: what marks every process of this tree */
	bool ended; /* the first process was reaped, or is dead and kept by one who traces it */
	bool empty; /* nothing of the tree lives */
	bool failed;
	bool killing; /* SIGKILL to the tree is under way */
	unsigned kill_rounds; /* so far */
	unsigned kill_next_full; /* the round that stops before it kills */
	bool nests; /* may make user namespaces: the fence is open while its tree lives */
	bool forgotten; /* by the daemon; its id may be in use again */
	bool seen; /* by the present scan */
	unsigned unsent; /* bits 1 << enum sandbox_event_kind */
	int wait_status;
	int err;
	uint64_t cpu_usec;
	char text[200];
};

struct init {
	int link_fd;
	int signal_fd;
	int proc_fd;
	struct init_setup setup;
	struct sock_fprog filters[INIT_FILTERS]; /* owned */
	struct list spawns;
	uint32_t spawns_done; /* requests to spawn so far */
	bool orphan_reaped; /* some tree may have become empty */
	uint64_t scanned_usec;
	bool blocked; /* the link took no more events */
	int vigil_fd; /* timer of vigil.c */
	volatile pid_t starting; /* a process that is not its program yet, init waits for it */
};

/* spawn.c */

/* Starts what the packet asks for; the outcome is noted in a new spawn. fds are consumed. */
void spawn_request(struct init *init, const void *packet, size_t len, int *fds, size_t fds_len);
void spawn_free(struct spawn *s);
/* Opens the fence of user namespaces while a spawn that nests lives, else closes it. */
void spawn_set_fence(const struct init *init);

/* exec.c: the part between clone and exec */

struct exec_plan {
	struct init *init;
	const struct init_spawn *wanted;
	char *cwd;
	char **argv; /* argv[-1] is spare, for a script without #! */
	char **env;
	int std_fds[4]; /* become 0 to 3; [3] may be -1 */
	int group_fds[INIT_GROUPS_MAX]; /* of control groups to join */
	size_t group_fds_len;
	const char *step; /* set by the child when it fails */
	const char *path;
	int err;
};

/* Runs in the vfork child, returns only on failure, with plan->err, step and path. */
void exec_child(struct exec_plan *plan);

/* thread.c */

/* Starts a thread with the privileges and the filters of the calling one, and no signals. */
int thread_start(void *(*run)(void *arg), void *arg);

/* nester.c */

/* Starts the thread that starts what nests; before the calling one takes the filter of commands. */
int nester_start(void);
/* Runs call(arg) in that thread and returns what it gives. */
int nester_call(int (*call)(void *arg), void *arg);

/* shield.c */

/* Makes init's own files in /proc read-only; the threads are there by then. */
int shield_proc(const struct init *init);

/* traced.c */

/* Notes the end of a killed spawn's first process that nobody tells init of. */
void traced_take_end(struct init *init, struct spawn *s);

/* vigil.c */

/* Starts the watching thread, which has the privileges that init has by then. */
int vigil_start(struct init *init);
/* While on, a new process that a command stops goes on nevertheless. */
void vigil_set(const struct init *init, bool on);

/* tree.c */

int tree_kill(struct init *init, struct spawn *s, int sig, enum sandbox_target target);

/* Goes on with kills of trees that are under way. */
void tree_step(struct init *init);

/* Finds out which ended spawns are empty. */
void tree_check_empty(struct init *init);

/* Whether no process of the sandbox lives but init, of whom they all descend. */
bool tree_is_alone(void);

/* Milliseconds until tree_step() or tree_check_empty() wants to be called; -1: never. */
int tree_timeout(const struct init *init);
