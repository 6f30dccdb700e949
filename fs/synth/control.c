// Control files: when a request is whole, and what its writer reads back.
#include "fs/synth/control.h"

#include <errno.h>
#include <string.h>

#include "common/json_in.h"
#include "common/scope.h"
#include "fs/mount.h"

/* Of what is not whole nothing runs. */
#define NO_MEMORY "there is no memory for the request; it was not run"

void control_call_end(struct control_call *call, int error)
{
	call->going = false;
	call->error = error;
	waiters_wake(&call->ended);
}

void control_open(
	struct control_handle *c, struct mount *m, const struct synth_node *n, bool append)
{
	*c = (struct control_handle){.append = append,
		.call = {.m = m, .node = *n, .control = synth_file_of(n)->control}};
	list_init(&c->call.waiter.link);
	list_init(&c->call.ended);
}

static int failed(struct control_handle *c, int err, const struct fail *f)
{
	struct buf path auto_buf = {0};

	synth_path(c->call.m, &c->call.node, &path);
	c->call.m->failures++;
	return mount_failed(c->call.m, buf_text(&path), err, f);
}

/* Leaves the present call to itself, so that the handle can take another request. */
static void let_go(struct control_handle *c)
{
	list_remove(&c->call.waiter.link);
	if (c->call.data && c->call.control->release)
		c->call.control->release(&c->call);
	c->call.data = NULL;
	c->call.going = false;
	c->call.error = 0;
	c->failed = 0;
	c->answered = false;
	buf_reset(&c->answer);
}

/* For what no handler has seen. */
static void tell_refused(struct control_handle *c, int err, struct fail *f)
{
	if (c->call.control->refused)
		c->call.control->refused(&c->call, err, f);
}

static int refuse(struct control_handle *c, int err, const char *words)
{
	struct fail f;

	/* What was answered before is not the answer to this. */
	if (!c->call.going)
		let_go(c);
	buf_clear(&c->pending);
	c->written = false;
	c->called = true;
	c->refused = err;
	c->failed = err;
	fail_set(&f, err, "%s", words);
	tell_refused(c, err, &f);
	return failed(c, err, &f);
}

static bool is_json(const struct control_handle *c)
{
	const char *text = buf_text(&c->pending);

	return c->call.control->syntax == CONTROL_JSON ||
	       (c->call.control->syntax == CONTROL_LINE_OR_JSON &&
		       text[strspn(text, " \t\r\n")] == '{');
}

/* Also what can never become JSON is complete: it is refused soon. */
static bool json_complete(struct control_handle *c)
{
	struct json_object *value auto_call(json_in_free) = NULL;

	return json_in_worth(&c->scan, buf_text(&c->pending), c->pending.len) &&
	       json_in_parse(buf_text(&c->pending), c->pending.len, &value, NULL) != -EAGAIN;
}

static bool complete(struct control_handle *c)
{
	if (c->call.control->syntax == CONTROL_TEXT)
		return false;
	if (is_json(c))
		return json_complete(c);
	return memchr(c->pending.data, '\n', c->pending.len) != NULL;
}

/* One line without the white space at its end (or just its line end); -EINVAL when there are more. */
static int trim_line(struct buf *text, bool keeps_space, struct fail *f)
{
	while (text->len && json_in_is_space(text->data[text->len - 1]) &&
		!(keeps_space && strchr(" \t", text->data[text->len - 1])))
		text->data[--text->len] = '\0';
	if (text->len && memchr(text->data, '\n', text->len))
		return fail_set(f, -EINVAL, "one line at a time");
	if (text->len && memchr(text->data, '\0', text->len))
		return fail_set(f, -EINVAL, "the request holds a NUL byte");
	return 0;
}

static int act(struct control_handle *c)
{
	struct buf text auto_buf = c->pending;
	struct fail f = {0};
	int r = 0;

	c->pending = (struct buf){0};
	c->written = false;
	let_go(c);
	c->called = true;
	c->call.m->requests++;
	if (c->call.control->syntax == CONTROL_LINE ||
		(c->call.control->syntax == CONTROL_LINE_OR_JSON &&
			(text.len == 0 || *text.data != '{')))
		r = trim_line(&text, c->call.control->keeps_space, &f);
	if (r < 0)
		tell_refused(c, r, &f);
	if (r == 0)
		r = c->call.control->begin(&c->call, buf_text(&text), text.len, &f);
	c->failed = r < 0 ? r : 0;
	/* Whoever waits for the call before this one would wait for the end of none. */
	if (!c->call.going)
		waiters_wake(&c->call.ended);
	return r < 0 ? failed(c, r, &f) : 0;
}

static int append(struct control_handle *c, const void *data, size_t len, uint64_t off)
{
	uint64_t at = 0;

	if (!c->written) {
		buf_reset(&c->pending);
		c->scan = (struct json_in_scan){0};
		c->first_off = off;
	} else {
		at = c->append ? c->pending.len : off - c->first_off;
	}
	if (!c->append && off < c->first_off)
		return refuse(c, -EINVAL, "the request was written backwards");
	if (at > CONTROL_MAX || len > CONTROL_MAX - at)
		return refuse(c, -EFBIG,
			c->call.control->syntax == CONTROL_TEXT
				? "the request is over 1 MiB and was not run; put a long script "
				  "below files/ and run it from there"
				: "the request is over 1 MiB and was not carried out");
	if (c->call.control->no_nul && memchr(data, '\0', len))
		return refuse(c, -EINVAL, "the request holds a NUL byte and was not run");
	while (c->pending.len < at && buf_add_char(&c->pending, '\0') == 0)
		;
	if (at < c->scan.seen)
		c->scan = (struct json_in_scan){.parsed = c->scan.parsed};
	if (at < c->pending.len) {
		size_t over = c->pending.len - at < len ? c->pending.len - at : len;

		memcpy(c->pending.data + at, data, over);
		data = (const char *)data + over;
		len -= over;
	}
	c->written = true;
	buf_add(&c->pending, data, len);
	return c->pending.error ? refuse(c, c->pending.error, NO_MEMORY) : 0;
}

int control_write(struct control_handle *c, const void *data, size_t len, uint64_t off)
{
	int r;

	if (c->refused)
		return c->refused;
	if (!c->written && c->called && c->call.control->syntax != CONTROL_TEXT) {
		const char *text = data;
		size_t space = 0;

		while (space < len && json_in_is_space(text[space]))
			space++;
		if (space == len && is_json(c))
			return 0;
	}
	r = append(c, data, len, off);
	if (r == 0 && complete(c))
		r = act(c);
	if (r == 0 && c->call.going && c->call.control->waits_in_write)
		return CONTROL_WAIT;
	return r;
}

int control_sync(struct control_handle *c)
{
	int refused = c->refused;

	c->refused = 0;
	if (refused)
		return refused;
	return c->written ? act(c) : 0;
}

int control_flush(struct control_handle *c)
{
	int r = control_sync(c);

	if (r == 0 && c->call.going)
		return CONTROL_WAIT;
	if (r == 0) {
		r = c->call.error;
		c->call.error = 0;
	}
	return r;
}

void control_truncate(struct control_handle *c, uint64_t size)
{
	size_t keep = size > c->first_off ? (size_t)(size - c->first_off) : 0;

	if (!c->written || keep >= c->pending.len)
		return;
	c->scan = (struct json_in_scan){0};
	c->pending.len = keep;
	c->pending.data[keep] = '\0';
	c->written = keep;
}

void control_abandon(struct control_handle *c)
{
	buf_clear(&c->pending);
	c->written = false;
	c->refused = 0;
}

void control_cancel(struct control_handle *c)
{
	struct fail what = {0}, f;

	if (!c->call.going || !c->call.control->cancel)
		return;
	c->call.control->cancel(&c->call, &what);
	fail_set(&f, -EINTR, "%.400s%sits writer was interrupted", what.text,
		*what.text ? ": " : "");
	failed(c, -EINTR, &f);
}

void control_release(struct control_handle *c)
{
	if (c->written)
		act(c);
	let_go(c);
	buf_clear(&c->pending);
	buf_clear(&c->answer);
}

int control_read(struct control_handle *c, uint64_t off, bool patient)
{
	int r;

	if (!c->written && !c->called)
		return -ENODATA;
	r = c->written ? act(c) : 0;
	if (r < 0)
		return r;
	if (c->failed && c->call.control->answer && !c->call.control->answers_refusals &&
		!c->call.data)
		return c->failed;
	if (c->call.going && patient && !c->answered)
		return CONTROL_WAIT;
	if (!c->answered) {
		buf_reset(&c->answer);
		r = c->call.control->answer ? c->call.control->answer(&c->call, &c->answer)
					    : synth_content(c->call.m, &c->call.node, &c->answer);
		c->answered = r == 0;
		c->answer_off = off;
	}
	if (off < c->answer_off)
		c->answer_off = off;
	return r;
}

int control_perform(struct control_handle *c, const char *text, size_t len)
{
	int r = len ? control_write(c, text, len, 0) : 0;

	return r < 0 ? r : control_flush(c);
}

int control_usage(const struct synth_file *file, struct buf *ret)
{
	return file->control->usage ? buf_add_str(ret, file->control->usage) : 0;
}
