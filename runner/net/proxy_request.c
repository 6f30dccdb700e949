// The head of a request to the proxy.
#include "runner/net/proxy_request.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <errno.h>
#include <string.h>
#include <strings.h>

#include "common/scope.h"

#define METHOD_MAX 16

struct text {
	const char *at;
	size_t len;
};

size_t proxy_request_head_len(const void *data, size_t len)
{
	const char *end = memmem(data, len, "\r\n\r\n", 4);

	return end ? (size_t)(end - (const char *)data) + 4 : 0;
}

static int refuse(struct fail *f, int status, const char *words)
{
	fail_set(f, 0, "%s", words);
	return status;
}

static bool is_token(const struct text *t)
{
	for (size_t i = 0; i < t->len; i++) {
		char c = t->at[i];

		if (!isalnum((unsigned char)c) && (!c || !strchr("!#$%&'*+-.^_`|~", c)))
			return false;
	}
	return t->len;
}

static bool is(const struct text *t, const char *text)
{
	return t->len == strlen(text) && !strncasecmp(t->at, text, t->len);
}

/* Cuts at the first c: what is before it, and the rest behind it. */
static bool cut(struct text *rest, char c, struct text *ret)
{
	const char *end = memchr(rest->at, c, rest->len);

	if (!end)
		return false;
	*ret = (struct text){rest->at, (size_t)(end - rest->at)};
	rest->at = end + 1;
	rest->len -= ret->len + 1;
	return true;
}

static bool next_line(struct text *rest, struct text *ret)
{
	const char *end = memmem(rest->at, rest->len, "\r\n", 2);

	if (!end || end == rest->at)
		return false;
	*ret = (struct text){rest->at, (size_t)(end - rest->at)};
	rest->at = end + 2;
	rest->len -= ret->len + 2;
	return true;
}

static bool parse_number(const struct text *t, uint64_t max, uint64_t *ret)
{
	uint64_t value = 0;

	if (!t->len || t->len > 19)
		return false;
	for (size_t i = 0; i < t->len; i++) {
		if (!isdigit((unsigned char)t->at[i]))
			return false;
		value = value * 10 + (uint64_t)(t->at[i] - '0');
	}
	*ret = value;
	return value <= max;
}

static bool set_port(const struct text *t, struct proxy_request *ret)
{
	uint64_t port;

	if (!parse_number(t, UINT16_MAX, &port) || !port)
		return false;
	ret->port = (uint16_t)port;
	return true;
}

/* "[::1]" */
static bool set_v6(struct text *authority, struct proxy_request *ret)
{
	struct in6_addr address;
	struct text host;

	authority->at++;
	authority->len--;
	if (!cut(authority, ']', &host) || host.len >= INET6_ADDRSTRLEN)
		return false;
	memcpy(ret->host, host.at, host.len);
	ret->host[host.len] = '\0';
	return inet_pton(AF_INET6, ret->host, &address) == 1 &&
	       inet_ntop(AF_INET6, &address, ret->host, sizeof(ret->host));
}

static bool set_name(struct text *authority, struct proxy_request *ret)
{
	const char *colon = memchr(authority->at, ':', authority->len);
	size_t len = colon ? (size_t)(colon - authority->at) : authority->len, used = len;

	if (used > 1 && authority->at[used - 1] == '.')
		used--;
	if (!used || used > 253)
		return false;
	for (size_t i = 0; i < used; i++) {
		char c = authority->at[i];

		if (!isalnum((unsigned char)c) && (!strchr(".-_", c) || !c))
			return false;
		ret->host[i] = (char)tolower((unsigned char)c);
	}
	ret->host[used] = '\0';
	authority->at += len;
	authority->len -= len;
	return true;
}

/* host, host:port, [v6]:port; the port stays as it is when none stands there. */
static bool set_authority(struct text authority, struct proxy_request *ret)
{
	bool ok = authority.len && *authority.at == '[' ? set_v6(&authority, ret)
							: set_name(&authority, ret);

	if (!ok || !authority.len)
		return ok;
	if (*authority.at != ':')
		return false;
	authority.at++;
	authority.len--;
	return set_port(&authority, ret);
}

/* http://host:port/path?query; without a path it is "/". */
static int parse_url(
	struct text url, struct text *ret_path, struct proxy_request *ret, struct fail *f)
{
	struct text authority;
	size_t len = 0;

	if (url.len && (*url.at == '/' || *url.at == '*'))
		return refuse(f, 400, "this is a proxy: ask for a whole URL");
	if (url.len >= 8 && !strncasecmp(url.at, "https://", 8))
		return refuse(f, 400, "https: goes through CONNECT");
	if (url.len < 7 || strncasecmp(url.at, "http://", 7) != 0)
		return refuse(f, 501, "only http: and, through CONNECT, https: are carried");
	url.at += 7;
	url.len -= 7;
	while (len < url.len && !strchr("/?#", url.at[len]))
		len++;
	authority = (struct text){url.at, len};
	*ret_path = (struct text){url.at + len, url.len - len};
	cut(&(struct text){url.at + len, url.len - len}, '#', ret_path);
	ret->port = 80;
	if (memchr(authority.at, '@', authority.len))
		return refuse(f, 400, "a name and password in the URL are not carried");
	if (!set_authority(authority, ret))
		return refuse(f, 400, "the host in the URL is malformed");
	return 0;
}

static void write_host(struct buf *to, const struct proxy_request *r)
{
	buf_printf(to, strchr(r->host, ':') ? "Host: [%s]" : "Host: %s", r->host);
	if (r->port != 80)
		buf_printf(to, ":%u", r->port);
	buf_add_str(to, "\r\n");
}

/* METHOD target HTTP/1.1 */
static int parse_first(struct text line, struct proxy_request *ret, struct fail *f)
{
	struct text method, target, path;
	int r;

	if (!cut(&line, ' ', &method) || !cut(&line, ' ', &target) || !is_token(&method) ||
		!target.len)
		return refuse(f, 400, "the request line is malformed");
	if (!is(&line, "HTTP/1.1") && !is(&line, "HTTP/1.0"))
		return refuse(f, 400, "the request is not HTTP/1.0 or 1.1");
	for (size_t i = 0; i < target.len; i++)
		if ((unsigned char)target.at[i] <= ' ' || target.at[i] == 0x7f)
			return refuse(f, 400, "the request's target is malformed");
	ret->tunnel = method.len == 7 && !memcmp(method.at, "CONNECT", 7);
	if (ret->tunnel)
		return set_authority(target, ret) && ret->port
			       ? 0
			       : refuse(f, 400, "CONNECT needs HOST:PORT");
	if (is(&method, "TRACE"))
		return refuse(f, 405, "TRACE is not carried");
	r = parse_url(target, &path, ret, f);
	if (r)
		return r;
	buf_add(&ret->head, method.at, method.len);
	buf_printf(&ret->head, " %s", path.len && *path.at == '/' ? "" : "/");
	buf_add(&ret->head, path.at, path.len);
	buf_add_str(&ret->head, " HTTP/1.1\r\n");
	write_host(&ret->head, ret);
	return 0;
}

struct seen {
	bool length, chunked;
};

/* The body's length must be told in one way only: else proxy and server could disagree on where it
 * ends (RFC 9112, 6.3). */
static int parse_length(const struct text *name, const struct text *value, struct seen *seen,
	struct proxy_request *ret, struct fail *f)
{
	if (is(name, "content-length")) {
		if (seen->length || seen->chunked ||
			!parse_number(value, INT64_MAX, &ret->body_len))
			return refuse(f, 400, "the body's length is malformed or told twice");
		seen->length = true;
	}
	if (is(name, "transfer-encoding")) {
		if (seen->length || seen->chunked || !is(value, "chunked"))
			return refuse(f, 400, "the body's length is malformed or told twice");
		seen->chunked = true;
		ret->body_len = UINT64_MAX;
	}
	return 0;
}

/* Those of the connection to us (RFC 9110, 7.6.1), and what is written anew. */
static bool is_dropped(const struct text *name)
{
	static const char *const dropped[] = {"host", "connection", "keep-alive",
		"proxy-connection", "proxy-authorization", "proxy-authenticate", "te", "upgrade",
		"trailer"};

	for (size_t i = 0; i < ARRAY_LEN(dropped); i++)
		if (is(name, dropped[i]))
			return true;
	return false;
}

static int parse_header(
	struct text line, struct seen *seen, struct proxy_request *ret, struct fail *f)
{
	struct text name, value = line;
	int r;

	if (!cut(&value, ':', &name) || !is_token(&name))
		return refuse(f, 400, "a header line is malformed");
	while (value.len && strchr(" \t", *value.at)) {
		value.at++;
		value.len--;
	}
	while (value.len && strchr(" \t", value.at[value.len - 1]))
		value.len--;
	for (size_t i = 0; i < value.len; i++)
		if ((unsigned char)value.at[i] < ' ' && value.at[i] != '\t')
			return refuse(f, 400, "a header holds a control character");
	r = parse_length(&name, &value, seen, ret, f);
	if (r || ret->tunnel || is_dropped(&name))
		return r;
	buf_add(&ret->head, name.at, name.len);
	buf_add_str(&ret->head, ": ");
	buf_add(&ret->head, value.at, value.len);
	buf_add_str(&ret->head, "\r\n");
	return 0;
}

int proxy_request_parse(const char *text, size_t len, struct proxy_request *ret, struct fail *f)
{
	struct text rest = {text, len}, line;
	struct seen seen = {0};
	int r;

	*ret = (struct proxy_request){0};
	if (memchr(text, '\0', len))
		return refuse(f, 400, "the request holds a NUL byte");
	if (!next_line(&rest, &line))
		return refuse(f, 400, "the request is empty");
	r = parse_first(line, ret, f);
	while (!r && next_line(&rest, &line))
		r = parse_header(line, &seen, ret, f);
	if (!r && !ret->tunnel)
		buf_add_str(&ret->head, "Connection: close\r\n\r\n");
	if (!r && ret->head.error)
		r = refuse(f, 500, "out of memory");
	if (!r && ret->tunnel)
		ret->body_len = UINT64_MAX;
	if (r)
		proxy_request_clear(ret);
	return r;
}

int proxy_request_is_web(const void *data, size_t len)
{
	const unsigned char *byte = data;
	size_t letters = 0;

	if (!len)
		return -EAGAIN;
	if (byte[0] == 0x16) {
		if ((len > 1 && byte[1] != 3) || (len > 2 && byte[2] > 4))
			return -EPROTO;
		return len > 2 ? 0 : -EAGAIN;
	}
	while (letters < len && byte[letters] >= 'A' && byte[letters] <= 'Z')
		letters++;
	if (letters > METHOD_MAX || (letters < len && (!letters || byte[letters] != ' ')))
		return -EPROTO;
	return letters < len ? 0 : -EAGAIN;
}

void proxy_request_clear(struct proxy_request *request)
{
	buf_clear(&request->head);
}
