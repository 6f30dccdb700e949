// One mounted sandbox: what the daemon's parts share. All but `files` belongs to the loop's leader.
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "common/buf.h"
#include "common/config.h"
#include "common/fail.h"
#include "common/list.h"
#include "common/loop.h"
#include "fs/idle_poll.h"
#include "fs/removals.h"
#include "fs/spin.h"
#include "runner/runs/run.h"
#include "runner/sandbox.h"

struct browser;
struct contexts;
struct files;
struct locks;
struct disk_guard;
struct ports;
struct proxy;
struct event_log;
struct agent;
struct fuse_session;
struct checkpoint_jobs;
struct checkpoint_view;

struct mount {
	const struct config *config; /* borrowed */
	const char *name, *mount_point, *state_path, *registry_path, *store_path; /* borrowed */
	int state_fd; /* borrowed */
	const char *net; /* the kind of network in force */
	uid_t uid; /* who mounted it */
	gid_t gid;
	uint32_t generation; /* random, of this start */
	uint64_t started_usec; /* wall clock */

	struct loop *loop; /* owned, all below */
	struct sandbox *sandbox;
	struct runs *runs;
	struct contexts *contexts;
	struct browser *browser;
	struct disk_guard *disk;
	struct ports *ports;
	int peer_fd; /* of peer_open(); -1: the kernel does not tell */
	struct proxy *proxy; /* NULL: not net=proxy */
	struct files *files;
	struct files *trees; /* checkpoints/N/tree/ */
	int trees_fd; /* where those are, each by its archive's hash */
	struct checkpoint_jobs *checkpoints;
	struct checkpoint_view *view; /* what is stored of the project */
	struct skeleton_job *skeleton; /* NULL: not needed */
	struct event_log *log;
	struct agent *agent;
	struct fuse_session *session;
	bool greeted; /* the kernel and libfuse have agreed on what each can do */
	struct idle_poll idle_poll;
	struct spin spin;

	uint64_t own_events; /* of the loop's: those that tell nothing of the sandbox... */
	uint64_t heard; /* ...and the others, when files/ was last told of them */

	char *error; /* the last failed request's line, without newline; NULL: none */
	uint64_t error_usec;
	uint64_t requests, failures; /* control requests taken, refused */
	char *texts[8]; /* owned; the last text of each file of ctl/ that takes one */
	uint32_t json_run; /* the run that ctl/run.json started last; 0: none */
	struct list frozen; /* of struct synth_freeze.link: content that readers hold */
	struct list scratch; /* editors' temporary files */
	uint16_t next_scratch;
	uint16_t next_instance; /* of control file nodes */
	struct list handles; /* open synthetic files */
	struct locks *locks; /* taken through the mount */
	struct list lock_waits; /* of struct parked.waiter: those that wait for one */
	struct list parked; /* requests that wait for an answer */
	struct removals removals;
	struct list interrupted; /* those that were interrupted and must be told */
};

/* Records a failed request for /error and the log: "PATH: words (EINVAL)". Returns err. */
int mount_failed(struct mount *m, const char *path, int err, const struct fail *f);

/* The same of a file that has nothing to read at present, but for the log: searches and backups read
 * everything, and that is no event. */
int mount_unreadable(struct mount *m, const char *path, int err, const struct fail *f);

/* Before something is told that may have been heard of the sandbox: what it has changed in files/
 * shows from now on. */
void mount_tell(struct mount *m);

/* Writes an event to the log. */
void mount_log(struct mount *m, const char *format, ...) __attribute__((format(printf, 2, 3)));
