// result.json and error.json of an execution.
#include "kernels/cell.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/clock.h"
#include "common/json_in.h"
#include "common/json_out.h"
#include "common/scope.h"

#define STREAM_MAX (1024 * 1024) /* bytes of each stream in the document */
#define RESULTS_MAX (48ULL * 1024 * 1024) /* bytes of all results in it */

static int read_stream(struct cell *cell, enum run_stream stream, struct buf *to)
{
	uint64_t kept = cell->output.kept[stream];
	size_t want = kept < STREAM_MAX ? (size_t)kept : STREAM_MAX;
	int r = buf_reserve(to, want);

	while (r == 0 && to->len < want) {
		ssize_t n = run_output_read(
			&cell->output, stream, to->data + to->len, want - to->len, to->len);

		if (n <= 0)
			return n < 0 ? (int)n : -EIO;
		to->len += (size_t)n;
	}
	return r;
}

/* The SDKs have a list of lines without their ends. */
static int add_lines(struct json_out *j, struct cell *cell, enum run_stream stream, const char *key,
	bool *ret_utf8)
{
	struct buf text auto_buf = {0};
	int r = read_stream(cell, stream, &text);
	const char *at = buf_text(&text), *end = at + text.len;

	json_out_array(j, key);
	while (at < end) {
		const char *newline = memchr(at, '\n', (size_t)(end - at));
		const char *stop = newline ? newline : end;

		*ret_utf8 = json_out_bytes(j, NULL, at, (size_t)(stop - at)) && *ret_utf8;
		at = newline ? newline + 1 : end;
	}
	json_out_array_end(j);
	return r;
}

static int add_raw(struct json_out *j, struct cell *cell, enum run_stream stream, const char *key)
{
	struct buf text auto_buf = {0};
	int r = read_stream(cell, stream, &text);

	json_out_base64(j, key, buf_text(&text), text.len);
	return r;
}

static int add_logs(struct json_out *j, struct cell *cell)
{
	bool utf8[2] = {true, true};
	int r;

	json_out_object(j, "logs");
	r = add_lines(j, cell, RUN_STDOUT, "stdout", &utf8[0]);
	if (r == 0)
		r = add_lines(j, cell, RUN_STDERR, "stderr", &utf8[1]);
	if (r == 0 && !utf8[0])
		r = add_raw(j, cell, RUN_STDOUT, "stdoutBase64");
	if (r == 0 && !utf8[1])
		r = add_raw(j, cell, RUN_STDERR, "stderrBase64");
	json_out_object_end(j);
	return r;
}

/* JSON of a kernel stands as it is when it is JSON, else as the text that it is. */
static void add_json(struct json_out *j, const char *key, struct buf *text)
{
	struct json_object *value auto_call(json_in_free) = NULL;
	size_t len = text->len;
	int r = buf_add_char(text, ' '); /* or a number at the end might go on */

	if (r == 0)
		r = json_in_parse(text->data, text->len, &value, NULL);
	text->len = len;
	if (r == 0)
		json_out_raw(j, key, text->data, text->len);
	else
		json_out_bytes(j, key, buf_text(text), text->len);
}

/* The name is the kernel's: written by itself, as a key must be escaped. */
static void add_key(struct json_out *j, const char *mime)
{
	struct buf name auto_buf = {0};
	struct json_out key;

	json_out_begin(&key, &name);
	json_out_bytes(&key, NULL, mime, strlen(mime));
	if (j->comma)
		buf_add_char(j->to, ',');
	buf_add(j->to, buf_text(&name), name.len);
	buf_add_char(j->to, ':');
	j->comma = false;
}

/* RFC 6838: what ends in +json is JSON. */
static bool is_json(const char *mime)
{
	size_t len = strlen(mime);

	return len > 5 && (!strcmp(mime + len - 5, "+json") || !strcmp(mime + len - 5, "/json"));
}

static int add_part(struct json_out *j, struct cell_result *result, size_t at)
{
	const struct cell_part *part = &result->parts[at];
	const char *key = part->format ? part->format->key : NULL;
	struct buf text auto_buf = {0};
	int r = spill_read_all(&result->parts[at].data, &text);

	if (r < 0)
		return r;
	if (!key)
		add_key(j, part->mime);
	if (part->format ? part->format->kind == CELL_JSON : is_json(part->mime))
		add_json(j, key, &text);
	else if (part->format && part->format->kind == CELL_BINARY)
		json_out_base64(j, key, buf_text(&text), text.len);
	else
		json_out_bytes(j, key, buf_text(&text), text.len);
	return j->to->error;
}

/* Those that have a format of their own, or those that have not, as long as there is room. */
static int add_parts(struct json_out *j, struct cell_result *result, bool own, uint64_t *left)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < result->parts_len; i++) {
		const struct cell_part *part = &result->parts[i];

		if ((part->format != NULL) != own || part->data.size > *left)
			continue;
		*left -= part->data.size;
		r = add_part(j, result, i);
	}
	return r;
}

static bool has_extra(const struct cell_result *result)
{
	for (size_t i = 0; i < result->parts_len; i++)
		if (!result->parts[i].format)
			return true;
	return false;
}

static int add_result(struct json_out *j, struct cell_result *result, uint64_t *left)
{
	int r;

	json_out_object(j, NULL);
	r = add_parts(j, result, true, left);
	if (r == 0 && has_extra(result)) {
		json_out_object(j, "extra");
		r = add_parts(j, result, false, left);
		json_out_object_end(j);
	}
	json_out_bool(j, "isMainResult", result->is_main);
	json_out_object_end(j);
	return r;
}

static int add_results(struct json_out *j, struct cell *cell)
{
	uint64_t left = RESULTS_MAX;
	struct list *item;
	int r = 0;

	json_out_array(j, "results");
	list_for_each(item, &cell->results)
	{
		r = add_result(j, list_entry(item, struct cell_result, link), &left);
		if (r < 0)
			break;
	}
	json_out_array_end(j);
	return r;
}

static const char *error_name(const struct cell *cell)
{
	return cell->error_name ? cell->error_name : "Error";
}

static const char *error_value(const struct cell *cell)
{
	return cell->error_value ? cell->error_value : "";
}

static void add_error(struct json_out *j, const struct cell *cell, const char *key)
{
	json_out_object(j, key);
	json_out_bytes(j, "name", error_name(cell), strlen(error_name(cell)));
	json_out_bytes(j, "value", error_value(cell), strlen(error_value(cell)));
	json_out_array(j, "traceback");
	for (size_t i = 0; i < cell->traceback_len; i++)
		json_out_bytes(j, NULL, cell->traceback[i], strlen(cell->traceback[i]));
	json_out_array_end(j);
	json_out_object_end(j);
}

static bool truncated(const struct cell *cell)
{
	const struct run_output *o = &cell->output;

	return o->dropped || cell->results_dropped || cell->results_bytes > RESULTS_MAX ||
	       o->kept[RUN_STDOUT] > STREAM_MAX || o->kept[RUN_STDERR] > STREAM_MAX;
}

static void add_outcome(struct json_out *j, const struct cell *cell)
{
	if (cell->failed)
		add_error(j, cell, "error");
	else
		json_out_null(j, "error");
	json_out_uint(j, "executionCount", cell->count);
	json_out_string(j, "status", cell_status_name(cell));
	if (cell_is_over(cell))
		json_out_uint(j, "durationMs", cell->duration_usec / USEC_PER_MSEC);
	else
		json_out_null(j, "durationMs");
	json_out_bool(j, "restarted", cell->restarted);
	json_out_uint(j, "stdoutBytes", cell->output.total[RUN_STDOUT]);
	json_out_uint(j, "stderrBytes", cell->output.total[RUN_STDERR]);
	json_out_bool(j, "truncated", truncated(cell));
}

int cell_result_json(struct cell *cell, struct buf *ret)
{
	struct buf code auto_buf = {0};
	struct json_out j;
	int r = cell_code(cell, &code);

	if (r < 0)
		return r;
	json_out_begin(&j, ret);
	json_out_object(&j, NULL);
	json_out_bytes(&j, "code", buf_text(&code), code.len);
	json_out_string(&j, "language", cell->language);
	r = add_logs(&j, cell);
	if (r == 0)
		r = add_results(&j, cell);
	if (r < 0)
		return r;
	add_outcome(&j, cell);
	json_out_object_end(&j);
	buf_add_char(ret, '\n');
	return ret->error;
}

int cell_error_json(struct cell *cell, struct buf *ret)
{
	struct json_out j;

	if (!cell->failed)
		return -ENOENT;
	json_out_begin(&j, ret);
	add_error(&j, cell, NULL);
	buf_add_char(ret, '\n');
	return ret->error;
}

int cell_error_text(struct cell *cell, struct buf *ret)
{
	if (!cell->failed)
		return -ENOENT;
	for (size_t i = 0; i < cell->traceback_len; i++) {
		buf_add_str(ret, cell->traceback[i]);
		if (ret->len && ret->data[ret->len - 1] != '\n')
			buf_add_char(ret, '\n');
	}
	if (cell->traceback_len == 0)
		buf_printf(ret, "%s: %s\n", error_name(cell), error_value(cell));
	return ret->error;
}
