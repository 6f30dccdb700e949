// Points at which a test makes the process die as by a power cut.
#include "common/fault.h"

#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

void fault_point(const char *name)
{
	const char *chosen = getenv("SANDPIT_FAULT");

	if (chosen && !strcmp(chosen, name))
		kill(getpid(), SIGKILL);
}
