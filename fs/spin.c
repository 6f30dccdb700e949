#include "fs/spin.h"

#include <sched.h>
#include <time.h>

/* What a request takes to come when all goes well: the caller's wakeup and a little work of its own. */
#define SPIN_NSEC 40000
/* More than giving way takes if nobody else, such as the caller, has the same processor. */
#define SHARED_NSEC 6000

/* How much longer it rests than it looked in vain, or waited for others; twice as long each time that they
 * needed the processor again. */
#define REST_VAIN 4
#define REST_SHARED 8
#define SHARED_MAX 7
#define REST_MAX_NSEC 1000000000u
#define FOUND_ENOUGH 64 /* to take it for alone again */

static uint64_t now_nsec(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

static void rest(struct spin *spin, uint64_t until_nsec)
{
	spin->rests_until_nsec = until_nsec;
	spin->began_nsec = 0;
}

static void note_shared(struct spin *spin, uint64_t now, uint64_t lost_nsec)
{
	uint64_t nsec = lost_nsec * REST_SHARED << spin->shared;

	rest(spin, now + (nsec < REST_MAX_NSEC ? nsec : REST_MAX_NSEC));
	if (spin->shared < SHARED_MAX)
		spin->shared++;
	spin->found = 0;
}

bool spin_pause(struct spin *spin)
{
	uint64_t now = now_nsec(), after;

	if (now < spin->rests_until_nsec)
		return false;
	if (!spin->began_nsec)
		spin->began_nsec = now;
	if (now - spin->began_nsec > SPIN_NSEC) {
		rest(spin, now + REST_VAIN * SPIN_NSEC);
		return false;
	}
	sched_yield();
	after = now_nsec();
	if (after - now > SHARED_NSEC)
		note_shared(spin, after, after - now);
	return true;
}

void spin_found(struct spin *spin)
{
	if (!spin->began_nsec)
		return;
	spin->began_nsec = 0;
	if (++spin->found < FOUND_ENOUGH)
		return;
	spin->found = 0;
	spin->shared = 0;
}
