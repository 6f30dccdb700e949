// Locks that are taken through the mount (flock, fcntl), as locks of the files below: they exclude, and
// are excluded by, those of commands. By the leader only.
//
// The daemon is one process, and the processes that it locks for must exclude each other, too. So each
// owner of locks on a file has an open file description of its own there, and its locks are that one's
// (flock(2), and F_OFD_SETLK of fcntl(2)): they go when it is closed.
#pragma once

#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct locks;

/* Who wants what of which file. */
struct lock_request {
	uint64_t file; /* its id */
	uint64_t
		owner; /* a process for locks of POSIX, an open file for others: the kernel's number */
	bool whole; /* of flock(2), which lie apart from those of fcntl(2) */
	uint64_t handle; /* the open file by which it came; 0 is one, too */
	int fd; /* of the file, borrowed, may be of its path only; -1: it has none, and gets one */
	bool closes_unseen; /* nobody tells when a process closes the open file, while another one has it */
	bool writable; /* whether the file may be opened for writing */
	pid_t pid; /* the process; 0: not known here */
};

/* At most max descriptors are kept open. -errno. */
int locks_new(unsigned max, struct locks **ret);
void locks_free(struct locks *locks);
/* How many owners of locks there are, each with a descriptor. */
unsigned locks_count(const struct locks *locks);

/* Locks or unlocks a range (l_whence is SEEK_SET), never waiting. -EAGAIN: another lock is in the way.
 * -ENOLCK: there are too many. */
int locks_set(struct locks *locks, const struct lock_request *request, const struct flock *range);

/* The same of flock(2): LOCK_SH, LOCK_EX or LOCK_UN. A lock that cannot be changed is lost, as there. */
int locks_set_whole(struct locks *locks, const struct lock_request *request, int operation);

/* Which lock is in the way of one: F_UNLCK if there is none. l_pid is 0 where it is not known, and for a
 * command's lock that has no process. */
int locks_get(struct locks *locks, const struct lock_request *request, struct flock *range);

/* Ends what processes that have ended held by open files that close unseen; whether there was any. For when
 * a lock is in the way. */
bool locks_drop_ended(struct locks *locks, uint64_t file);

/* The process has closed the file: whether it had locks of POSIX there, which are gone. */
bool locks_drop_owner(struct locks *locks, uint64_t file, uint64_t owner);
/* The open file is gone, and the locks of all who used it to lock; whether there were any. */
bool locks_drop_handle(struct locks *locks, uint64_t file, uint64_t handle);
