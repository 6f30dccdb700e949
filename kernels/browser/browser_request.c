// Requests of the browser: sent, interrupted, answered.
#include "kernels/browser/browser_internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/scope.h"

#define REQUESTS_MAX 4096

void browser_request_ref(struct browser_request *request)
{
	request->refs++;
}

void browser_request_unref(struct browser_request *request)
{
	if (!request || --request->refs)
		return;
	buf_clear(&request->answer);
	buf_clear(&request->result);
	free(request->text);
	free(request);
}

struct browser_request *browser_request_find(struct browser *b, uint32_t id)
{
	struct list *item;

	list_for_each(item, &b->requests)
	{
		struct browser_request *request = list_entry(item, struct browser_request, link);

		if (request->id == id)
			return request;
	}
	return NULL;
}

void browser_request_end(struct browser_request *request, int error, const char *words, size_t len)
{
	struct browser *b = request->browser;
	struct browser_page *page = browser_page_find(b, request->page ? request->page : b->active);

	list_remove(&request->link);
	request->done = true;
	request->error = error;
	if (error)
		fail_set(&request->why, error, "%.*s", (int)(len > 480 ? 480 : len), words);
	if (!request->read)
		browser_page_keep(b, page, request);
	if (request->ended)
		request->ended(request);
	browser_request_unref(request);
}

static void fail(struct browser *b, bool sent_only, int error, const char *words)
{
	struct list *item, *spare;

	list_for_each_safe(item, spare, &b->requests)
	{
		struct browser_request *request = list_entry(item, struct browser_request, link);

		if (request->sent || !sent_only)
			browser_request_end(request, error, words, strlen(words));
	}
}

void browser_request_fail_sent(struct browser *b, int error, const char *words)
{
	fail(b, true, error, words);
}

void browser_request_fail_all(struct browser *b, int error, const char *words)
{
	fail(b, false, error, words);
}

void browser_request_send(struct browser_request *request)
{
	struct buf frame auto_buf = {0};
	char page[16];
	size_t start = browser_frame_begin(&frame, BROWSER_REQUEST, request->id);
	int n = snprintf(page, sizeof(page), "%u", request->page);

	kernel_wire_add(&frame, "op", request->op, strlen(request->op));
	kernel_wire_add(&frame, "page", page, (size_t)n);
	kernel_wire_add(&frame, "text", request->text, request->text_len);
	if (request->read)
		kernel_wire_add(&frame, "read", "1", 1);
	kernel_wire_end(&frame, start);
	request->sent = true;
	free(request->text);
	request->text = NULL;
	/* A socket that takes nothing any more belongs to a driver that is about to be found dead. */
	if (frame.error || kernel_send(request->browser->kernel, &frame) < 0)
		browser_request_end(request, -EIO, "the driver does not answer", 26);
}

static int add(struct browser *b, const struct browser_ask *ask, struct browser_request **ret)
{
	struct browser_request *request = calloc(1, sizeof(*request));

	if (!request)
		return -ENOMEM;
	*request = (struct browser_request){.browser = b,
		.refs = 2,
		.id = ++b->next_request,
		.page = ask->page,
		.op = ask->op,
		.read = ask->read,
		.text_len = ask->text_len,
		.text = malloc(ask->text_len + 1)};
	if (!request->text) {
		free(request);
		return -ENOMEM;
	}
	memcpy(request->text, ask->text ? ask->text : "", ask->text_len);
	list_add_tail(&b->requests, &request->link);
	*ret = request;
	return 0;
}

static unsigned count(const struct browser *b)
{
	const struct list *item;
	unsigned n = 0;

	list_for_each(item, &b->requests) n++;
	return n;
}

int browser_request_new(struct browser *b, const struct browser_ask *ask,
	struct browser_request **ret, struct fail *f)
{
	bool runs = b->kernel && !b->closing;
	int r;

	if (!runs && !ask->starts)
		return fail_set(f, -ENXIO, BROWSER_NONE);
	if (count(b) >= REQUESTS_MAX)
		return fail_set(f, -EAGAIN, "too many requests wait");
	r = b->kernel ? 0 : browser_start(b, f);
	if (r == 0)
		r = add(b, ask, ret);
	if (r == 0 && runs && b->kernel->state == KERNEL_IS_READY)
		browser_request_send(*ret);
	return r;
}

void browser_request_cancel(struct browser_request *request)
{
	struct buf frame auto_buf = {0};

	request->ended = NULL;
	if (request->done)
		return;
	if (!request->sent) {
		browser_request_end(request, -EINTR, "interrupted", 11);
		return;
	}
	kernel_wire_end(&frame, browser_frame_begin(&frame, BROWSER_ABORT, request->id));
	kernel_send(request->browser->kernel, &frame);
}
