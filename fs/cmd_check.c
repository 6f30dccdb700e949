// sandpit check: what this machine can and cannot do, one line each.
#include <getopt.h>
#include <stdbool.h>
#include <stdio.h>

#include "common/scope.h"
#include "fs/check.h"
#include "fs/cmd.h"

static const struct {
	const char *name;
	check_function *check;
	bool is_needed; /* without it nothing can be mounted */
} checks[] = {
	{"fuse", check_fuse, true},
	{"fusermount3", check_fusermount, true},
	{"user namespaces", check_user_namespaces, true},
	{"uid ranges", check_uid_ranges, false},
	{"proc", check_proc, true},
	{"overlay", check_overlay, true},
	{"idmapped mounts", check_idmap, false},
	{"seccomp", check_seccomp, true},
	{"cgroups", check_cgroups, false},
	{"passthrough", check_passthrough, false},
	{"network", check_network, false},
	{"python", check_python, false},
	{"node", check_node, false},
	{"r", check_r, false},
	{"bash", check_bash, false},
	{"browser", check_browser, false},
	{"checkpoints", check_checkpoints, false},
};

static int run(const struct cmd *cmd, int argc, char **argv)
{
	static const struct option longs[] = {{"help", no_argument, NULL, 'h'}, {0}};
	static const char *const words[] = {"ok", "missing", "-"};
	bool can_mount = true;
	int option;

	opterr = 0;
	while ((option = getopt_long(argc, argv, ":", longs, NULL)) != -1)
		return cmd_bad_option(cmd, option, argv);
	if (optind < argc)
		return cmd_usage(cmd, "unknown argument '%s'", argv[optind]);
	for (size_t i = 0; i < ARRAY_LEN(checks); i++) {
		auto_buf struct buf why = {0};
		enum check_result result = checks[i].check(&why);

		printf("%-16s  %-7s  %s\n", checks[i].name, words[result], buf_text(&why));
		fflush(stdout);
		can_mount &= !(checks[i].is_needed && result == CHECK_MISSING);
	}
	printf("\n%s\n", can_mount ? "Sandboxes can be mounted."
				   : "Sandboxes cannot be mounted: see above what is missing.");
	return can_mount && fflush(stdout) == 0 ? CMD_OK : CMD_FAILED;
}

const struct cmd cmd_check = {
	.name = "check",
	.usage = "",
	.summary = "says what this machine can and cannot do",
	.help = "Says what this machine can and cannot do for sandboxes, one line each, with the\n"
		"package or the setting that helps. Exit status 0 when sandboxes can be mounted.\n",
	.run = run,
};
