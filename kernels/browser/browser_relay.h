// The host's side of cdp_url and live_url: a listener on loopback that lets through who knows the
// token. Belongs to the loop's leader.
#pragma once

#include <stdint.h>

#include "common/fail.h"
#include "common/loop.h"

struct browser_relay;
struct sandbox;

enum browser_door { BROWSER_DOOR_CDP, BROWSER_DOOR_LIVE, BROWSER_DOORS };

/* Listens on a free port of 127.0.0.1, with a new token a door. What comes through a door goes to
 * the socket BROWSER_HOME/run/cdp or live in the sandbox's tree. 0 or -errno with words. */
int browser_relay_open(
	struct loop *loop, struct sandbox *sandbox, struct browser_relay **ret, struct fail *f);

/* Ends all connections. NULL is allowed. */
void browser_relay_close(struct browser_relay *relay);

/* http://127.0.0.1:PORT/TOKEN/ ; borrowed. */
const char *browser_relay_url(const struct browser_relay *relay, enum browser_door door);
