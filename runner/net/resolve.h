// Looks up the addresses of a host name, in a thread of its own because that may take seconds.
#pragma once

#include <netinet/in.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

#include "common/loop.h"

#define RESOLVE_MAX 8

union resolve_address {
	struct sockaddr any;
	struct sockaddr_in v4;
	struct sockaddr_in6 v6;
};

/* err: 0, -ENOENT (no such name), -EAGAIN (no answer) or another -errno. */
typedef void resolve_done(
	void *arg, int err, const union resolve_address *addresses, size_t addresses_len);

struct resolve;

/* Asks for the TCP addresses of name; done is called once by the loop's leader, when they are there
 * or the name servers have not answered for some seconds; *ret is gone then. 0 or -errno: then done
 * is not called. */
int resolve_start(struct loop *loop, const char *name, uint16_t port, resolve_done *done, void *arg,
	struct resolve **ret);

/* done will not be called. Does not wait for the thread. NULL is allowed. */
void resolve_cancel(struct resolve *resolve);
