// sandpit store: looks at the checkpoint store, verifies it and cleans it up.
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/cmd.h"
#include "common/clock.h"
#include "common/config.h"
#include "common/scope.h"
#include "runner/checkpoint/checkpoint_row.h"
#include "runner/checkpoint/store_dir.h"

/* What goes through the rows. */
struct visit {
	struct store *store; /* borrowed */
	struct task *task;
	uint64_t rows, bad;
};

static int print_row(void *arg, const struct store_row *row)
{
	struct visit *v = arg;
	char text[CLOCK_ISO_LEN];

	clock_iso(row->persisted_usec, text);
	printf("%s\t%" PRIu32 "\t%s\t%" PRIu64 "\t%s\n", row->project, row->number, text, row->size,
		row->etag);
	v->rows++;
	return 0;
}

static int check_row(void *arg, const struct store_row *row)
{
	struct visit *v = arg;
	struct fail f = {0};
	auto_close int fd = -1;
	int r = checkpoint_row_open(v->task, v->store, row, &fd, &f);

	v->rows++;
	v->task->code = TASK_OK;
	if (r == 0)
		return 0;
	v->bad++;
	printf("damaged: %s\n", f.text);
	return 0;
}

static int ls(struct visit *v, struct fail *f)
{
	return v->store->ops->list(v->store, NULL, print_row, v, f);
}

static int gc(struct visit *v, struct fail *f)
{
	uint64_t removed = 0;
	int r = v->store->ops->collect(v->store, &removed, f);

	if (r == 0)
		printf("%" PRIu64 " files removed\n", removed);
	return r;
}

static int check(struct visit *v, struct fail *f)
{
	int r = v->store->ops->list(v->store, NULL, check_row, v, f);

	if (r == 0)
		printf("%" PRIu64 " checkpoints, %" PRIu64 " damaged\n", v->rows, v->bad);
	if (r == 0)
		r = gc(v, f);
	if (r == 0 && v->bad)
		return fail_set(f, -EBADMSG, "%" PRIu64 " checkpoints are damaged", v->bad);
	return r;
}

static const struct {
	const char *name;
	int (*run)(struct visit *v, struct fail *f);
} verbs[] = {{"ls", ls}, {"check", check}, {"gc", gc}};

static int run_verb(
	const struct cmd *cmd, int (*verb)(struct visit *v, struct fail *f), const struct config *c)
{
	static const atomic_bool never;
	struct task task = {.cancelled = &never};
	struct visit v = {.task = &task};
	struct store *store auto_store = NULL;
	char *path auto_free = NULL;
	struct fail f = {0};
	int r = 0;

	if (!c->store)
		r = store_dir_default(&path);
	if (r == 0)
		r = store_dir_open(
			c->store ? c->store : path, false, STORE_DIR_PATIENT, &store, &f);
	if (r == -ENOENT && !*f.text) /* nothing was stored yet */
		return CMD_OK;
	v.store = store;
	if (r == 0)
		r = verb(&v, &f);
	return r < 0 ? cmd_failed(cmd->name, r, &f) : cmd_printed(cmd->name);
}

/* The store that a mount with the same options would use. */
static int read_config(struct config *c, const char *file, const char *options, struct fail *f)
{
	char *found auto_free = NULL;
	int r = file ? 0 : config_find_file(&found);

	if (r == 0 && (file || found))
		r = config_read_file(c, file ? file : found, f);
	return r == 0 && options ? config_set_options(c, options, f) : r;
}

static int run(const struct cmd *cmd, int argc, char **argv)
{
	static const struct option longs[] = {{"help", no_argument, NULL, 'h'}, {0}};
	struct config c auto_call(config_clear) = {0};
	const char *file = NULL, *options = NULL;
	struct fail f = {0};
	int option, r = config_init(&c);

	opterr = 0;
	while ((option = getopt_long(argc, argv, ":hc:o:", longs, NULL)) != -1) {
		if (option == 'c')
			file = optarg;
		else if (option == 'o')
			options = optarg;
		else
			return cmd_bad_option(cmd, option, argv);
	}
	if (optind == argc)
		return cmd_usage(cmd, "what? ls, check or gc");
	if (r == 0)
		r = read_config(&c, file, options, &f);
	if (r < 0)
		return cmd_failed(cmd->name, r, &f);
	for (size_t i = 0; i < ARRAY_LEN(verbs); i++)
		if (!strcmp(verbs[i].name, argv[optind]))
			return run_verb(cmd, verbs[i].run, &c);
	return cmd_usage(cmd, "'%.40s' is none of ls, check and gc", argv[optind]);
}

const struct cmd cmd_store = {
	.name = "store",
	.usage = "ls|check|gc [-c FILE] [-o KEY=VALUE,...]",
	.summary = "looks at, verifies and cleans the checkpoint store",
	.help = "ls      lists all checkpoints: project, number, time, size, etag\n"
		"check   verifies size and hash of every archive, then does gc\n"
		"gc      removes what nothing names: archives, and what died half written\n"
		"\n"
		"  -c FILE      the INI file instead of the usual ones\n"
		"  -o OPTIONS   as for mount, such as store=DIR\n",
	.run = run,
};
