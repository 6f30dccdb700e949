// Time.
#include "common/clock.h"

#include <stdio.h>

void clock_iso(uint64_t wall_usec, char *ret)
{
	time_t seconds = (time_t)(wall_usec / USEC_PER_SEC);
	unsigned msec = (unsigned)(wall_usec % USEC_PER_SEC / USEC_PER_MSEC);
	struct tm tm;
	size_t at;

	gmtime_r(&seconds, &tm);
	at = strftime(ret, CLOCK_ISO_LEN, "%Y-%m-%dT%H:%M:%S", &tm);
	snprintf(ret + at, CLOCK_ISO_LEN - at, ".%03uZ", msec);
}
