#include "fs/spin.h"

#include <sched.h>

#include "common/clock.h"

/* What a request takes to come when all goes well: the caller's wakeup and a little work of its own. */
#define SPIN_USEC 40
/* More than giving way takes if nobody else, such as the caller, has the same processor. */
#define SHARED_USEC 6

/* How much longer it rests than it looked in vain, or waited for others; twice as long each time that they
 * needed the processor again. */
#define REST_VAIN 4
#define REST_SHARED 8
#define SHARED_MAX 7
#define REST_MAX_USEC USEC_PER_SEC
#define FOUND_ENOUGH 64 /* to take it for alone again */

static void rest(struct spin *spin, uint64_t until_usec)
{
	spin->rests_until_usec = until_usec;
	spin->began_usec = 0;
}

static void note_shared(struct spin *spin, uint64_t now, uint64_t lost_usec)
{
	uint64_t usec = lost_usec * REST_SHARED << spin->shared;

	rest(spin, now + (usec < REST_MAX_USEC ? usec : REST_MAX_USEC));
	if (spin->shared < SHARED_MAX)
		spin->shared++;
	spin->found = 0;
}

bool spin_pause(struct spin *spin)
{
	uint64_t now = clock_monotonic_usec(), after;

	if (now < spin->rests_until_usec)
		return false;
	if (!spin->began_usec)
		spin->began_usec = now;
	if (now - spin->began_usec > SPIN_USEC) {
		rest(spin, now + REST_VAIN * SPIN_USEC);
		return false;
	}
	sched_yield();
	after = clock_monotonic_usec();
	if (after - now > SHARED_USEC)
		note_shared(spin, after, after - now);
	return true;
}

void spin_found(struct spin *spin)
{
	if (!spin->began_usec)
		return;
	spin->began_usec = 0;
	if (++spin->found < FOUND_ENOUGH)
		return;
	spin->found = 0;
	spin->shared = 0;
}
