// Checks of what the caller has set for all that it starts: resource limits.
#include <stdio.h>
#include <sys/resource.h>

#include "common/scope.h"
#include "cmd/check.h"

#define KIB 1024ULL
#define MIB (1024 * KIB)

/* Below these the daemon, or what every sandbox starts with, fails somewhere in the middle. */
static const struct {
	const char *what;
	int resource;
	bool of_hard; /* the daemon raises it as far as it may */
	unsigned long long least;
	unsigned long long unit; /* of ulimit */
	char option; /* of ulimit */
} limits[] = {
	{"open files", RLIMIT_NOFILE, true, 256, 1, 'n'},
	{"the size of files", RLIMIT_FSIZE, false, 16 * MIB, KIB, 'f'},
	{"the address space", RLIMIT_AS, false, 96 * MIB, KIB, 'v'},
	{"the memory for data", RLIMIT_DATA, false, 64 * MIB, KIB, 'd'},
	{"the stack", RLIMIT_STACK, false, 256 * KIB, KIB, 's'},
};

enum check_result check_limits(struct buf *why)
{
	for (size_t i = 0; i < ARRAY_LEN(limits); i++) {
		struct rlimit is;

		if (getrlimit((__rlimit_resource_t)limits[i].resource, &is) < 0)
			continue;
		if ((limits[i].of_hard ? is.rlim_max : is.rlim_cur) >= limits[i].least)
			continue;
		buf_printf(why,
			"%s: the limit is %llu, a sandbox needs %llu: ulimit -%c (in "
			"/etc/security/limits.conf, systemd's Limit... or docker's --ulimit)",
			limits[i].what,
			(unsigned long long)(limits[i].of_hard ? is.rlim_max : is.rlim_cur) /
				limits[i].unit,
			limits[i].least / limits[i].unit, limits[i].option);
		return CHECK_MISSING;
	}
	buf_add_str(why, "none that is too low");
	return CHECK_OK;
}
