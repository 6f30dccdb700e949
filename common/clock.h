// Time: monotonic for durations, wall clock for people.
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <time.h>

#define USEC_PER_SEC 1000000ULL
#define USEC_PER_MSEC 1000ULL

static inline uint64_t clock_usec(clockid_t id)
{
	struct timespec ts;

	clock_gettime(id, &ts);
	return (uint64_t)ts.tv_sec * USEC_PER_SEC + (uint64_t)ts.tv_nsec / 1000;
}

/* Microseconds since an arbitrary start; never goes back. */
static inline uint64_t clock_monotonic_usec(void)
{
	return clock_usec(CLOCK_MONOTONIC);
}

/* Microseconds since 1970. */
static inline uint64_t clock_wall_usec(void)
{
	return clock_usec(CLOCK_REALTIME);
}

#define CLOCK_ISO_LEN 32

/* RFC 3339 in UTC with milliseconds, 2026-01-31T12:00:00.000Z, into ret[CLOCK_ISO_LEN]. */
void clock_iso(uint64_t wall_usec, char *ret);
