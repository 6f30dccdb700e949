// An execution's events: JSON lines in the order in which things happened.
#include "kernels/cell.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>

#include "common/clock.h"
#include "common/json_out.h"
#include "common/scope.h"
#include "common/waiters.h"

#define INLINE_MAX (64 * 1024) /* a result's text is in its event up to this size */

static void append(struct cell *cell, const struct buf *line, bool always)
{
	if (line->error || (!always && cell->events.size + line->len > cell->cells->output_bytes))
		cell->events_full = true;
	else if (spill_add(&cell->events, line->data, line->len) < 0)
		cell->events_full = true;
	else
		waiters_wake(&cell->grown);
}

static void begin(struct json_out *j, struct buf *to, const char *type)
{
	char iso[CLOCK_ISO_LEN];

	clock_iso(clock_wall_usec(), iso);
	json_out_begin(j, to);
	json_out_object(j, NULL);
	json_out_string(j, "type", type);
	json_out_string(j, "time", iso);
}

static void finish(struct cell *cell, struct json_out *j, bool always)
{
	json_out_object_end(j);
	buf_add_char(j->to, '\n');
	append(cell, j->to, always);
}

/* How many bytes at the end are the beginning of a character that is not complete. */
static size_t incomplete(const unsigned char *data, size_t len)
{
	for (size_t back = 1; back <= 3 && back <= len; back++) {
		unsigned char c = data[len - back];

		if ((c & 0xc0) == 0x80)
			continue;
		return (c >= 0xf0 && back < 4) || (c >= 0xe0 && back < 3) || (c >= 0xc0 && back < 2)
			       ? back
			       : 0;
	}
	return 0;
}

static void output_line(
	struct cell *cell, enum run_stream stream, const unsigned char *data, size_t len)
{
	struct buf line auto_buf = {0};
	struct json_out j;

	begin(&j, &line, stream == RUN_STDOUT ? "stdout" : "stderr");
	if (!json_out_bytes(&j, "text", data, len))
		json_out_base64(&j, "base64", data, len);
	if (cell_is_over(cell))
		json_out_bool(&j, "late", true);
	finish(cell, &j, false);
}

void cell_event_output(struct cell *cell, enum run_stream stream, const void *data, size_t len)
{
	struct buf text auto_buf = {0};
	size_t rest;

	if (cell->events_full)
		return;
	buf_add(&text, cell->carry[stream], cell->carry_len[stream]);
	buf_add(&text, data, len);
	if (text.error) {
		cell->events_full = true;
		return;
	}
	rest = incomplete((unsigned char *)text.data, text.len);
	cell->carry_len[stream] = (uint8_t)rest;
	memcpy(cell->carry[stream], text.data + text.len - rest, rest);
	if (text.len > rest)
		output_line(cell, stream, (unsigned char *)text.data, text.len - rest);
}

static void add_formats(struct json_out *j, const struct cell_result *result)
{
	json_out_array(j, "formats");
	for (size_t i = 0; i < result->parts_len; i++)
		json_out_string(j, NULL,
			result->parts[i].format ? result->parts[i].format->key
						: result->parts[i].mime);
	json_out_array_end(j);
}

static void add_text(struct json_out *j, struct cell_result *result)
{
	static char block[INLINE_MAX]; /* one thread at a time is here */
	int part = cell_result_part(result, &cell_formats[0]);
	ssize_t n;

	if (part < 0 || result->parts[part].data.size > INLINE_MAX)
		return;
	n = cell_result_read(result, (size_t)part, block, sizeof(block), 0);
	if (n >= 0)
		json_out_bytes(j, "text", block, (size_t)n);
}

void cell_event_result(struct cell *cell, const struct cell_result *result, const char *type)
{
	struct buf line auto_buf = {0};
	struct json_out j;

	begin(&j, &line, type);
	json_out_uint(&j, "index", result->index);
	json_out_bool(&j, "isMainResult", result->is_main);
	add_formats(&j, result);
	add_text(&j, (struct cell_result *)result);
	finish(cell, &j, false);
}

void cell_event_clear(struct cell *cell)
{
	struct buf line auto_buf = {0};
	struct json_out j;

	begin(&j, &line, "clear");
	finish(cell, &j, false);
}

void cell_event_error(struct cell *cell)
{
	struct buf line auto_buf = {0}, error auto_buf = {0};
	struct json_out j;

	if (cell_error_json(cell, &error) < 0) {
		cell->events_full = true;
		return;
	}
	begin(&j, &line, "error");
	json_out_raw(&j, "error", error.data, error.len - 1);
	finish(cell, &j, true);
}

/* Part of a character that never came to its end is shown as what it is. */
static void flush_carry(struct cell *cell)
{
	for (int stream = 0; stream < 2; stream++)
		if (cell->carry_len[stream]) {
			output_line(cell, stream, cell->carry[stream], cell->carry_len[stream]);
			cell->carry_len[stream] = 0;
		}
}

/* Without memory: whoever reads has to be told that nothing more comes. */
static void append_plain_end(struct cell *cell)
{
	char line[160], iso[CLOCK_ISO_LEN];

	clock_iso(clock_wall_usec(), iso);
	snprintf(line, sizeof(line),
		"{\"type\":\"end\",\"time\":\"%s\",\"status\":\"%s\",\"truncated\":true}\n", iso,
		cell_status_name(cell));
	if (spill_add(&cell->events, line, strlen(line)) == 0)
		waiters_wake(&cell->grown);
}

void cell_event_end(struct cell *cell)
{
	struct buf line auto_buf = {0};
	struct json_out j;

	flush_carry(cell);
	begin(&j, &line, "end");
	json_out_string(&j, "status", cell_status_name(cell));
	json_out_uint(&j, "executionCount", cell->count);
	json_out_uint(&j, "durationMs", cell->duration_usec / USEC_PER_MSEC);
	if (cell->events_full)
		json_out_bool(&j, "truncated", true);
	finish(cell, &j, true);
	if (line.error)
		append_plain_end(cell);
}

ssize_t cell_events_read(struct cell *cell, void *data, size_t len, uint64_t off)
{
	return spill_read(&cell->events, data, len, off);
}
