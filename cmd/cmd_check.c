// sandpit check: what this machine can and cannot do, one line each.
#include <errno.h>
#include <getopt.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include "cmd/check.h"
#include "cmd/cmd.h"
#include "cmd/cmd_settings.h"
#include "common/scope.h"
#include "runner/sandbox.h"

static const struct {
	const char *name;
	check_function *check;
	bool is_needed; /* without it nothing can be mounted */
} checks[] = {
	{"limits", check_limits, true},
	{"fuse", check_fuse, true},
	{"fusermount3", check_fusermount, true},
	{"user namespaces", check_user_namespaces, true},
	{"uid ranges", check_uid_ranges, false},
	{"mounting", check_mounting, true},
	{"proc", check_proc, true},
	{"state", check_state, true},
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

static void tell(const char *name, enum check_result result, const char *why)
{
	static const char *const words[] = {"ok", "missing", "-", "wrong"};

	printf("%-16s  %-7s  %s\n", name, words[result], why);
	fflush(stdout);
}

/* What a mount with these settings would refuse. */
static bool check_settings(const struct config *c)
{
	struct fail f = {0};
	int r;

	if (c->allow_other && check_allow_other(&f) < 0) {
		tell("allow_other", CHECK_WRONG, f.text);
		return false;
	}
	if (!c->rootfs)
		return true;
	r = sandbox_check_rootfs(c->rootfs, &f);
	tell("rootfs", r < 0 ? CHECK_WRONG : CHECK_OK, r < 0 ? f.text : c->rootfs);
	return r == 0;
}

static bool check_all(const struct cmd_settings *settings)
{
	auto_call(config_clear) struct config c = {0};
	auto_free char *file = NULL;
	struct fail f = {0};
	int r = cmd_settings_read(settings, &c, &file, &f);
	bool can_mount = true;

	if (r == 0)
		check_set_places(c.state, c.store, c.rootfs != NULL);

	for (size_t i = 0; i < ARRAY_LEN(checks); i++) {
		auto_buf struct buf why = {0};
		enum check_result result = checks[i].check(&why);

		tell(checks[i].name, result, buf_text(&why));
		can_mount &= !(checks[i].is_needed && result == CHECK_MISSING);
	}
	check_set_places(NULL, NULL, false);
	if (r < 0)
		tell("settings", CHECK_WRONG, *f.text ? f.text : strerror(-r));
	else
		tell("settings", CHECK_OK, file ? file : "no file of settings");
	return r == 0 && check_settings(&c) && can_mount;
}

static int run(const struct cmd *cmd, int argc, char **argv)
{
	static const struct option longs[] = {{"help", no_argument, NULL, 'h'}, {0}};
	auto_free const char **options = calloc((size_t)argc, sizeof(*options));
	struct cmd_settings settings = {.options = options};
	bool can_mount;
	int option;

	if (!options)
		return cmd_failed(cmd->name, -ENOMEM, NULL);
	opterr = 0;
	while ((option = getopt_long(argc, argv, ":c:o:", longs, NULL)) != -1) {
		if (option == 'c')
			settings.file = optarg;
		else if (option == 'o')
			options[settings.options_len++] = optarg;
		else
			return cmd_bad_option(cmd, option, argv);
	}
	if (optind < argc)
		return cmd_usage(cmd, "unknown argument '%s'", argv[optind]);
	can_mount = check_all(&settings);
	printf("\n%s\n",
		can_mount ? "Sandboxes can be mounted."
			  : "Sandboxes cannot be mounted: see above what is missing or wrong.");
	return cmd_printed(cmd->name) == CMD_OK && can_mount ? CMD_OK : CMD_FAILED;
}

const struct cmd cmd_check = {
	.name = "check",
	.usage = "[-c FILE] [-o KEY=VALUE,...]",
	.summary = "says what this machine can and cannot do",
	.help = "Says what this machine can and cannot do for sandboxes, one line each, with the\n"
		"package or the setting that helps. Exit status 0 when sandboxes can be mounted.\n"
		"\n"
		"  -c FILE               the settings of the mount that is meant, as for mount\n"
		"  -o KEY=VALUE,...      likewise\n",
	.run = run,
};
