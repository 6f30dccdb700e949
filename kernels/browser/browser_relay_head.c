// The head of an HTTP request to the relay: checked, and rewritten for the inside.
#include "kernels/browser/browser_relay_head.h"

#include <errno.h>
#include <string.h>
#include <strings.h>

#include "common/scope.h"

struct line {
	const char *text;
	size_t len;
};

size_t browser_relay_head_len(const void *data, size_t len)
{
	const char *end = memmem(data, len, "\r\n\r\n", 4);

	return end ? (size_t)(end - (const char *)data) + 4 : 0;
}

static bool next_line(const char **at, const char *end, struct line *ret)
{
	const char *eol = memmem(*at, (size_t)(end - *at), "\r\n", 2);

	if (!eol || eol == *at)
		return false;
	*ret = (struct line){*at, (size_t)(eol - *at)};
	*at = eol + 2;
	return true;
}

/* The value of a header of that name; NULL: another header. */
static const char *value_of(const struct line *line, const char *name, size_t *ret_len)
{
	size_t len = strlen(name), at = len + 1, end = line->len;

	if (line->len <= len || strncasecmp(line->text, name, len) != 0 || line->text[len] != ':')
		return NULL;
	while (at < end && strchr(" \t", line->text[at]))
		at++;
	while (end > at && strchr(" \t", line->text[end - 1]))
		end--;
	*ret_len = end - at;
	return line->text + at;
}

static bool is_text(const char *value, size_t len, const char *text)
{
	return len == strlen(text) && !memcmp(value, text, len);
}

/* A name by which this port can be meant: others are a page's that was made to point here. */
static bool is_ours(
	const struct browser_relay_head *head, const char *scheme, const char *value, size_t len)
{
	static const char *const hosts[] = {"127.0.0.1", "localhost"};
	char text[64];

	for (size_t i = 0; i < ARRAY_LEN(hosts); i++) {
		snprintf(text, sizeof(text), "%s%s:%u", scheme, hosts[i], head->port);
		if (is_text(value, len, text))
			return true;
	}
	return false;
}

/* Takes the same time whatever the difference. */
static bool same_token(const char *one, const char *other)
{
	unsigned char differs = 0;

	for (size_t i = 0; i < BROWSER_TOKEN_LEN; i++)
		differs |= (unsigned char)(one[i] ^ other[i]);
	return differs == 0;
}

/* "GET /TOKEN/path HTTP/1.1" */
static int rewrite_first(struct browser_relay_head *head, const struct line *line, struct buf *ret)
{
	static const char *const methods[] = {"GET ", "HEAD ", "PUT "};
	bool known = false;

	for (size_t i = 0; i < ARRAY_LEN(methods); i++) {
		size_t len = strlen(methods[i]);
		const char *path = line->text + len;
		size_t rest = line->len - len;

		if (line->len < len || memcmp(line->text, methods[i], len) != 0)
			continue;
		if (rest < BROWSER_TOKEN_LEN + 2 || *path != '/' ||
			!strchr("/ ?", path[BROWSER_TOKEN_LEN + 1]))
			return -EACCES;
		for (size_t door = 0; door < head->tokens_len; door++) {
			if (same_token(path + 1, head->tokens[door])) {
				head->door = door;
				known = true;
			}
		}
		if (!known)
			return -EACCES;
		path += BROWSER_TOKEN_LEN + 1;
		rest -= BROWSER_TOKEN_LEN + 1;
		return buf_printf(
			ret, "%s%s%.*s\r\n", methods[i], *path == '/' ? "" : "/", (int)rest, path);
	}
	return -EINVAL;
}

struct seen {
	bool host;
	const char *base; /* what the client calls us by */
	size_t base_len;
};

static int rewrite_header(struct browser_relay_head *head, const struct line *line,
	struct seen *seen, struct buf *ret)
{
	static const char *const dropped[] = {"connection", "keep-alive", "proxy-connection",
		"x-sandpit-base", "transfer-encoding", "content-length", "expect"};
	const char *value;
	size_t len;

	value = value_of(line, "host", &len);
	if (value) {
		if (seen->host || !is_ours(head, "", value, len))
			return -EACCES;
		*seen = (struct seen){.host = true, .base = value, .base_len = len};
		return 0;
	}
	value = value_of(line, "origin", &len);
	if (value && !is_ours(head, "http://", value, len))
		return -EACCES;
	value = value_of(line, "upgrade", &len);
	if (value)
		head->upgrade = len == 9 && !strncasecmp(value, "websocket", 9);
	for (size_t i = 0; i < ARRAY_LEN(dropped); i++)
		if (value_of(line, dropped[i], &len))
			return 0;
	buf_add(ret, line->text, line->len);
	return buf_add_str(ret, "\r\n");
}

int browser_relay_head_rewrite(
	struct browser_relay_head *head, const char *text, size_t len, struct buf *ret)
{
	const char *at = text, *end = text + len;
	struct seen seen = {0};
	struct line line;
	int r;

	if (memchr(text, '\0', len) || !next_line(&at, end, &line))
		return -EINVAL;
	r = rewrite_first(head, &line, ret);
	while (r == 0 && next_line(&at, end, &line))
		r = rewrite_header(head, &line, &seen, ret);
	if (r == 0 && !seen.host)
		r = -EACCES;
	if (r < 0)
		return r;
	buf_printf(ret, "Host: %.*s\r\nX-Sandpit-Base: %.*s/%s\r\nConnection: %s\r\n\r\n",
		(int)seen.base_len, seen.base, (int)seen.base_len, seen.base,
		head->tokens[head->door], head->upgrade ? "Upgrade" : "close");
	return ret->error;
}
