// Requests of the kernel that wait for something: a command's end, more output. Each is answered
// exactly once: when it can go on, when its caller is interrupted, or when the mount ends.
#pragma once

#include "fs/libfuse.h"

#include <stdbool.h>

#include "common/list.h"
#include "common/loop.h"
#include "common/waiters.h"

struct mount;

struct parked {
	struct waiter waiter; /* what it waits for */
	struct list all; /* in mount.parked */
	struct list told; /* in mount.interrupted */
	struct loop_timer deadline;
	struct loop_timer look; /* again whether the caller wants to end */
	struct mount *m; /* borrowed */
	fuse_req_t req;
	pid_t pid; /* the caller */
	bool ends_at_any_signal; /* not only at one that is to end the caller's call */
	void *handle; /* the caller's, borrowed: lives as long as the request */
	size_t size;
	uint64_t off;
	char *data; /* owned; what is still to be written */
	size_t data_len, data_at;

	/* Tries again: answers through parked_reply*(), or waits again. at_deadline: do not wait. */
	void (*retry)(struct parked *p, bool at_deadline);
	/* The caller was interrupted; EINTR is answered afterwards. May be NULL. */
	void (*interrupted)(struct parked *p);
	/* Frees what the handle pointer owns, when the request is answered. May be NULL. */
	void (*drop)(void *handle);
};

/* Parks a request until a waker of the list comes by. NULL: no memory; it is not answered. */
struct parked *parked_new(struct mount *m, fuse_req_t req, void *handle, struct list *waiters,
	void (*retry)(struct parked *p, bool at_deadline));

/* Waits again. */
void parked_again(struct parked *p, struct list *waiters);

/* At the latest after so long, retry is called with at_deadline. */
void parked_deadline(struct parked *p, uint64_t usec);

/* Answers and frees. err 0 or -errno. */
void parked_reply(struct parked *p, int err);
/* Ends the wait; the caller answers. */
fuse_req_t parked_take(struct parked *p);
void parked_reply_data(struct parked *p, const void *data, size_t len);
void parked_reply_write(struct parked *p, size_t count);
/* As fuse_reply_open(): -ENOENT when the open was taken back, and the handle is to be closed. */
int parked_reply_open(struct parked *p, const struct fuse_file_info *fi);

/* Answers those whose callers were interrupted; by the leader, outside of request handlers. */
void parked_tell_interrupted(struct mount *m);

/* Answers all with err, at the end of the mount. */
void parked_reply_all(struct mount *m, int err);
