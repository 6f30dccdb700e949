// What all verbs have in common: help, and errors in words.
#include "cmd/cmd.h"

#include <errno.h>
#include <getopt.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int print_help(const struct cmd *cmd)
{
	auto_buf struct buf text = {0};

	buf_printf(&text, "usage: sandpit %s %s\n\n%s", cmd->name, cmd->usage,
		cmd->help ? cmd->help : "");
	if (cmd->more_help)
		cmd->more_help(&text);
	if (text.error)
		return cmd_failed(cmd->name, text.error, NULL);
	fputs(text.data, stdout);
	return cmd_printed(cmd->name);
}

int cmd_bad_option(const struct cmd *cmd, int option, char **argv)
{
	const char *word = argv[optind - 1];
	char letter[3] = {'-', (char)optopt, '\0'};

	if (option == 'h')
		return print_help(cmd);
	/* In a cluster of short options the word may not be finished: name the letter. */
	if (optopt && (option == '?' || strncmp(word, "--", 2) != 0))
		word = letter;
	if (option == ':')
		return cmd_usage(cmd, "option '%s' needs a value", word);
	return cmd_usage(cmd, "unknown option '%s'", word);
}

int cmd_usage(const struct cmd *cmd, const char *format, ...)
{
	auto_buf struct buf words = {0};
	va_list args;

	va_start(args, format);
	buf_vprintf(&words, format, args);
	va_end(args);
	fprintf(stderr, "sandpit %s: %s (see sandpit %s --help)\n", cmd->name, buf_text(&words),
		cmd->name);
	return CMD_USAGE;
}

int cmd_printed(const char *verb)
{
	bool failed = ferror(stdout); /* before, for whatever reason */
	const char *why = fflush(stdout) != 0 ? strerror(errno)
			  : failed	      ? "not all could be written"
					      : NULL;

	if (!why)
		return CMD_OK;
	fprintf(stderr, "sandpit%s%s: standard output: %s\n", *verb ? " " : "", verb, why);
	return CMD_FAILED;
}

int cmd_failed(const char *verb, int err, const struct fail *f)
{
	const char *words = f && f->text[0] ? f->text : strerror(err < 0 ? -err : err);

	/* What fails for want of a process or a thread, wherever it is, has these remedies. */
	fprintf(stderr, "sandpit %s: %s%s\n", verb, words,
		abs(err) == EAGAIN
			? " (no process or thread more may be started: ulimit -u, or its container's "
			  "pids limit)"
			: "");
	return CMD_FAILED;
}
