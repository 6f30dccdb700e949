// The head of a request to the proxy: taken apart, checked, and written anew for the server. Parses
// what hostile code sends.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/buf.h"
#include "common/fail.h"

struct proxy_request {
	bool tunnel; /* CONNECT: bytes pass as they are, afterwards */
	char host
		[256]; /* in lower case, without a dot at its end; an IPv6 address without brackets */
	uint16_t port;
	struct buf head; /* owned; for the server; empty for a tunnel */
	uint64_t body_len; /* bytes of the body that follows; UINT64_MAX: its end is in itself */
};

/* The length of the head up to and with its empty line, 0 when that has not come yet. */
size_t proxy_request_head_len(const void *data, size_t len);

/* 0, or the HTTP status of the refusal with words: 400 for what is malformed or ambiguous, 405 and
 * 501 for methods and schemes that are not carried, 500 when memory ran out. Sources: RFC 9110, RFC
 * 9112. */
int proxy_request_parse(const char *text, size_t len, struct proxy_request *ret, struct fail *f);
/* Whether what goes through a tunnel begins as HTTPS (a handshake of TLS, RFC 8446 5.1) or HTTP (a
 * method) does: 0; -EAGAIN: more is needed; -EPROTO: neither. */
int proxy_request_is_web(const void *data, size_t len);

void proxy_request_clear(struct proxy_request *request);
