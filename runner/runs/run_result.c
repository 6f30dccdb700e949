// result.json: all of a run in one document.
#include "runner/runs/run_internal.h"

#include <errno.h>
#include <stdlib.h>

#include "common/clock.h"
#include "common/json_out.h"
#include "common/scope.h"
#include "common/signal_name.h"

#define STREAM_MAX (1024 * 1024) /* bytes of each stream in the document */

/* Shortens a cut text so that it does not end within a character. */
static size_t whole_characters(const char *data, size_t len)
{
	size_t back = 0;

	while (back < 3 && back < len && ((unsigned char)data[len - 1 - back] & 0xc0) == 0x80)
		back++;
	if (back < len && (unsigned char)data[len - 1 - back] >= 0xc0)
		return json_out_is_utf8(data + len - 1 - back, back + 1) ? len : len - 1 - back;
	return len;
}

static int read_stream(struct run *run, enum run_stream stream, struct buf *to)
{
	size_t want = run->output.kept[stream] < STREAM_MAX ? (size_t)run->output.kept[stream]
							    : STREAM_MAX;
	int r = buf_reserve(to, want);

	while (r == 0 && to->len < want) {
		ssize_t n = run_output_read(
			&run->output, stream, to->data + to->len, want - to->len, to->len);

		if (n <= 0)
			return n < 0 ? (int)n : -EIO;
		to->len += (size_t)n;
	}
	if (r == 0 && run->output.kept[stream] > STREAM_MAX)
		to->len = whole_characters(to->data, to->len);
	return r;
}

static int add_stream(struct json_out *j, struct run *run, enum run_stream stream, const char *key,
	const char *raw)
{
	struct buf data auto_buf = {0};
	int r = read_stream(run, stream, &data);

	if (r == 0 && !json_out_bytes(j, key, buf_text(&data), data.len))
		json_out_base64(j, raw, buf_text(&data), data.len);
	return r;
}

static void add_time(struct json_out *j, const char *key, uint64_t usec)
{
	char iso[CLOCK_ISO_LEN];

	if (!usec) {
		json_out_null(j, key);
		return;
	}
	clock_iso(usec, iso);
	json_out_string(j, key, iso);
}

static void add_outcome(struct json_out *j, const struct run *run)
{
	if (run_is_over(run) && run->status != RUN_LOST)
		json_out_int(j, "exitCode", run->exit_code);
	else
		json_out_null(j, "exitCode");
	json_out_string(j, "status", run_status_name(run->status));
	if (run->signal)
		json_out_string(j, "signal", signal_name(run->signal));
	else
		json_out_null(j, "signal");
	json_out_bool(j, "timedOut", run->timed_out);
	if (run_limit_name(run->limit))
		json_out_string(j, "limit", run_limit_name(run->limit));
}

static void add_rest(struct json_out *j, const struct run *run)
{
	const struct run_output *o = &run->output;

	json_out_string(j, "cwd", run->cwd ? run->cwd : "");
	json_out_string(j, "user", run->user ? run->user : "");
	add_time(j, "startedAt", run->started_usec);
	add_time(j, "endedAt", run->ended_usec);
	if (run_is_over(run))
		json_out_uint(j, "durationMs", run->duration_usec / USEC_PER_MSEC);
	else
		json_out_null(j, "durationMs");
	json_out_uint(j, "stdoutBytes", o->total[RUN_STDOUT]);
	json_out_uint(j, "stderrBytes", o->total[RUN_STDERR]);
	json_out_bool(j, "truncated",
		o->dropped || o->kept[RUN_STDOUT] > STREAM_MAX || o->kept[RUN_STDERR] > STREAM_MAX);
}

int run_result(struct run *run, struct buf *ret)
{
	char *cmd auto_free = NULL;
	uint64_t cmd_len = 0;
	struct json_out j;
	int r = run_cmd(run, &cmd, &cmd_len);

	if (r < 0)
		return r;
	json_out_begin(&j, ret);
	json_out_object(&j, NULL);
	json_out_string(&j, "id", run->id);
	json_out_bytes(&j, "cmd", cmd, cmd_len);
	r = add_stream(&j, run, RUN_STDOUT, "stdout", "stdoutBase64");
	if (r == 0)
		r = add_stream(&j, run, RUN_STDERR, "stderr", "stderrBase64");
	if (r < 0)
		return r;
	add_outcome(&j, run);
	add_rest(&j, run);
	json_out_object_end(&j);
	buf_add_char(ret, '\n');
	return ret->error;
}
