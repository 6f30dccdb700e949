// net=proxy: an HTTP proxy in the daemon that listens inside the sandbox, and lets through to the
// hosts of net_allow only. Runs in a relay's thread.
#pragma once

#include <stdint.h>

#include "common/fail.h"
#include "common/loop.h"

#define PROXY_PORT 3128 /* of the sandbox's loopback */

struct proxy;
struct sandbox;

struct proxy_config {
	struct loop *loop; /* borrowed; for the log */
	struct sandbox *sandbox; /* borrowed */
	const char *allow; /* borrowed; net_allow; NULL: no host */
	void (*log)(void *arg, const char *format, ...) __attribute__((format(printf, 2, 3)));
	void *arg;
};

/* Listens in the sandbox; after sandbox_join(), before anything runs in the sandbox. 0 or -errno
 * with words. */
int proxy_new(const struct proxy_config *config, struct proxy **ret, struct fail *f);
void proxy_free(struct proxy *proxy);

/* What programs in the sandbox need to know, as K=V, NULL-terminated. Borrowed from the proxy. */
char *const *proxy_environment(const struct proxy *proxy);
