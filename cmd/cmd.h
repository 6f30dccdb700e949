// The verbs of the command line: what each is called with, its help, and how it ends.
#pragma once

#include <stdbool.h>

#include "common/buf.h"
#include "common/fail.h"

/* How sandpit ends; `run` ends as its command did. */
enum cmd_exit {
	CMD_OK = 0,
	CMD_FAILED = 1, /* the words are on standard error */
	CMD_USAGE = 2, /* an unknown option, a missing or superfluous argument */
	CMD_RUN_FAILED = 125, /* run: no command was started, or its end is not known */
};

struct cmd {
	const char *name;
	const char *usage; /* what follows the name */
	const char *summary; /* for the list of verbs */
	const char *help; /* lines of the verb's own help; NULL: none */
	int (*more_help)(struct buf *to); /* added to it; NULL: nothing */
	int (*run)(const struct cmd *cmd, int argc, char **argv); /* an exit code */
};

extern const struct cmd cmd_mount, cmd_umount, cmd_run, cmd_list, cmd_check, cmd_persist,
	cmd_restore, cmd_store;

/* mount(8)'s helper, sandpit under the name mount.fuse.sandpit. Source: mount(8), EXTERNAL
 * HELPERS. */
int cmd_mount_helper(int argc, char **argv);

/* Mounts; what `sandpit mount` does once its arguments are read. c is borrowed. */
struct config;
int cmd_mount_config(const struct config *c, const char *dir, bool foreground);

/* For getopt_long() with opterr 0 and `:` first among the short options: --help, an unknown option
 * or a missing argument. Returns the exit code. */
int cmd_bad_option(const struct cmd *cmd, int option, char **argv);

/* One line about wrong usage on standard error. Returns CMD_USAGE. */
int cmd_usage(const struct cmd *cmd, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Writes what was printed, at the end of a verb. Returns CMD_OK, or says why it cannot be written. */
int cmd_printed(const char *verb);

/* Says why on standard error. Returns CMD_FAILED. */
int cmd_failed(const char *verb, int err, const struct fail *f);
