// Shared libraries that are loaded when they are first needed: what most of the program's starts
// never use shall not slow them down or sit in memory.
#pragma once

#include <stddef.h>

#include "common/fail.h"

/* Loads a library by its soname for the rest of the process and looks its functions up:
 * functions[i] becomes that of names[i]. -ELIBACC with words (which package has it) when it cannot
 * be loaded or lacks one. */
int library_load(const char *soname, const char *package, const char *const *names,
	void **functions, size_t len, struct fail *f);
