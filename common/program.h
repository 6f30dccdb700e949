// Programs of the system that this one starts.
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "common/fail.h"

/* Where a program is: in the system's directories, which a PATH that is unset, or someone's own, does
 * not hide; else in PATH (NixOS and the like). Returns path, or NULL. */
const char *program_find(const char *name, char *path, size_t size);

/* Whether it is in a directory of the system: those of the PATH inside a sandbox. */
bool program_in_system(const char *name, char *path, size_t size);

/* Whether this process has a capability (linux/capability.h). */
bool program_may(int capability);

/* Whether the set-user-ID program at path would get the capability from the kernel: 0, or -EPERM with
 * words that say what takes it away and what helps. */
int program_gains(const char *path, int capability, struct fail *f);
