// Who waits for something to change: a list of callbacks, each called once.
#pragma once

#include "common/list.h"

struct waiter {
	struct list link; /* in the list waited on; list_init()ed when in none */
	void (*wake)(struct waiter *waiter);
};

/* Takes every present waiter out of the list and calls it. One that adds itself again waits for the
 * next call. */
static inline void waiters_wake(struct list *waiters)
{
	struct list now;

	list_init(&now);
	while (!list_empty(waiters)) {
		struct list *item = waiters->next;

		list_remove(item);
		list_add_tail(&now, item);
	}
	while (!list_empty(&now)) {
		struct list *item = now.next;

		list_remove(item);
		list_entry(item, struct waiter, link)->wake(list_entry(item, struct waiter, link));
	}
}
