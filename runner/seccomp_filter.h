// The system call filter of everything that runs in the sandbox.
#pragma once

#include <stdint.h>

#include "common/fail.h"

/* Installed in this order; the first two by everything in the sandbox, the last two each by
 * some. */
enum seccomp_filter_part {
	SECCOMP_NAMES, /* an allow-list of names */
	SECCOMP_ARGS, /* looks at arguments */
	SECCOMP_COMMANDS, /* of commands: no namespaces, and none of the ids that are kept apart */
	SECCOMP_NESTING, /* of what builds a sandbox of its own inside: only the namespaces for it */
	SECCOMP_FILTERS
};

/* Appends the programs (struct sock_filter, see seccomp(2)) to the file at fd, in that order.
 * ret_len takes their lengths in bytes. SECCOMP_COMMANDS lets unshare(2) make a cgroup namespace,
 * and nothing else, for who gives key as the call's second and third argument, which the kernel
 * does not look at. 0 or -errno with words. */
int seccomp_filter_write(
	int fd, const uint64_t key[2], uint32_t ret_len[SECCOMP_FILTERS], struct fail *f);
