// What the proxy and its clients share. For runner/proxy*.c only.
#pragma once

#include "common/list.h"
#include "runner/net/proxy.h"
#include "runner/net/proxy_request.h"
#include "runner/net/proxy_rules.h"
#include "runner/net/relay.h"
#include "runner/net/resolve.h"

#define PROXY_CLIENTS_MAX 64 /* whose server is not there yet */

struct proxy {
	struct proxy_config config;
	struct proxy_rules *rules; /* owned; read by the thread only */
	struct relay *relay; /* owned */
	char *environment[16]; /* owned */

	/* the thread's, once opening is posted */
	struct relay_note opening;
	struct loop_source listener; /* its descriptor is owned */
	struct loop_timer rest;
	struct list clients; /* of struct proxy_client.link */
	unsigned clients_len;
	unsigned said; /* lines of the log in the present while */
	uint64_t said_usec; /* when it began */
};

/* proxy_client.c: in the thread */

/* Takes the connection. */
void proxy_client_new(struct proxy *proxy, int fd);
/* Ends all of them; also by relay_free()'s caller, when the thread is gone. */
void proxy_client_end_all(struct proxy *proxy);

/* One line for the log; of a flood only the beginning. */
void proxy_say(struct proxy *proxy, const char *format, ...) __attribute__((format(printf, 2, 3)));
