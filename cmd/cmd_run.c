// sandpit run: one command in a mounted sandbox, as if it ran here.
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmd/cmd.h"
#include "cmd/run_client.h"
#include "common/config.h"
#include "common/config_value.h"
#include "common/json_out.h"
#include "common/scope.h"

struct arguments {
	const char *dir; /* all borrowed from argv */
	const char *cwd;
	const char *user;
	double timeout; /* seconds; below 0: none was given */
	const char **env; /* owned by the caller; K=V */
	size_t env_len;
	char **command;
};

/* JSON carries UTF-8 only; to replace other bytes in silence would run another command. */
static int check_utf8(const char *text, struct fail *f)
{
	if (json_out_is_utf8(text, strlen(text)))
		return 0;
	return fail_set(f, -EILSEQ,
		"'%.100s' is not UTF-8; put the command into a script below files/ and run that",
		text);
}

static int add_string(struct json_out *out, const char *key, const char *text, struct fail *f)
{
	int r = text ? check_utf8(text, f) : 0;

	if (text && r == 0)
		json_out_string(out, key, text);
	return r;
}

/* json_out writes keys as they are, and this one is the user's: escaped, without its quotes. */
static int escape_key(const char *name, size_t len, struct buf *to)
{
	struct json_out out;

	json_out_begin(&out, to);
	json_out_bytes(&out, NULL, name, len);
	if (to->error)
		return to->error;
	to->data[to->len - 1] = '\0';
	return 0;
}

static int add_env(struct json_out *out, const struct arguments *arguments, struct fail *f)
{
	int r = 0;

	json_out_object(out, "env");
	for (size_t i = 0; r == 0 && i < arguments->env_len; i++) {
		const char *text = arguments->env[i], *equals = strchr(text, '=');
		auto_buf struct buf name = {0};

		r = check_utf8(text, f);
		if (r == 0)
			r = escape_key(text, (size_t)(equals - text), &name);
		if (r == 0)
			json_out_string(out, name.data + 1, equals + 1);
	}
	json_out_object_end(out);
	return r;
}

/* Whole ones are told exactly; what is too long for any timeout is refused with the request. */
static void add_seconds(struct json_out *out, double seconds)
{
	if (seconds < 1e9 && seconds == (double)(uint64_t)seconds)
		json_out_uint(out, "timeout", (uint64_t)seconds);
	else
		json_out_double(out, "timeout", seconds);
}

static int build_request(const struct arguments *arguments, struct buf *to, struct fail *f)
{
	struct json_out out;
	int r = 0;

	json_out_begin(&out, to);
	json_out_object(&out, NULL);
	json_out_array(&out, "cmd");
	for (char **word = arguments->command; r == 0 && *word; word++)
		r = add_string(&out, NULL, *word, f);
	json_out_array_end(&out);
	if (r == 0)
		r = add_string(&out, "cwd", arguments->cwd, f);
	if (r == 0)
		r = add_string(&out, "user", arguments->user, f);
	if (r == 0 && arguments->env_len)
		r = add_env(&out, arguments, f);
	if (arguments->timeout >= 0)
		add_seconds(&out, arguments->timeout);
	json_out_bool(&out, "background", true);
	json_out_bool(&out, "stdinOpen", true);
	json_out_object_end(&out);
	return r < 0 ? r : to->error;
}

/* A descriptor that the caller closed must not become one of our files; writing to it stays an
 * error. */
static void fill_standard_descriptors(void)
{
	int fd;

	do
		fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
	while (fd >= 0 && fd <= STDERR_FILENO);
	if (fd >= 0)
		close(fd);
}

/* As a command that writes into a closed pipe does. */
static int end_by_sigpipe(void)
{
	signal(SIGPIPE, SIG_DFL);
	raise(SIGPIPE);
	return 128 + SIGPIPE;
}

static int run_command(const struct cmd *cmd, const struct arguments *arguments)
{
	auto_buf struct buf request = {0};
	/* Its threads live as long as the process. */
	static struct run_client client;
	struct fail f = {0};
	int code = 0;
	int r = build_request(arguments, &request, &f);

	fill_standard_descriptors();
	if (r == 0)
		r = run_client_open(arguments->dir, &client, &f);
	if (r == 0)
		r = run_client_forward_signals(&client);
	if (r == 0)
		r = run_client_start(&client, request.data, request.len, &f);
	if (r == 0)
		r = run_client_forward_stdin(&client);
	if (r == 0)
		r = run_client_copy_output(&client, &f);
	if (r == -EPIPE)
		return end_by_sigpipe();
	if (r == 0)
		r = run_client_wait(&client, &code, &f);
	if (r == 0)
		return code;
	cmd_failed(cmd->name, r, &f);
	return CMD_RUN_FAILED;
}

/* As settings write it, 2m, and as ctl/timeout does, 0.5. */
static int read_seconds(const char *text, double *ret)
{
	uint64_t whole;
	int r = config_parse_seconds(text, &whole);

	if (r == -EINVAL)
		return config_value_real(text, ret);
	if (r == 0)
		*ret = (double)whole;
	return r;
}

/* Options may stand before and after DIR, up to the command's first word. */
static int read_options(const struct cmd *cmd, struct arguments *to, int argc, char **argv)
{
	static const struct option longs[] = {{"cwd", required_argument, NULL, 'C'},
		{"env", required_argument, NULL, 'e'}, {"user", required_argument, NULL, 'u'},
		{"timeout", required_argument, NULL, 't'}, {"help", no_argument, NULL, 'h'}, {0}};
	int option;

	while ((option = getopt_long(argc, argv, "+:", longs, NULL)) != -1) {
		if (option == 'C')
			to->cwd = optarg;
		else if (option == 'e')
			to->env[to->env_len++] = optarg;
		else if (option == 'u')
			to->user = optarg;
		else if (option != 't')
			return cmd_bad_option(cmd, option, argv);
		if (option == 'e' && (!strchr(optarg, '=') || optarg[0] == '='))
			return cmd_usage(cmd, "--env '%.100s': not of the form NAME=VALUE", optarg);
		if (option == 't' && read_seconds(optarg, &to->timeout) < 0)
			return cmd_usage(
				cmd, "--timeout '%.100s': not a number of seconds", optarg);
	}
	return -1;
}

static int run(const struct cmd *cmd, int argc, char **argv)
{
	auto_free const char **env = calloc((size_t)argc, sizeof(*env));
	struct arguments arguments = {.env = env, .timeout = -1};
	int code;

	if (!env)
		return cmd_failed(cmd->name, -ENOMEM, NULL);
	opterr = 0;
	code = read_options(cmd, &arguments, argc, argv);
	if (code >= 0)
		return code;
	if (optind == argc)
		return cmd_usage(cmd, "where? DIR is missing");
	arguments.dir = argv[optind++];
	code = read_options(cmd, &arguments, argc, argv);
	if (code >= 0)
		return code;
	if (optind == argc)
		return cmd_usage(cmd, "which command? CMD is missing");
	arguments.command = argv + optind;
	return run_command(cmd, &arguments);
}

const struct cmd cmd_run = {
	.name = "run",
	.usage = "DIR [OPTION]... [--] CMD...",
	.summary = "runs one command in the sandbox at DIR, as if it ran here",
	.help = "Runs CMD in the sandbox that is mounted at DIR: its output appears as it comes,\n"
		"it reads this program's standard input, Ctrl-C and other signals reach it (the\n"
		"second Ctrl-C kills it), and its exit status is this program's.\n"
		"\n"
		"  --cwd D          directory in the sandbox to run it in\n"
		"  --env K=V        a variable more in its environment; may be repeated\n"
		"  --user U         user of the sandbox to run it as\n"
		"  --timeout S      kill it after S seconds; also 0.5, 2m, 1h\n"
		"\n"
		"CMD and its arguments are passed on as they are. For shell text:\n"
		"\n"
		"  sandpit run DIR sh -c 'ls | wc -l'\n"
		"\n"
		"Exit status: the command's; 124 timed out, 128+N ended by signal N, 126 and 127\n"
		"could not be executed or found, 125 sandpit itself failed.\n",
	.run = run,
};
