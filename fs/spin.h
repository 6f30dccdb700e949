// A thread that looks for its next request for some microseconds before it sleeps: of requests that follow one
// another most come within that time, and neither side has to wake the other.
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* Of one thread at a time. Zeroed: ready. */
struct spin {
	uint64_t began_usec; /* 0: not now */
	uint64_t rests_until_usec;
	unsigned found; /* in a row, without somebody else's turn */
	unsigned shared; /* how often somebody else had a turn meanwhile; as far as it counts */
};

/* Nothing is there: gives way to others. False: time to sleep. Where it did not pay it always is, for several
 * times as long as that took. */
bool spin_pause(struct spin *spin);

/* Something was there. */
void spin_found(struct spin *spin);
