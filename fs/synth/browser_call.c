// Requests of control files and reads of frozen files that the browser answers.
#include "fs/synth/browser_call.h"

#include <errno.h>
#include <string.h>

#include "fs/mount.h"

struct browser_page *browser_call_page(struct mount *m, const struct synth_node *n)
{
	return browser_page_find(
		m->browser, n->dir == &synth_page ? n->object : m->browser->active);
}

static int failed(struct mount *m, const struct synth_node *n, int error, const struct fail *why)
{
	struct buf path auto_buf = {0};

	synth_path(m, n, &path);
	m->failures++;
	return mount_failed(m, buf_text(&path), error, why);
}

static void on_ended(struct browser_request *request)
{
	struct control_call *call = request->owner;

	if (request->error)
		failed(call->m, &call->node, request->error, &request->why);
	control_call_end(call, request->error);
}

int browser_call_ask(struct control_call *call, const struct browser_ask *ask, struct fail *f)
{
	struct browser_request *request;
	int r = browser_request_new(call->m->browser, ask, &request, f);

	if (r < 0)
		return r;
	call->data = request;
	if (request->done) {
		*f = request->why;
		return request->error;
	}
	request->ended = on_ended;
	request->owner = call;
	call->going = true;
	return 0;
}

static int begin(
	struct control_call *call, const char *text, size_t len, bool starts, struct fail *f)
{
	const struct browser_page *page = browser_call_page(call->m, &call->node);
	const struct browser_ask ask = {
		.page = page ? page->number : 0,
		.op = synth_file_of(&call->node)->name,
		.text = text,
		.text_len = len,
		.starts = starts,
	};

	if (!page && (call->node.dir == &synth_page || (!starts && call->m->browser->kernel)))
		return fail_set(f, -ENXIO, "there is no such page now");
	return browser_call_ask(call, &ask, f);
}

int browser_call_begin(struct control_call *call, const char *text, size_t len, struct fail *f)
{
	return begin(call, text, len, false, f);
}

int browser_call_begin_starting(
	struct control_call *call, const char *text, size_t len, struct fail *f)
{
	return begin(call, text, len, true, f);
}

void browser_call_cancel(struct control_call *call, struct fail *f)
{
	(void)f;
	if (!call->data)
		return;
	browser_request_cancel(call->data);
	/* It tells of no end any more. Others may wait for it, too: who has the handle as well, and the
	 * close behind the write that was interrupted. */
	control_call_end(call, -EINTR);
}

static int add_answer(const struct browser_request *request, struct buf *ret)
{
	const struct buf *text = request->answer.len ? &request->answer : &request->result;
	int r = buf_add(ret, buf_text(text), text->len);

	if (r == 0 && text->len && text->data[text->len - 1] != '\n')
		r = buf_add_char(ret, '\n');
	return r;
}

int browser_call_answer(struct control_call *call, struct buf *ret)
{
	return call->data ? add_answer(call->data, ret) : 0;
}

void browser_call_release(struct control_call *call)
{
	struct browser_request *request = call->data;

	request->ended = NULL;
	browser_request_unref(request);
}

int browser_call_show(struct mount *m, const struct synth_node *n, struct buf *ret)
{
	const struct synth_file *file = synth_file_of(n);
	const struct browser_page *page = n->dir == &synth_pages ? NULL : browser_call_page(m, n);
	const struct browser_request *last =
		page || n->dir == &synth_pages ? browser_page_last(m->browser, page, file->name)
					       : NULL;

	return last ? add_answer(last, ret) : control_usage(file, ret);
}

/* Frozen content */

static void on_taken(struct browser_request *request)
{
	struct synth_freeze *freeze = request->owner;
	int error = request->error;

	if (error)
		failed(freeze->m, &freeze->node, error, &request->why);
	else
		error = buf_add(&freeze->content, buf_text(&request->answer), request->answer.len);
	synth_freeze_end(freeze, error);
}

static void cancel_freeze(struct synth_freeze *freeze)
{
	if (!freeze->data)
		return;
	browser_request_cancel(freeze->data);
	browser_request_unref(freeze->data);
}

int browser_call_no_page(struct mount *m, const struct synth_node *n)
{
	struct buf path auto_buf = {0};
	struct fail f;

	fail_set(&f, -ENXIO, "%s",
		m->browser->kernel ? "the browser has no page now; write a URL to browser/goto"
				   : BROWSER_NONE);
	synth_path(m, n, &path);
	return mount_unreadable(m, buf_text(&path), -ENXIO, &f);
}

int browser_call_freeze(struct synth_freeze *freeze)
{
	struct browser_page *page = browser_call_page(freeze->m, &freeze->node);
	struct browser_request *request;
	struct fail why = {0};
	int r;

	if (!page)
		return browser_call_no_page(freeze->m, &freeze->node);
	r = browser_request_new(freeze->m->browser,
		&(struct browser_ask){.page = page->number,
			.op = synth_file_of(&freeze->node)->name,
			.read = true},
		&request, &why);
	if (r < 0)
		return r;
	freeze->data = request;
	freeze->cancel = cancel_freeze;
	if (request->done)
		return request->error;
	request->ended = on_taken;
	request->owner = freeze;
	freeze->going = true;
	return 0;
}

int browser_call_no_size(struct mount *m, const struct synth_node *n, uint64_t *ret)
{
	(void)m;
	(void)n;
	*ret = 0;
	return 0;
}
