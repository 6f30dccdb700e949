// Opening and closing synthetic files.
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "common/scope.h"
#include "fs/parked.h"
#include "fs/synth/scratch.h"
#include "fs/synth/synth_handle_impl.h"
#include "fs/synth/synth_refusal.h"

static int check_open(
	struct mount *m, const struct synth_node *n, const struct synth_file *file, int flags)
{
	if (n->slot == SYNTH_SCRATCH)
		return 0;
	if (!file || file->type != SYNTH_FILE)
		return file && file->type == SYNTH_LINK ? -ELOOP : -EISDIR;
	if ((flags & O_ACCMODE) != O_RDONLY && !file->control && !file->write)
		return synth_refuse_node(m, n, -EACCES, ONLY_READ);
	return 0;
}

/* Begins to take the content of a file that is frozen for its reader. */
static int begin_freeze(struct synth_handle *h)
{
	struct synth_freeze *freeze = calloc(1, sizeof(*freeze));

	if (!freeze)
		return -ENOMEM;
	freeze->m = h->m;
	freeze->node = h->node;
	list_init(&freeze->ended);
	list_add_tail(&h->m->frozen, &freeze->link);
	h->frozen = freeze;
	return h->file->freeze(freeze);
}

static void end_freeze(struct synth_freeze *freeze)
{
	if (!freeze)
		return;
	if (freeze->cancel)
		freeze->cancel(freeze);
	list_remove(&freeze->link);
	buf_clear(&freeze->content);
	free(freeze);
}

static void tell_poller(struct waiter *waiter)
{
	struct synth_handle *h = container_of(waiter, struct synth_handle, poll_waiter);

	if (h->poll) {
		fuse_lowlevel_notify_poll(h->poll);
		fuse_pollhandle_destroy(h->poll);
		h->poll = NULL;
	}
}

int synth_handle_open(
	struct mount *m, const struct synth_node *n, pid_t opener, struct fuse_file_info *fi)
{
	const struct synth_file *file = synth_file_of(n);
	struct synth_handle *h;
	int r = check_open(m, n, file, fi->flags);

	if (r < 0)
		return r;
	h = calloc(1, sizeof(*h));
	if (!h)
		return -ENOMEM;
	h->m = m;
	h->node = *n;
	h->file = file;
	h->opener = opener;
	h->writer = (fi->flags & O_ACCMODE) != O_RDONLY;
	h->poll_waiter.wake = tell_poller;
	list_init(&h->poll_waiter.link);
	list_add_tail(&m->handles, &h->link);
	if (!file) {
		h->scratch = scratch_of(m, n);
		h->scratch->open++;
		if (h->writer && (fi->flags & O_TRUNC))
			scratch_truncate(h->scratch, 0);
	} else if (file->control && h->writer) {
		h->is_control = true;
		control_open(&h->control, m, n, fi->flags & O_APPEND);
	} else if (h->writer && file->opened) {
		file->opened(m, n);
	} else if (file->freeze) {
		r = begin_freeze(h);
	}
	fi->fh = (uintptr_t)h;
	fi->direct_io = !file || !file->final || !file->final(m, n);
	fi->keep_cache = 0;
	if (r < 0)
		synth_handle_close(fi);
	return r;
}

static void close_handle(struct synth_handle *h)
{
	list_remove(&h->link);
	if (h->scratch)
		scratch_close(h->scratch);
	if (h->is_control)
		control_release(&h->control);
	else if (h->file && h->writer && h->file->released)
		h->file->released(h->m, &h->node);
	list_remove(&h->poll_waiter.link);
	if (h->poll)
		fuse_pollhandle_destroy(h->poll);
	buf_clear(&h->content);
	end_freeze(h->frozen);
	free(h);
}

void synth_handle_close(struct fuse_file_info *fi)
{
	close_handle(synth_handle_of(fi));
}

static void close_open_files(struct mount *m)
{
	while (!list_empty(&m->handles)) {
		struct synth_handle *h = list_entry(m->handles.next, struct synth_handle, link);

		/* What was not closed was not asked. */
		if (h->is_control)
			control_abandon(&h->control);
		close_handle(h);
	}
}

void synth_handles_close(struct mount *m)
{
	close_open_files(m);
}

/* An open that waits until the content is taken. */
struct opening {
	struct fuse_file_info fi;
	bool answered; /* the handle is the kernel's now */
};

static void drop_opening(void *handle)
{
	struct opening *opening = handle;

	if (!opening->answered)
		synth_handle_close(&opening->fi);
	free(opening);
}

static void open_taken(struct parked *p, bool at_deadline)
{
	struct opening *opening = p->handle;
	struct fuse_file_info fi = opening->fi;
	int error = synth_handle_of(&fi)->frozen->error;

	(void)at_deadline;
	if (error) {
		parked_reply(p, error);
		return;
	}
	opening->answered = true;
	if (parked_reply_open(p, &fi) == -ENOENT)
		synth_handle_close(&fi);
}

static void wait_for_content(struct mount *m, fuse_req_t req, struct fuse_file_info *fi)
{
	struct opening *opening = malloc(sizeof(*opening));
	struct parked *p = NULL;

	if (!opening) {
		synth_handle_close(fi);
		fuse_reply_err(req, ENOMEM);
		return;
	}
	*opening = (struct opening){.fi = *fi};
	p = parked_new(m, req, opening, &synth_handle_of(fi)->frozen->ended, open_taken);
	if (p)
		p->drop = drop_opening;
	else
		drop_opening(opening);
	if (!p)
		fuse_reply_err(req, ENOMEM);
}

void synth_open(struct mount *m, fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	struct synth_node n;
	int r = synth_node_of(m, ino, &n);

	if (r == 0)
		r = synth_handle_open(m, &n, fuse_req_ctx(req)->pid, fi);
	if (r < 0)
		fuse_reply_err(req, -r);
	else if (synth_handle_of(fi)->frozen && synth_handle_of(fi)->frozen->going)
		wait_for_content(m, req, fi);
	else if (fuse_reply_open(req, fi) == -ENOENT)
		synth_handle_close(fi);
}

void synth_release(struct mount *m, fuse_req_t req, struct fuse_file_info *fi)
{
	(void)m;
	synth_handle_close(fi);
	fuse_reply_err(req, 0);
}
