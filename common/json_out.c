// Writes JSON text.
#include "common/json_out.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

void json_out_begin(struct json_out *j, struct buf *to)
{
	*j = (struct json_out){.to = to};
}

static void lead(struct json_out *j, const char *key)
{
	if (j->comma)
		buf_add_char(j->to, ',');
	j->comma = true;
	if (key)
		buf_printf(j->to, "\"%s\":", key);
}

static void open_with(struct json_out *j, const char *key, char c)
{
	lead(j, key);
	buf_add_char(j->to, c);
	j->comma = false;
}

static void close_with(struct json_out *j, char c)
{
	buf_add_char(j->to, c);
	j->comma = true;
}

void json_out_object(struct json_out *j, const char *key)
{
	open_with(j, key, '{');
}

void json_out_object_end(struct json_out *j)
{
	close_with(j, '}');
}

void json_out_array(struct json_out *j, const char *key)
{
	open_with(j, key, '[');
}

void json_out_array_end(struct json_out *j)
{
	close_with(j, ']');
}

/* The length of the well-formed sequence at p, or 0 and in *ret_bad the length of the maximal part
 * that one U+FFFD stands for (Unicode 15, table 3-7). */
static size_t utf8_at(const unsigned char *p, size_t len, size_t *ret_bad)
{
	unsigned char low = 0x80, high = 0xbf;
	size_t need;

	*ret_bad = 1;
	if (p[0] < 0x80)
		return 1;
	if (p[0] < 0xc2 || p[0] > 0xf4)
		return 0;
	need = p[0] < 0xe0 ? 2 : p[0] < 0xf0 ? 3 : 4;
	if (p[0] == 0xe0)
		low = 0xa0;
	else if (p[0] == 0xed)
		high = 0x9f;
	else if (p[0] == 0xf0)
		low = 0x90;
	else if (p[0] == 0xf4)
		high = 0x8f;
	for (size_t i = 1; i < need; i++) {
		if (i >= len || p[i] < low || p[i] > high) {
			*ret_bad = i;
			return 0;
		}
		low = 0x80;
		high = 0xbf;
	}
	return need;
}

bool json_out_is_utf8(const void *data, size_t len)
{
	const unsigned char *p = data;

	for (size_t at = 0; at < len;) {
		size_t bad, n = utf8_at(p + at, len - at, &bad);

		if (!n)
			return false;
		at += n;
	}
	return true;
}

/* Gathers short pieces: a text may need a change at each of its bytes. */
struct pieces {
	struct buf *to;
	size_t len;
	char data[512];
};

static void flush(struct pieces *all)
{
	buf_add(all->to, all->data, all->len);
	all->len = 0;
}

static void add_piece(struct pieces *all, const void *data, size_t len)
{
	if (all->len + len > sizeof(all->data))
		flush(all);
	if (len > sizeof(all->data)) {
		buf_add(all->to, data, len);
		return;
	}
	memcpy(all->data + all->len, data, len);
	all->len += len;
}

static void add_escaped(struct pieces *all, unsigned char c)
{
	static const char digits[] = "0123456789abcdef";
	static const char shorts[] = {
		['"'] = '"', ['\\'] = '\\', ['\n'] = 'n', ['\r'] = 'r', ['\t'] = 't'};

	if (c < sizeof(shorts) && shorts[c])
		add_piece(all, (char[]){'\\', shorts[c]}, 2);
	else
		add_piece(all, (char[]){'\\', 'u', '0', '0', digits[c >> 4], digits[c & 15]}, 6);
}

bool json_out_bytes(struct json_out *j, const char *key, const void *data, size_t len)
{
	struct pieces all = {.to = j->to};
	const unsigned char *p = data;
	size_t plain = 0; /* where the run of bytes that need no change began */
	bool clean = true;

	lead(j, key);
	buf_add_char(j->to, '"');
	for (size_t at = 0; at < len;) {
		size_t bad, n = utf8_at(p + at, len - at, &bad);

		if (n > 1 || (n == 1 && p[at] >= 0x20 && p[at] != '"' && p[at] != '\\' &&
				     p[at] != 0x7f)) {
			at += n;
			continue;
		}
		add_piece(&all, p + plain, at - plain);
		if (n == 1)
			add_escaped(&all, p[at]);
		else
			add_piece(&all, "\xef\xbf\xbd", 3);
		clean = clean && n == 1;
		at += n ? n : bad;
		plain = at;
	}
	add_piece(&all, p + plain, len - plain);
	flush(&all);
	buf_add_char(j->to, '"');
	return clean;
}

void json_out_string(struct json_out *j, const char *key, const char *text)
{
	json_out_bytes(j, key, text, strlen(text));
}

void json_out_base64(struct json_out *j, const char *key, const void *data, size_t len)
{
	static const char digits[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	const unsigned char *p = data;

	lead(j, key);
	buf_add_char(j->to, '"');
	for (size_t i = 0; i < len; i += 3) {
		size_t left = len - i;
		unsigned v = (unsigned)p[i] << 16 | (left > 1 ? (unsigned)p[i + 1] << 8 : 0) |
			     (left > 2 ? p[i + 2] : 0);
		char quad[4] = {digits[v >> 18], digits[v >> 12 & 63],
			left > 1 ? digits[v >> 6 & 63] : '=', left > 2 ? digits[v & 63] : '='};

		buf_add(j->to, quad, 4);
	}
	buf_add_char(j->to, '"');
}

void json_out_int(struct json_out *j, const char *key, int64_t value)
{
	lead(j, key);
	buf_printf(j->to, "%lld", (long long)value);
}

void json_out_uint(struct json_out *j, const char *key, uint64_t value)
{
	lead(j, key);
	buf_printf(j->to, "%llu", (unsigned long long)value);
}

void json_out_double(struct json_out *j, const char *key, double value)
{
	lead(j, key);
	if (isfinite(value))
		buf_printf(j->to, "%.6g", value);
	else
		buf_add_str(j->to, "null");
}

void json_out_bool(struct json_out *j, const char *key, bool value)
{
	lead(j, key);
	buf_add_str(j->to, value ? "true" : "false");
}

void json_out_null(struct json_out *j, const char *key)
{
	lead(j, key);
	buf_add_str(j->to, "null");
}

void json_out_raw(struct json_out *j, const char *key, const char *text, size_t len)
{
	lead(j, key);
	buf_add(j->to, text, len);
}
