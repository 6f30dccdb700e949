// The kernel's requests to lock.
#include "fs/lock_ops.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/file.h>

#include "common/clock.h"
#include "common/scope.h"
#include "fs/files/files.h"
#include "fs/files/locks.h"
#include "fs/mount.h"
#include "fs/parked.h"
#include "fs/synth/synth.h"

/* A command that unlocks tells nobody: it is tried again, less and less often. */
#define PAUSE_MIN_USEC USEC_PER_MSEC
#define PAUSE_MAX_USEC (20 * USEC_PER_MSEC)

/* A lock that is asked for. */
struct asked {
	struct mount *m; /* borrowed */
	struct files *files; /* borrowed; NULL: a synthetic file */
	fuse_ino_t ino;
	struct fuse_file_info fi;
	struct lock_request request;
	struct flock range; /* of fcntl(2)... */
	int operation; /* ...or of flock(2) */
	uint64_t pause_usec;
};

/* Of a synthetic file each open file may have a node of its own. */
static uint64_t file_of(fuse_ino_t ino)
{
	return files_owns(ino) ? ino : synth_ino_plain(ino);
}

static struct asked ask(
	struct mount *m, struct files *files, fuse_ino_t ino, const struct fuse_file_info *fi)
{
	struct asked asked = {
		.m = m, .files = files, .ino = ino, .fi = *fi, .pause_usec = PAUSE_MIN_USEC};

	asked.request = (struct lock_request){.file = file_of(ino),
		.owner = fi->lock_owner,
		.handle = fi->fh,
		.fd = -1,
		.writable = true};
	if (files) {
		asked.request.fd = files_handle_fd(fi, &asked.request.writable);
		asked.request.closes_unseen = files_handle_closes_unseen(fi);
	}
	return asked;
}

static bool unlocks(const struct asked *asked)
{
	return asked->request.whole ? asked->operation == LOCK_UN : asked->range.l_type == F_UNLCK;
}

/* Whether others may be able to lock after it. One that flock(2) cannot change is lost. */
static bool may_free(const struct asked *asked, int r)
{
	return asked->request.whole || (r == 0 && asked->range.l_type != F_WRLCK);
}

static int try_once(const struct asked *asked)
{
	struct locks *locks = asked->m->locks;

	return asked->request.whole ? locks_set_whole(locks, &asked->request, asked->operation)
				    : locks_set(locks, &asked->request, &asked->range);
}

static int try(const struct asked *asked)
{
	int r = try_once(asked);

	if (r == -ENOLCK && asked->files) {
		files_relieve(asked->files);
		r = try_once(asked);
	}
	if (r == -EAGAIN && locks_drop_ended(asked->m->locks, asked->request.file))
		r = try_once(asked);
	return r;
}

/* Those who wait for the file try again, in the order in which they came, once what is going on now is
 * done: a timer's handler may lend the baton. */
static void wake(struct mount *m, uint64_t file)
{
	struct list *item;

	list_for_each(item, &m->lock_waits)
	{
		struct parked *p = list_entry(item, struct parked, waiter.link);
		struct asked *asked = p->handle;

		if (asked->request.file != file)
			continue;
		asked->pause_usec = PAUSE_MIN_USEC;
		parked_deadline(p, 0);
	}
}

/* Who has the lock of a file must find what others wrote before they gave it up. For that the kernel gives
 * up pages of the file, which waits for requests to read and write them, and at the end nobody answers
 * those. */
static void answer(fuse_req_t req, struct asked *asked, int r)
{
	if (r == 0 && asked->files && !unlocks(asked) && loop_stopping(asked->m->loop))
		r = -ENOTCONN;
	if (r < 0 || !asked->files || unlocks(asked)) {
		fuse_reply_err(req, -r);
		return;
	}
	loop_lend(asked->m->loop);
	files_reply_locked(asked->files, req, asked->ino, &asked->fi);
	loop_reclaim(asked->m->loop);
}

/* A try is no news of the sandbox. */
static void try_again(struct parked *p, bool at_deadline)
{
	struct asked *asked = p->handle;
	struct asked copy;
	int r = try(asked);

	(void)at_deadline;
	asked->m->own_events++;
	if (r == -EAGAIN) {
		asked->pause_usec = asked->pause_usec * 2 < PAUSE_MAX_USEC ? asked->pause_usec * 2
									   : PAUSE_MAX_USEC;
		parked_deadline(p, asked->pause_usec);
		return;
	}
	copy = *asked;
	answer(parked_take(p), &copy, r);
}

static void wait_for_lock(fuse_req_t req, const struct asked *asked)
{
	struct asked *kept = malloc(sizeof(*kept));
	struct parked *p;

	if (!kept) {
		fuse_reply_err(req, ENOMEM);
		return;
	}
	*kept = *asked;
	p = parked_new(asked->m, req, kept, &asked->m->lock_waits, try_again);
	if (!p) {
		free(kept);
		fuse_reply_err(req, ENOMEM);
		return;
	}
	p->drop = free;
	/* The kernel begins the call again where a signal does not end it. */
	p->ends_at_any_signal = true;
	parked_deadline(p, kept->pause_usec);
}

static void set(fuse_req_t req, struct asked *asked, bool waits)
{
	int r = try(asked);

	if (may_free(asked, r))
		wake(asked->m, asked->request.file);
	if (r == -EAGAIN && waits)
		wait_for_lock(req, asked);
	else
		answer(req, asked, r);
}

void lock_ops_setlk(struct mount *m, struct files *files, fuse_req_t req, fuse_ino_t ino,
	struct fuse_file_info *fi, struct flock *lock, int sleep)
{
	struct asked asked = ask(m, files, ino, fi);

	asked.range = *lock;
	asked.request.pid = lock->l_pid;
	set(req, &asked, sleep);
}

void lock_ops_flock(struct mount *m, struct files *files, fuse_req_t req, fuse_ino_t ino,
	struct fuse_file_info *fi, int operation)
{
	struct asked asked = ask(m, files, ino, fi);

	asked.request.whole = true;
	asked.operation = operation & ~LOCK_NB;
	set(req, &asked, !(operation & LOCK_NB));
}

void lock_ops_getlk(struct mount *m, struct files *files, fuse_req_t req, fuse_ino_t ino,
	struct fuse_file_info *fi, struct flock *lock)
{
	struct asked asked = ask(m, files, ino, fi);
	const struct flock wanted = *lock;
	int r = locks_get(m->locks, &asked.request, lock);

	if (r == 0 && lock->l_type != F_UNLCK && locks_drop_ended(m->locks, asked.request.file)) {
		*lock = wanted;
		r = locks_get(m->locks, &asked.request, lock);
	}
	if (r < 0)
		fuse_reply_err(req, -r);
	else
		fuse_reply_lock(req, lock);
}

void lock_ops_flush(struct mount *m, fuse_ino_t ino, const struct fuse_file_info *fi)
{
	if (locks_drop_owner(m->locks, file_of(ino), fi->lock_owner))
		wake(m, file_of(ino));
}

void lock_ops_release(struct mount *m, fuse_ino_t ino, const struct fuse_file_info *fi)
{
	if (locks_drop_handle(m->locks, file_of(ino), fi->fh))
		wake(m, file_of(ino));
}
