// What the driver tells: answers, tabs, lines. It runs with hostile code around it, so nothing that
// it says is believed to be well-formed.
#include "kernels/browser/browser_internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/json_in.h"
#include "common/scope.h"

#define ANSWER_MAX (128 * 1024 * 1024)
#define FIELD_MAX 8192
#define ERRNO_MAX 134

static bool says(const struct kernel_field *field, const char *text)
{
	return field->len == strlen(text) && !memcmp(field->value, text, field->len);
}

static int errno_of(const struct kernel_field *name)
{
	for (int i = 1; i < ERRNO_MAX; i++) {
		const char *known = strerrorname_np(i);

		if (known && says(name, known))
			return i;
	}
	return EIO;
}

/* 0, -EIO, -ENOMEM. */
static int check_json(const void *text, size_t len)
{
	struct json_object *value auto_call(json_in_free) = NULL;
	int r = json_in_parse(text, len, &value, NULL);

	return r == 0 || r == -ENOMEM ? r : -EIO;
}

static void on_data(struct browser *b, const struct kernel_frame *frame)
{
	struct browser_request *request = browser_request_find(b, frame->execution);
	struct kernel_field data;

	if (!request || !request->sent || !kernel_wire_find(frame, "data", &data))
		return;
	if (request->answer.len + data.len > ANSWER_MAX)
		request->answer.error = -EFBIG;
	buf_add(&request->answer, data.value, data.len);
}

/* result.json of a request. What has none has not been carried out. */
static int take_result(struct browser_request *request, const struct kernel_frame *frame)
{
	struct kernel_field result;
	int r;

	if (!kernel_wire_find(frame, "result", &result))
		return request->read ? 0 : -EIO;
	r = check_json(result.value, result.len);
	if (r < 0)
		return r;
	buf_add(&request->result, result.value, result.len);
	return buf_add_char(&request->result, '\n');
}

static const char *lost_answer(int err)
{
	if (err == -EFBIG)
		return "the answer is over 128 MiB";
	if (err == -ENOMEM)
		return "there is no memory for the answer";
	return "the driver's answer makes no sense";
}

static void on_answer(struct browser *b, const struct kernel_frame *frame)
{
	struct browser_request *request = browser_request_find(b, frame->execution);
	struct kernel_field error, words = {.value = ""};
	int err;

	if (!request || !request->sent)
		return;
	err = take_result(request, frame);
	if (request->answer.error)
		err = request->answer.error;
	if (kernel_wire_find(frame, "errno", &error)) {
		err = -errno_of(&error);
		kernel_wire_find(frame, "message", &words);
	} else if (err < 0) {
		words.value = lost_answer(err);
		words.len = strlen(words.value);
	}
	browser_request_end(request, err, words.value, words.len);
}

static int take_about(const char *key, const struct json_object *value, void *arg)
{
	static const char *const names[] = {
		[BROWSER_DOOR_CDP] = "cdp", [BROWSER_DOOR_LIVE] = "live"};
	struct browser *b = arg;
	size_t len;

	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		if (!strcmp(key, names[i]) && json_in_type(value) == JSON_IN_BOOL)
			b->doors[i] = json_in_bool(value);
	if (!strcmp(key, "version") && json_in_type(value) == JSON_IN_STRING)
		snprintf(b->version, sizeof(b->version), "%s", json_in_string(value, &len));
	if (!strcmp(key, "sandbox") && json_in_type(value) == JSON_IN_STRING)
		snprintf(b->own_sandbox, sizeof(b->own_sandbox), "%s", json_in_string(value, &len));
	return 0;
}

static void on_state(struct browser *b, const struct kernel_frame *frame)
{
	struct json_object *value auto_call(json_in_free) = NULL;
	struct kernel_field state;
	char *copy;

	if (!kernel_wire_find(frame, "state", &state) || state.len < 2 || state.len > FIELD_MAX ||
		*(const char *)state.value != '{' ||
		((const char *)state.value)[state.len - 1] != '}' ||
		json_in_parse(state.value, state.len, &value, NULL) < 0)
		return;
	json_in_each(value, take_about, b);
	copy = strndup(state.value, state.len);
	if (!copy)
		return;
	free(b->about);
	b->about = copy;
	if (b->state == BROWSER_STARTING) {
		b->state = BROWSER_RUNNING;
		b->config.log(b->config.arg, "browser: started");
	}
}

/* One line of text of a page, cut where it would not be one. */
static void take_text(const struct kernel_frame *frame, const char *name, char **place)
{
	struct kernel_field field;
	char *copy;

	if (!kernel_wire_find(frame, name, &field))
		return;
	copy = strndup(field.value, field.len < FIELD_MAX ? field.len : FIELD_MAX);
	if (!copy)
		return;
	copy[strcspn(copy, "\r\n")] = '\0';
	free(*place);
	*place = copy;
}

static uint32_t number_of(const struct kernel_field *field)
{
	char text[16] = "";

	memcpy(text, field->value, field->len < 15 ? field->len : 15);
	return (uint32_t)strtoul(text, NULL, 10);
}

static void on_tab(struct browser *b, const struct kernel_frame *frame)
{
	struct browser_page *page = browser_page_find(b, frame->execution);
	struct kernel_field field;

	if (kernel_wire_find(frame, "closed", &field)) {
		if (page) {
			b->config.log(b->config.arg, "browser: page %u closed", page->number);
			browser_page_remove(b, page);
		}
		return;
	}
	if (!page && browser_page_add(b, frame->execution, &page) < 0)
		return;
	take_text(frame, "url", &page->url);
	take_text(frame, "title", &page->title);
	take_text(frame, "status", &page->status);
	if (kernel_wire_find(frame, "opener", &field))
		page->opener = number_of(&field);
	if (kernel_wire_find(frame, "crashed", &field))
		page->crashed = number_of(&field);
	if (kernel_wire_find(frame, "active", &field))
		b->active = page->number;
}

static void on_line(struct browser *b, const struct kernel_frame *frame)
{
	static const char *const kinds[] = {[BROWSER_CONSOLE] = "console",
		[BROWSER_NETWORK] = "network",
		[BROWSER_DIALOG] = "dialog"};
	struct browser_page *page = browser_page_find(b, frame->execution);
	struct kernel_field kind, text;

	if (!page || !kernel_wire_find(frame, "kind", &kind) ||
		!kernel_wire_find(frame, "text", &text))
		return;
	for (size_t i = 0; i < BROWSER_LINES; i++)
		if (says(&kind, kinds[i]))
			browser_page_line(page, (enum browser_lines)i, text.value, text.len);
}

static void on_log(struct browser *b, const struct kernel_frame *frame)
{
	struct kernel_field text;
	struct fail line;

	if (!kernel_wire_find(frame, "text", &text))
		return;
	/* Makes one line of it, without control characters. */
	fail_set(
		&line, 0, "%.*s", (int)(text.len < 300 ? text.len : 300), (const char *)text.value);
	b->config.log(b->config.arg, "browser: %s", line.text);
}

static void on_port(struct browser *b, const struct kernel_frame *frame)
{
	struct kernel_field port;

	if (kernel_wire_find(frame, "port", &port) && number_of(&port) <= UINT16_MAX)
		b->port = (uint16_t)number_of(&port);
}

void browser_frame(struct browser *b, const struct kernel_frame *frame)
{
	switch (frame->type) {
	case BROWSER_DATA:
		on_data(b, frame);
		break;
	case BROWSER_ANSWER:
		on_answer(b, frame);
		break;
	case BROWSER_STATE:
		on_state(b, frame);
		break;
	case BROWSER_TAB:
		on_tab(b, frame);
		break;
	case BROWSER_LINE:
		on_line(b, frame);
		break;
	case BROWSER_LOG:
		on_log(b, frame);
		break;
	case BROWSER_PORT:
		on_port(b, frame);
		break;
	default:
		break;
	}
}
