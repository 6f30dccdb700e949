// Short turns: on a busy machine a request waits for as many turns of others as it has steps.
#include "common/turn.h"

#include <sched.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

/* What a leader does at a time takes less. */
#define TURN_NSEC 300000
#define RESET_ON_FORK 1 /* SCHED_FLAG_RESET_ON_FORK of linux/sched.h */

/* struct sched_attr of sched_setattr(2), as far as it is used. */
struct attributes {
	uint32_t size;
	uint32_t policy;
	uint64_t flags;
	int32_t nice;
	uint32_t priority;
	uint64_t runtime_nsec; /* of an ordinary thread: how long its turns are */
	uint64_t deadline_nsec, period_nsec;
};

void turn_ask_for_short(void)
{
	struct attributes a = {.size = sizeof(a)};

	if (syscall(SYS_sched_getattr, 0, &a, sizeof(a), 0) < 0 || a.policy != SCHED_OTHER)
		return;
	a.runtime_nsec = TURN_NSEC;
	a.flags |= RESET_ON_FORK;
	syscall(SYS_sched_setattr, 0, &a, 0);
}
