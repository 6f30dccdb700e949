// sandpit mount: settings, checks, and handing over to the daemon.
#include <errno.h>
#include <getopt.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmd/check.h"
#include "cmd/cmd.h"
#include "cmd/cmd_settings.h"
#include "cmd/detach.h"
#include "cmd/mount_point.h"
#include "cmd/registry.h"
#include "common/clock.h"
#include "common/config.h"
#include "common/config_value.h"
#include "common/scope.h"
#include "fs/daemon.h"
#include "fs/state_dir.h"
#include "runner/checkpoint/store_dir.h"

struct mount_request {
	const struct config *config; /* borrowed */
	const char *dir; /* borrowed; as the user wrote it */
	bool foreground;
};

/* "/home/me/box" is "home-me-box". What a name cannot hold is written so that different paths keep
 * different names: control characters as \xNN, the end of a long path as a number. */
static int default_name(const char *mount_point, char **ret)
{
	auto_buf struct buf name = {0};
	uint64_t hash = registry_hash(mount_point);

	if (mount_point[1] == '.' || mount_point[1] == '-')
		buf_add_char(&name, '_');
	for (const char *p = mount_point + 1; *p; p++) {
		if ((unsigned char)*p < 0x20 || *p == 0x7f)
			buf_printf(&name, "\\x%02x", *p);
		else
			buf_add_char(&name, (char)(*p == '/' ? '-' : *p));
	}
	if (name.len > CONFIG_NAME_MAX && !name.error) {
		name.len = CONFIG_NAME_MAX - 17;
		buf_printf(&name, "-%016llx", (unsigned long long)hash);
	}
	*ret = buf_take(&name);
	return *ret ? 0 : -ENOMEM;
}

static int choose_name(const struct config *config, const char *mount_point, char **ret)
{
	if (!config->name)
		return default_name(mount_point, ret);
	*ret = strdup(config->name);
	return *ret ? 0 : -ENOMEM;
}

static int choose_state(const struct config *config, const char *name, char **ret, struct fail *f)
{
	if (!config->state)
		return state_dir_default(name, ret, f);
	*ret = strdup(config->state);
	return *ret ? 0 : -ENOMEM;
}

static int choose_store(const struct config *config, char **ret, struct fail *f)
{
	int r;

	if (config->store) {
		*ret = strdup(config->store);
		return *ret ? 0 : -ENOMEM;
	}
	r = store_dir_default(ret);
	if (r == -ENOENT)
		return fail_set(f, r,
			"no place for the checkpoints: HOME is not set and the user database names "
			"no home; set XDG_DATA_HOME");
	return r;
}

/* One inside the other: the mount would hide its own state, or the sandbox contain its mount. */
static int check_apart(const char *mount_point, const char *state_path, struct fail *f)
{
	if (mount_point_is_below(state_path, mount_point))
		return fail_set(f, -EINVAL,
			"state directory %s: lies below the mount point %s and would be hidden by "
			"it",
			state_path, mount_point);
	if (mount_point_is_below(mount_point, state_path))
		return fail_set(f, -EINVAL, "%s: lies inside the state directory %s", mount_point,
			state_path);
	return 0;
}

static void ready(void *arg)
{
	if (arg)
		detach_ready(arg);
}

/* What is tried only when something has failed. */
static void explain(struct fail *f)
{
	auto_buf struct buf why = {0};
	struct fail first = *f;

	if (check_mounting(&why) == CHECK_MISSING)
		fail_set(f, 0, "%s; %s", first.text, buf_text(&why));
}

static int run_daemon(const struct mount_request *request, struct detach *detach,
	const struct state_dir *state, const char *name, const char *mount_point, struct fail *f)
{
	auto_free char *store_path = NULL;
	/* The daemon enters a user namespace in which its user has another number, and home. */
	int r = choose_store(request->config, &store_path, f);
	const struct registry_entry entry = {.name = (char *)name,
		.mount_point = (char *)mount_point,
		.state_path = state->path,
		.since_usec = clock_wall_usec()};
	struct daemon_options options = {.config = request->config,
		.name = name,
		.mount_point = mount_point,
		.state_path = state->path,
		.store_path = store_path,
		.state_fd = state->fd,
		.foreground = request->foreground,
		.ready = ready,
		.ready_arg = detach};
	struct registry_claim claim;

	if (r == 0)
		r = registry_add(&entry, &claim, f);
	if (r < 0)
		return r;
	options.registry_path = claim.path;
	/* Where the user happened to be must stay free to be unmounted. */
	if (detach && chdir("/") < 0)
		r = fail_errno(f, -errno, "/");
	if (r == 0)
		r = daemon_run(&options, f);
	if (r == -EPERM || r == -ENOSYS)
		explain(f);
	registry_remove(&claim);
	return r;
}

/* What no sandbox can do without, and whose absence is hard to tell from later errors. */
static int check_machine(struct fail *f)
{
	static check_function *const checks[] = {
		check_limits, check_fuse, check_user_namespaces, check_fusermount};

	for (size_t i = 0; i < ARRAY_LEN(checks); i++) {
		auto_buf struct buf why = {0};

		if (checks[i](&why) == CHECK_MISSING)
			return fail_set(f, -EOPNOTSUPP, "%s", buf_text(&why));
	}
	return 0;
}

static int serve(struct detach *detach, void *arg, struct fail *f)
{
	const struct mount_request *request = arg;
	auto_state_dir struct state_dir state = {.fd = -1, .lock_fd = -1};
	auto_free char *mount_point = NULL, *name = NULL, *state_path = NULL;
	int r = mount_point_prepare(request->dir, request->config->nonempty, &mount_point, f);

	if (r == 0)
		r = check_machine(f);
	if (r == 0)
		r = choose_name(request->config, mount_point, &name);
	if (r == 0)
		r = choose_state(request->config, name, &state_path, f);
	if (r == 0)
		r = check_apart(mount_point, state_path, f);
	if (r == 0)
		r = state_dir_open(state_path, mount_point, &state, f);
	if (r == 0)
		r = check_apart(mount_point, state.path, f);
	if (r < 0)
		return r;
	return run_daemon(request, detach, &state, name, mount_point, f);
}

/* A daemon that was killed could not take its mount away. */
static void clean_after(const char *dir)
{
	auto_mount_point struct mount_point point = {.fd = -1};

	if (mount_point_open(dir, &point, NULL) < 0)
		return;
	mount_point_clean(dir, NULL);
	registry_prune(point.path);
}

int cmd_mount_config(const struct config *c, const char *dir, bool foreground)
{
	struct mount_request request = {.config = c, .dir = dir, .foreground = foreground};
	struct fail f = {0};
	int r;

	signal(SIGPIPE, SIG_IGN);
	if (foreground) {
		r = serve(NULL, &request, &f);
	} else {
		r = detach_run(serve, &request, &f);
		if (r < 0)
			clean_after(dir);
	}
	return r < 0 ? cmd_failed("mount", r, &f) : CMD_OK;
}

static int mount_with(const struct cmd_settings *settings, const char *dir, bool foreground)
{
	auto_call(config_clear) struct config c = {0};
	auto_free char *file = NULL;
	struct fail f = {0};
	int r = cmd_settings_read(settings, &c, &file, &f);

	if (r < 0)
		return cmd_failed("mount", r, &f);
	return cmd_mount_config(&c, dir, foreground);
}

static int run(const struct cmd *cmd, int argc, char **argv)
{
	static const struct option longs[] = {{"help", no_argument, NULL, 'h'}, {0}};
	auto_free const char **options = calloc((size_t)argc, sizeof(*options));
	struct cmd_settings settings = {.options = options};
	bool foreground = false;
	int option;

	if (!options)
		return cmd_failed(cmd->name, -ENOMEM, NULL);
	opterr = 0;
	while ((option = getopt_long(argc, argv, ":fc:o:", longs, NULL)) != -1) {
		if (option == 'f')
			foreground = true;
		else if (option == 'c')
			settings.file = optarg;
		else if (option == 'o')
			options[settings.options_len++] = optarg;
		else
			return cmd_bad_option(cmd, option, argv);
	}
	if (optind == argc)
		return cmd_usage(cmd, "where? DIR is missing");
	if (optind + 1 < argc)
		return cmd_usage(cmd, "one DIR only, not also '%s'", argv[optind + 1]);
	return mount_with(&settings, argv[optind], foreground);
}

static int more_help(struct buf *to)
{
	return config_help(to);
}

const struct cmd cmd_mount = {
	.name = "mount",
	.usage = "[-f] [-c FILE] [-o KEY=VALUE,...] DIR",
	.summary = "mounts a sandbox at DIR",
	.help = "Mounts a sandbox at the empty directory DIR and returns when it can be used.\n"
		"\n"
		"  -f                    stay in the foreground, log to standard error\n"
		"  -c FILE               read settings from FILE (default:\n"
		"                        $XDG_CONFIG_HOME/sandpit/sandpit.ini, else\n"
		"                        /etc/sandpit.ini)\n"
		"  -o KEY=VALUE,...      settings that go before those of the file; \\, is a\n"
		"                        comma within a value\n"
		"\n"
		"Settings (SIZE as 64M or 1.5G):\n",
	.more_help = more_help,
	.run = run,
};
