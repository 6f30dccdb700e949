// The system call filter of everything that runs in the sandbox.
#pragma once

#include <stdint.h>

#include "common/fail.h"

#define SECCOMP_FILTERS 2

/* Appends the programs (struct sock_filter, see seccomp(2)) to the file at fd, in the order in which
 * they are installed: an allow-list of names, and one that looks at arguments. ret_len takes their
 * lengths in bytes. 0 or -errno with words. */
int seccomp_filter_write(int fd, uint32_t ret_len[SECCOMP_FILTERS], struct fail *f);
