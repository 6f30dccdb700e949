// Checks of what the caller has set for all that it starts: resource limits.
#include <stdio.h>
#include <sys/resource.h>

#include "cmd/check.h"
#include "common/scope.h"

#define KIB 1024ULL
#define MIB (1024 * KIB)

static const struct {
	const char *what;
	int resource;
	bool of_hard; /* the daemon raises it as far as it may */
	/* Below it the daemon, or what every sandbox starts with, fails somewhere in the middle... */
	unsigned long long least;
	/* ...and below this checkpoints do, which need most. */
	unsigned long long ample;
	unsigned long long unit; /* of ulimit */
	char option; /* of ulimit */
} limits[] = {
	{"open files", RLIMIT_NOFILE, true, 64, 128, 1, 'n'},
	{"the size of files", RLIMIT_FSIZE, false, 1000 * KIB, 1000 * KIB, KIB, 'f'},
	{"the address space", RLIMIT_AS, false, 40 * MIB, 96 * MIB, KIB, 'v'},
	{"the memory for data", RLIMIT_DATA, false, 32 * MIB, 48 * MIB, KIB, 'd'},
	{"the stack", RLIMIT_STACK, false, 64 * KIB, 64 * KIB, KIB, 's'},
};

enum check_result check_limits(struct buf *why)
{
	for (size_t i = 0; i < ARRAY_LEN(limits); i++) {
		unsigned long long unit = limits[i].unit, is;
		struct rlimit limit;

		if (getrlimit((__rlimit_resource_t)limits[i].resource, &limit) < 0)
			continue;
		is = limits[i].of_hard ? limit.rlim_max : limit.rlim_cur;
		if (is >= limits[i].ample)
			continue;
		buf_clear(why);
		buf_printf(why,
			"%s: the limit is %llu, %s %llu: ulimit -%c (in "
			"/etc/security/limits.conf, systemd's Limit... or docker's --ulimit)",
			limits[i].what, is / unit,
			is < limits[i].least ? "a sandbox needs" : "checkpoints may need",
			(is < limits[i].least ? limits[i].least : limits[i].ample) / unit,
			limits[i].option);
		if (is < limits[i].least)
			return CHECK_MISSING;
	}
	if (why->len == 0)
		buf_add_str(why, "none that is too low");
	return CHECK_OK;
}
