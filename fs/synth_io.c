// Requests on the content of synthetic files.
#include "fs/synth_ops.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>

#include "common/scope.h"
#include "fs/agent.h"
#include "fs/control.h"
#include "fs/parked.h"
#include "fs/scratch.h"
#include "fs/synth_handle.h"
#include "fs/synth_refusal.h"

#define READ_MAX (1024 * 1024)

struct synth_handle {
	struct list link; /* in mount.handles */
	struct mount *m; /* borrowed */
	struct synth_node node;
	const struct synth_file *file; /* NULL: a scratch file */
	struct scratch *scratch; /* counted as open */
	bool writer;
	pid_t opener; /* the thread */
	bool is_control;
	struct control_handle control;
	struct buf content; /* what `show` gave at the first read */
	bool shown;
	struct synth_freeze *frozen; /* owned; NULL: the content was not taken at open */
	uint64_t read_end; /* for poll: where the reader is */
	struct waiter poll_waiter;
	struct fuse_pollhandle *poll; /* owned; NULL: nobody polls */
};

static struct synth_handle *handle_of(const struct fuse_file_info *fi)
{
	return (struct synth_handle *)(uintptr_t)fi->fh;
}

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
	close_handle(handle_of(fi));
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
	int error = handle_of(&fi)->frozen->error;

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
	p = parked_new(m, req, opening, &handle_of(fi)->frozen->ended, open_taken);
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
	else if (handle_of(fi)->frozen && handle_of(fi)->frozen->going)
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

static void reply_part(
	fuse_req_t req, const struct buf *content, uint64_t from, size_t size, uint64_t off)
{
	uint64_t at = off - from;

	if (at >= content->len) {
		fuse_reply_buf(req, NULL, 0);
		return;
	}
	if (size > content->len - at)
		size = (size_t)(content->len - at);
	fuse_reply_buf(req, content->data + at, size);
}

/* A show file: made anew for a reader at its beginning, then the same to its end. */
static void read_shown(struct synth_handle *h, fuse_req_t req, size_t size, uint64_t off)
{
	int r = 0;

	if (!h->shown || off == 0) {
		buf_reset(&h->content);
		r = synth_content(h->m, &h->node, &h->content);
		h->shown = r == 0;
	}
	if (r < 0)
		fuse_reply_err(req, -r);
	else
		reply_part(req, &h->content, 0, size, off);
}

/* One leader at a time reads, and the reply is sent before it goes on. */
static char block[READ_MAX];

static void retry_read(struct parked *p, bool at_deadline)
{
	struct synth_handle *h = p->handle;
	ssize_t n = h->file->pread(h->m, &h->node, block, p->size, p->off);

	(void)at_deadline;
	if (n == -EAGAIN) {
		parked_again(p, h->file->waiters(h->m, &h->node));
		return;
	}
	if (n < 0) {
		parked_reply(p, (int)n);
		return;
	}
	h->read_end = p->off + (uint64_t)n;
	parked_reply_data(p, block, (size_t)n);
}

/* NULL: answered, there is no memory. */
static struct parked *park(struct synth_handle *h, fuse_req_t req, struct list *waiters,
	void (*retry)(struct parked *p, bool at_deadline))
{
	struct parked *p = parked_new(h->m, req, h, waiters, retry);

	if (!p)
		fuse_reply_err(req, ENOMEM);
	return p;
}

static void read_stream(
	struct synth_handle *h, fuse_req_t req, size_t size, uint64_t off, bool nonblock)
{
	ssize_t n;
	struct parked *p;

	if (size > READ_MAX)
		size = READ_MAX;
	n = h->file->pread(h->m, &h->node, block, size, off);
	if (n == -EAGAIN && !nonblock) {
		p = park(h, req, h->file->waiters(h->m, &h->node), retry_read);
		if (p) {
			p->size = size;
			p->off = off;
		}
	} else if (n < 0) {
		fuse_reply_err(req, (int)-n);
	} else {
		h->read_end = off + (uint64_t)n;
		fuse_reply_buf(req, block, (size_t)n);
	}
}

static void retry_answer(struct parked *p, bool at_deadline)
{
	struct synth_handle *h = p->handle;
	int r = control_read(&h->control, p->off, !at_deadline);
	uint64_t at;
	size_t size;

	if (r == CONTROL_WAIT) {
		parked_again(p, &h->control.call.ended);
		return;
	}
	if (r < 0) {
		parked_reply(p, r);
		return;
	}
	at = p->off - h->control.answer_off;
	size = at >= h->control.answer.len ? 0 : (size_t)(h->control.answer.len - at);
	parked_reply_data(
		p, buf_text(&h->control.answer) + (size ? at : 0), size < p->size ? size : p->size);
}

/* What the handle asked is answered on it; before it asked, it reads like any other. */
static void cancel_call(struct parked *p)
{
	control_cancel(&((struct synth_handle *)p->handle)->control);
}

static void read_control(
	struct synth_handle *h, fuse_req_t req, size_t size, uint64_t off, bool nonblock)
{
	int r = control_read(&h->control, off, !nonblock);
	struct parked *p;

	if (r == -ENODATA) {
		read_shown(h, req, size, off);
	} else if (r == CONTROL_WAIT) {
		p = park(h, req, &h->control.call.ended, retry_answer);
		if (!p)
			return;
		p->size = size;
		p->off = off;
		p->interrupted = cancel_call;
		if (h->control.call.control->answers_early)
			parked_deadline(p, CONTROL_GRACE_USEC);
	} else if (r < 0) {
		fuse_reply_err(req, -r);
	} else {
		reply_part(req, &h->control.answer, h->control.answer_off, size, off);
	}
}

void synth_handle_truncate(struct fuse_file_info *fi, uint64_t size)
{
	struct synth_handle *h = handle_of(fi);

	if (h->is_control)
		control_truncate(&h->control, size);
}

void synth_read(struct mount *m, fuse_req_t req, size_t size, off_t off, struct fuse_file_info *fi)
{
	struct synth_handle *h = handle_of(fi);
	bool nonblock = fi->flags & O_NONBLOCK;

	(void)m;
	if (h->scratch)
		reply_part(req, &h->scratch->data, 0, size, (uint64_t)off);
	else if (h->is_control)
		read_control(h, req, size, (uint64_t)off, nonblock);
	else if (h->frozen)
		reply_part(req, &h->frozen->content, 0, size, (uint64_t)off);
	else if (h->file->pread)
		read_stream(h, req, size, (uint64_t)off, nonblock);
	else
		read_shown(h, req, size, (uint64_t)off);
}

static void flush_ended(struct parked *p, bool at_deadline)
{
	struct synth_handle *h = p->handle;
	int error = h->control.call.error;

	(void)at_deadline;
	h->control.call.error = 0;
	parked_reply(p, error);
}

static void wait_for_end(struct synth_handle *h, fuse_req_t req,
	void (*retry)(struct parked *p, bool at_deadline), size_t size)
{
	struct parked *p = park(h, req, &h->control.call.ended, retry);

	if (!p)
		return;
	p->size = size;
	p->interrupted = cancel_call;
}

static void write_ended(struct parked *p, bool at_deadline)
{
	struct synth_handle *h = p->handle;
	int error = h->control.call.error;

	(void)at_deadline;
	h->control.call.error = 0;
	if (error)
		parked_reply(p, error);
	else
		parked_reply_write(p, p->size);
}

static void retry_write(struct parked *p, bool at_deadline)
{
	struct synth_handle *h = p->handle;
	ssize_t n;

	(void)at_deadline;
	/* Up to -EAGAIN: only that makes the stream call its waiters when there is room again. */
	do {
		n = h->file->write(h->m, &h->node, p->data + p->data_at, p->data_len - p->data_at);
		if (n > 0)
			p->data_at += (size_t)n;
	} while (n > 0 && p->data_at < p->data_len);
	if (n == -EAGAIN)
		parked_again(p, h->file->waiters(h->m, &h->node));
	else if (n < 0 && !p->data_at)
		parked_reply(p, (int)n);
	else
		parked_reply_write(p, p->data_at);
}

/* Takes what there is room for; the writer waits for the rest, unless it does not want to. */
static void write_stream(
	struct synth_handle *h, fuse_req_t req, const char *data, size_t len, bool nonblock)
{
	ssize_t n = h->file->write(h->m, &h->node, data, len);
	size_t taken = n > 0 ? (size_t)n : 0;
	struct parked *p;
	char *rest auto_free = NULL;

	if (taken == len || (nonblock && taken)) {
		fuse_reply_write(req, taken);
		return;
	}
	if (n < 0 && (n != -EAGAIN || nonblock)) {
		fuse_reply_err(req, (int)-n);
		return;
	}
	rest = malloc(len);
	p = rest ? parked_new(h->m, req, h, h->file->waiters(h->m, &h->node), retry_write) : NULL;
	if (!p && taken) {
		fuse_reply_write(req, taken);
		return;
	}
	if (!p) {
		fuse_reply_err(req, ENOMEM);
		return;
	}
	memcpy(rest, data, len);
	p->data = take_ptr(rest);
	p->data_len = len;
	p->data_at = taken;
	if (taken)
		retry_write(p, false);
}

static void write_data(struct synth_handle *h, fuse_req_t req, const char *data, size_t len,
	uint64_t off, int flags)
{
	int r;

	if (h->scratch) {
		r = scratch_write(
			h->scratch, data, len, flags & O_APPEND ? h->scratch->data.len : off);
		r = synth_scratch_done(h->m, &h->node, r);
	} else if (h->is_control) {
		r = control_write(&h->control, data, len, off);
		if (r == CONTROL_WAIT) {
			wait_for_end(h, req, write_ended, len);
			return;
		}
	} else {
		write_stream(h, req, data, len, flags & O_NONBLOCK);
		return;
	}
	if (r < 0)
		fuse_reply_err(req, -r);
	else
		fuse_reply_write(req, len);
}

void synth_write(struct mount *m, fuse_req_t req, struct fuse_bufvec *in, off_t off,
	struct fuse_file_info *fi)
{
	struct synth_handle *h = handle_of(fi);
	size_t len = fuse_buf_size(in);
	struct fuse_bufvec out = FUSE_BUFVEC_INIT(len);
	char *copy auto_free = NULL;
	ssize_t n;

	(void)m;
	if (in->count == 1 && !(in->buf[0].flags & FUSE_BUF_IS_FD)) {
		write_data(h, req, (char *)in->buf[0].mem + in->off, len - in->off, (uint64_t)off,
			fi->flags);
		return;
	}
	out.buf[0].mem = copy = malloc(len + 1);
	n = copy ? fuse_buf_copy(&out, in, 0) : -ENOMEM;
	if (n < 0)
		fuse_reply_err(req, (int)-n);
	else
		write_data(h, req, copy, (size_t)n, (uint64_t)off, fi->flags);
}

void synth_flush(struct mount *m, fuse_req_t req, struct fuse_file_info *fi)
{
	struct synth_handle *h = handle_of(fi);
	struct control_handle *c = &h->control;
	enum caller_state state;
	int r;

	if (!h->is_control || (!c->written && !c->refused && !c->call.going && !c->call.error)) {
		fuse_reply_err(req, 0);
		return;
	}
	state = agent_look(
		m->agent, fuse_req_ctx(req)->pid, h->opener, synth_st_ino(&h->node), h->file->name);
	if (state == CALLER_DYING)
		control_abandon(c);
	r = state == CALLER_LAST ? control_flush(c) : 0;
	if (r == CONTROL_WAIT)
		wait_for_end(h, req, flush_ended, 0);
	else
		fuse_reply_err(req, -r);
}

static bool same_node(const struct synth_node *a, const struct synth_node *b)
{
	return a->dir == b->dir && a->object == b->object && a->slot == b->slot &&
	       a->instance == b->instance;
}

/* Of all that was written to the file, through whichever open: an NFS server carries out a COMMIT on
 * another than the client's WRITE. */
void synth_fsync(struct mount *m, fuse_req_t req, struct fuse_file_info *fi)
{
	const struct synth_handle *synced = handle_of(fi);
	struct list *item;
	int r = 0;

	list_for_each(item, &m->handles)
	{
		struct synth_handle *h = list_entry(item, struct synth_handle, link);
		int error = h->is_control && same_node(&h->node, &synced->node)
				    ? control_sync(&h->control)
				    : 0;

		if (r == 0)
			r = error;
	}
	fuse_reply_err(req, -r);
}

void synth_poll(
	struct mount *m, fuse_req_t req, struct fuse_file_info *fi, struct fuse_pollhandle *poll)
{
	struct synth_handle *h = handle_of(fi);
	unsigned ready = POLLIN | POLLRDNORM | POLLOUT | POLLWRNORM;
	char byte;

	(void)m;
	if (h->file && h->file->pread && h->file->waiters &&
		h->file->pread(h->m, &h->node, &byte, 1, h->read_end) == -EAGAIN)
		ready = 0;
	if (h->poll)
		fuse_pollhandle_destroy(h->poll);
	h->poll = poll;
	list_remove(&h->poll_waiter.link);
	if (poll && !ready)
		list_add_tail(h->file->waiters(h->m, &h->node), &h->poll_waiter.link);
	fuse_reply_poll(req, ready);
}
