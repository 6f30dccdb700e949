// The system call filter of everything that runs in the sandbox.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "common/fail.h"

/* Appends two seccomp programs (struct sock_filter, see seccomp(2)) to the file at fd:
 * names, an allow-list, for init and all below it; and args, which looks at arguments, for every
 * command besides. With single_id commands share init's user id and are kept from its priority and
 * limits by the filter. Sets their lengths in bytes. 0 or -errno with words. */
int seccomp_filter_write(
	int fd, bool single_id, uint32_t *ret_names_len, uint32_t *ret_args_len, struct fail *f);
