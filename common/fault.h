// Points at which a test makes the process die as by a power cut, named by SANDPIT_FAULT in its
// environment. They show that what was begun is whole or gone after the next start.
#pragma once

/* Kills the process at once when SANDPIT_FAULT is this name; else does nothing. */
void fault_point(const char *name);
