// Protections, and what is done about rare races, that a test build can leave off, to show that their
// tests notice it: one that passes whatever the program does proves nothing. Only `make VARIANT=unsafe`
// has this; in every other build all of it is constant and gone.
#pragma once

#include <stdbool.h>
#include <stddef.h>

#ifdef SANDPIT_UNSAFE_BUILD
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Whether SANDPIT_UNSAFE in the environment, names separated by commas, holds this name. */
static inline bool unsafe_is(const char *name)
{
	const char *at = getenv("SANDPIT_UNSAFE");
	size_t len = strlen(name);

	for (; at && *at; at += strcspn(at, ","), at += *at == ',')
		if (strcspn(at, ",") == len && !memcmp(at, name, len))
			return true;
	return false;
}

/* What init, which has no environment, must be given to know of it. */
static inline char *unsafe_entry(void)
{
	static char entry[256];
	const char *names = getenv("SANDPIT_UNSAFE");

	snprintf(entry, sizeof(entry), "SANDPIT_UNSAFE=%s", names ? names : "");
	return entry;
}
#else
#define unsafe_is(name) false
#define unsafe_entry() ((char *)NULL)
#endif
