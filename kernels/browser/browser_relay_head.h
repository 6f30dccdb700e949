// The head of an HTTP request to the relay: checked, and rewritten for the inside. Parses what
// anybody on the host may send.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/buf.h"

#define BROWSER_TOKEN_LEN 32

struct browser_relay_head {
	unsigned port; /* ours */
	const char *const *tokens; /* of BROWSER_TOKEN_LEN hexadecimal digits each; borrowed */
	size_t tokens_len;
	size_t door; /* out: which token it was */
	bool upgrade; /* out: the connection is not HTTP any more afterwards */
};

/* The length of the head up to and with its empty line, 0 when that has not come yet. */
size_t browser_relay_head_len(const void *data, size_t len);

/* Rewrites a whole head: the token is taken off the path and told in X-Sandpit-Base, the connection
 * is for one request only. 0; -EACCES: token, Host or Origin is wrong; -EINVAL: no request of ours;
 * -ENOMEM. */
int browser_relay_head_rewrite(
	struct browser_relay_head *head, const char *text, size_t len, struct buf *ret);
