// A thread that passes bytes between sockets: who is slow or hostile at one end holds up nobody but
// the other end, and never the loop's leader.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "common/buf.h"
#include "common/list.h"
#include "common/loop.h"

struct relay;
struct relay_pair;

struct relay_config {
	struct loop *loop; /* borrowed; the leader's, for reports */
	/* In the thread, before it does anything else; -errno ends it. NULL: nothing. */
	int (*enter)(void *arg);
	/* By the leader: a line for people that the thread wrote with relay_report(). */
	void (*reported)(void *arg, const char *text);
	void *arg;
};

/* Starts the thread; not before the process is done with forking. 0 or -errno: what enter said,
 * too. */
int relay_new(const struct relay_config *config, struct relay **ret);

/* Ends the thread: what is its own can be touched by the leader then. NULL is allowed, and a second
 * time. */
void relay_stop(struct relay *relay);
/* The same, and ends all connections. */
void relay_free(struct relay *relay);

/* Something to do in the thread; part of what it is about. */
struct relay_note {
	struct list link; /* in the relay's queue while it waits there */
	void (*act)(struct relay *relay, struct relay_note *note);
};

/* Has note->act called in the thread, in the order of the calls; or by relay_free(), which leaves
 * none out. The note stays in place until then. From any thread. */
void relay_post(struct relay *relay, struct relay_note *note);

/* From any thread. */
unsigned relay_connections(const struct relay *relay);

/* All below: in the thread only, from a note, or from handlers on its loop. */

/* The thread's own loop. */
struct loop *relay_loop(const struct relay *relay);

/* One line for the leader, of which at most 200 bytes are kept; dropped when it does not keep up. */
void relay_report(struct relay *relay, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* Whether one more connection may be had; room is made by ending one that has only one direction
 * left and does not move. */
bool relay_has_room(struct relay *relay);

/* Accepts one connection of a listener that was ready: a descriptor, -EAGAIN when there is none or
 * it was turned away, or -EMFILE and the like: then the listener had better rest. */
int relay_accept(struct relay *relay, int listener_fd);

/* Passes bytes both ways between two connected stream sockets (b may still be connecting), with
 * half-closes and resets, until both directions have ended. first, if not NULL, goes to b before
 * all else and is emptied. Of what comes from a, limit bytes are passed and no more; UINT64_MAX:
 * all. Takes both descriptors, also when it fails. owner is for relay_end_of(). 0 or -errno. */
int relay_join(struct relay *relay, int a_fd, int b_fd, struct buf *first, uint64_t limit,
	const void *owner);

/* Ends all connections of an owner. */
void relay_end_of(struct relay *relay, const void *owner);
