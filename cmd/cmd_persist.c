// sandpit persist and sandpit restore: what writing to `checkpoint` does, with a progress bar.
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/checkpoint_client.h"
#include "cmd/cmd.h"
#include "common/config.h"
#include "common/json_out.h"
#include "common/scope.h"

struct arguments {
	const char **exclude; /* owned by the caller */
	size_t exclude_len;
	const char *if_match, *etag; /* borrowed from argv, like all below */
	const char *dir, *path;
	uint64_t timeout_sec; /* 0: not given */
};

static int build(const struct cmd *cmd, const struct arguments *a, struct buf *to)
{
	struct json_out j;

	json_out_begin(&j, to);
	json_out_object(&j, NULL);
	json_out_string(&j, "op", cmd->name);
	json_out_string(&j, "path", a->path);
	if (a->exclude_len)
		json_out_array(&j, "exclude");
	for (size_t i = 0; i < a->exclude_len; i++)
		json_out_string(&j, NULL, a->exclude[i]);
	if (a->exclude_len)
		json_out_array_end(&j);
	if (a->timeout_sec)
		json_out_uint(&j, "timeout", a->timeout_sec);
	if (a->if_match)
		json_out_string(&j, "if_match", a->if_match);
	if (a->etag)
		json_out_string(&j, "etag", a->etag);
	json_out_object_end(&j);
	return to->error;
}

static int ask(const struct cmd *cmd, const struct arguments *a)
{
	struct buf request auto_buf = {0}, answer auto_buf = {0};
	struct fail f = {0};
	int r;

	if (!json_out_is_utf8(a->path, strlen(a->path)))
		return cmd_usage(cmd, "PATH is not UTF-8; write to DIR/checkpoint instead");
	r = build(cmd, a, &request);
	if (r == 0)
		r = checkpoint_client_ask(a->dir, &request, &answer, &f);
	if (r < 0)
		return cmd_failed(cmd->name, r, &f);
	fwrite(answer.data, 1, answer.len, stdout);
	return cmd_printed(cmd->name);
}

static int read_options(const struct cmd *cmd, struct arguments *to, int argc, char **argv)
{
	static const struct option longs[] = {{"exclude", required_argument, NULL, 'x'},
		{"timeout", required_argument, NULL, 't'},
		{"if-match", required_argument, NULL, 'm'}, {"etag", required_argument, NULL, 'e'},
		{"help", no_argument, NULL, 'h'}, {0}};
	bool persists = cmd == &cmd_persist;
	int option;

	while ((option = getopt_long(argc, argv, ":h", longs, NULL)) != -1) {
		if (option == 'x' && persists)
			to->exclude[to->exclude_len++] = optarg;
		else if (option == 'm' && persists)
			to->if_match = optarg;
		else if (option == 'e' && !persists)
			to->etag = optarg;
		else if (option != 't')
			return cmd_bad_option(cmd, option, argv);
		else if (config_parse_seconds(optarg, &to->timeout_sec) < 0 || !to->timeout_sec)
			return cmd_usage(cmd,
				"--timeout '%.100s': not a positive number of seconds", optarg);
	}
	return -1;
}

static int run(const struct cmd *cmd, int argc, char **argv)
{
	auto_free const char **exclude = calloc((size_t)argc + 1, sizeof(*exclude));
	struct arguments a = {.exclude = exclude};
	int code;

	if (!exclude)
		return cmd_failed(cmd->name, -ENOMEM, NULL);
	opterr = 0;
	code = read_options(cmd, &a, argc, argv);
	if (code >= 0)
		return code;
	if (argc - optind < 2)
		return cmd_usage(cmd, "DIR or PATH is missing");
	if (argc - optind > 2)
		return cmd_usage(cmd, "superfluous argument '%s'", argv[optind + 2]);
	a.dir = argv[optind];
	a.path = argv[optind + 1];
	return ask(cmd, &a);
}

const struct cmd cmd_persist = {
	.name = "persist",
	.usage = "DIR PATH [OPTION]...",
	.summary = "stores a directory of the sandbox at DIR as a checkpoint",
	.help = "Stores the directory PATH of the sandbox that is mounted at DIR as the newest\n"
		"checkpoint of its project, and prints its size, hash and etag as JSON.\n"
		"\n"
		"  --exclude NAME   leave out directories of this name, too; may be repeated\n"
		"  --timeout S      give up after S seconds (180)\n"
		"  --if-match ETAG  only if this is the newest checkpoint so far\n",
	.run = run,
};

const struct cmd cmd_restore = {
	.name = "restore",
	.usage = "DIR PATH [OPTION]...",
	.summary = "restores a directory of the sandbox at DIR from a checkpoint",
	.help = "Replaces the directory PATH of the sandbox that is mounted at DIR by the newest\n"
		"checkpoint of its project, in one step. When there is none, nothing is done and\n"
		"\"restored\" is false.\n"
		"\n"
		"  --timeout S      give up after S seconds (180)\n"
		"  --etag ETAG      this checkpoint instead of the newest\n",
	.run = run,
};
