// Servers in the sandbox, reachable from the host's loopback. Belongs to the loop's leader.
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "common/fail.h"
#include "common/json_out.h"
#include "common/loop.h"

struct ports;
struct sandbox;

struct ports_config {
	struct loop *loop; /* borrowed, both */
	struct sandbox *sandbox;
	bool shares_network; /* with the host: its own servers are not shown */
	int peer_fd; /* borrowed; of peer_open(): only `user` and root may connect; -1: all may */
	uid_t user;
	/* Whether it is a server of sandpit's own inside, which is not shown. */
	bool (*is_own)(void *arg, uint16_t port);
	void (*log)(void *arg, const char *format, ...) __attribute__((format(printf, 2, 3)));
	void *arg;
};

int ports_new(const struct ports_config *config, struct ports **ret, struct fail *f);
/* Closes all of them. NULL is allowed. */
void ports_free(struct ports *ports);

/* Nothing runs in the sandbox any more: closes all of them. */
void ports_sandbox_died(struct ports *ports);

/* Whether something in the sandbox listens on it, now or a moment ago. */
bool ports_exists(struct ports *ports, uint16_t port);
/* The same now. */
bool ports_listens(struct ports *ports, uint16_t port);

/* Those that something listens on now, in order, until each returns non-zero; returns that, or
 * -errno. */
int ports_each(struct ports *ports, int (*each)(void *arg, uint16_t port), void *arg);

/* http://127.0.0.1:N/, opened if it is not yet. Borrowed until the port is closed. 0, -ENOENT:
 * nothing listens; -errno with words. */
int ports_url(struct ports *ports, uint16_t port, const char **ret, struct fail *f);

/* How long the URL is or, when the port is not open, will be. */
size_t ports_url_len(const struct ports *ports, uint16_t port);

/* Opens it at this port of the host, 0: at any free one; instead of the one that it has. -EADDRINUSE,
 * -EACCES and so on with words; it stays as it was then. */
int ports_bind(struct ports *ports, uint16_t port, uint16_t host_port, struct fail *f);

/* Closes it, and its connections. Nothing when it is not open. */
void ports_close(struct ports *ports, uint16_t port);

/* Those that are open, as an array, for status.json. */
void ports_json(const struct ports *ports, struct json_out *j, const char *key);
