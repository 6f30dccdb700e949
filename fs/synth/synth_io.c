// Requests on the content of synthetic files.
#include "fs/synth/synth_ops.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>

#include "common/scope.h"
#include "fs/agent.h"
#include "fs/parked.h"
#include "fs/synth/scratch.h"
#include "fs/synth/synth_handle_impl.h"
#include "fs/synth/synth_refusal.h"

#define READ_MAX (1024 * 1024)
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
	struct synth_handle *h = synth_handle_of(fi);

	if (h->is_control)
		control_truncate(&h->control, size);
}

void synth_read(struct mount *m, fuse_req_t req, size_t size, off_t off, struct fuse_file_info *fi)
{
	struct synth_handle *h = synth_handle_of(fi);
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
		h->closed = false;
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
	struct synth_handle *h = synth_handle_of(fi);
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

/* What is open of the same file besides h tells nothing about who has h. */
static void describe(struct mount *m, const struct synth_handle *h, struct caller_file *ret)
{
	struct list *item;

	*ret = (struct caller_file){.ino = synth_st_ino(&h->node), .opener = h->opener};
	list_for_each(item, &m->handles)
	{
		const struct synth_handle *other = list_entry(item, struct synth_handle, link);

		if (ret->others_len < CALLER_OTHERS_MAX && other != h && other->is_control &&
			!other->closed && synth_st_ino(&other->node) == ret->ino)
			ret->others[ret->others_len++] = other->opener;
	}
}

void synth_flush(struct mount *m, fuse_req_t req, struct fuse_file_info *fi)
{
	struct synth_handle *h = synth_handle_of(fi);
	struct control_handle *c = &h->control;
	struct caller_file file;
	enum caller_state state;
	int r;

	if (!h->is_control || (!c->written && !c->refused && !c->call.going && !c->call.error)) {
		fuse_reply_err(req, 0);
		return;
	}
	describe(m, h, &file);
	state = agent_look(m->agent, fuse_req_ctx(req)->pid, &file);
	if (state == CALLER_DYING)
		control_abandon(c);
	h->closed = state != CALLER_SHARES;
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
	const struct synth_handle *synced = synth_handle_of(fi);
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

/* Whether the next read, or write, would have to wait. */
static bool would_wait(struct synth_handle *h)
{
	char byte;

	if (h->file->full)
		return h->writer && h->file->full(h->m, &h->node);
	return h->file->pread && h->file->pread(h->m, &h->node, &byte, 1, h->read_end) == -EAGAIN;
}

void synth_poll(
	struct mount *m, fuse_req_t req, struct fuse_file_info *fi, struct fuse_pollhandle *poll)
{
	struct synth_handle *h = synth_handle_of(fi);
	unsigned ready = POLLIN | POLLRDNORM | POLLOUT | POLLWRNORM;
	struct list *waiters = NULL;

	(void)m;
	if (h->file && h->file->waiters)
		waiters = h->file->waiters(h->m, &h->node);
	if (waiters && would_wait(h))
		ready = 0;
	if (h->poll)
		fuse_pollhandle_destroy(h->poll);
	h->poll = poll;
	list_remove(&h->poll_waiter.link);
	/* Also of what is ready: edge-triggered epoll(7) is to hear of what comes after that. */
	if (poll && waiters)
		list_add_tail(waiters, &h->poll_waiter.link);
	fuse_reply_poll(req, ready);
}
