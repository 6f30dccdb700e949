// sandpit list: the sandboxes that this user has mounted.
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cmd/cmd.h"
#include "cmd/registry.h"
#include "common/clock.h"
#include "common/mount_table.h"
#include "common/scope.h"

#define COLUMNS 4

struct row {
	char *cells[COLUMNS]; /* owned */
};

struct table {
	struct row *rows; /* owned */
	size_t len;
};

static void table_clear(struct table *table)
{
	for (size_t i = 0; i < table->len; i++) {
		for (size_t j = 0; j < COLUMNS; j++)
			free(table->rows[i].cells[j]);
	}
	free(table->rows);
	*table = (struct table){0};
}

/* A name may hold anything: nothing of it may steer the terminal. */
static char *printable(const char *text)
{
	auto_buf struct buf safe = {0};

	for (const unsigned char *p = (const unsigned char *)text; *p; p++) {
		if (*p < 0x20 || *p == 0x7f)
			buf_printf(&safe, "\\x%02x", *p);
		else
			buf_add_char(&safe, (char)*p);
	}
	return buf_take(&safe);
}

static int add_row(struct table *table, const char *const cells[COLUMNS])
{
	struct row *rows = reallocarray(table->rows, table->len + 1, sizeof(*rows));
	struct row *row;

	if (!rows)
		return -ENOMEM;
	table->rows = rows;
	row = &rows[table->len++];
	*row = (struct row){0};
	for (size_t i = 0; i < COLUMNS; i++) {
		row->cells[i] = printable(cells[i]);
		if (!row->cells[i])
			return -ENOMEM;
	}
	return 0;
}

/* In columns of a terminal, near enough: UTF-8's continuation bytes take none. */
static size_t width(const char *text)
{
	size_t columns = 0;

	for (; *text; text++)
		columns += ((unsigned char)*text & 0xc0) != 0x80;
	return columns;
}

static void print_table(const struct table *table)
{
	size_t widths[COLUMNS] = {0};

	for (size_t i = 0; i < table->len; i++) {
		for (size_t j = 0; j < COLUMNS; j++) {
			size_t columns = width(table->rows[i].cells[j]);

			widths[j] = columns > widths[j] ? columns : widths[j];
		}
	}
	for (size_t i = 0; i < table->len; i++) {
		for (size_t j = 0; j < COLUMNS; j++) {
			const char *cell = table->rows[i].cells[j];
			int pad = j + 1 < COLUMNS ? (int)(widths[j] - width(cell)) + 2 : 0;

			printf("%s%*s", cell, pad, "");
		}
		putchar('\n');
	}
}

/* Whether a sandbox is mounted at dir. */
static int is_mounted(const char *dir)
{
	auto_mount_table struct mount_table table = {0};
	struct mount_entry entry;
	int r = mount_table_open(&table);

	if (r < 0)
		return r;
	while ((r = mount_table_next(&table, &entry)) > 0) {
		if (strcmp(entry.type, MOUNT_TABLE_TYPE) == 0 && strcmp(entry.dir, dir) == 0)
			return 1;
	}
	return r;
}

/* An entry without daemon and mount is of before the machine was started: NULL. */
static const char *state_of(const struct registry_entry *entry)
{
	bool mounted = is_mounted(entry->mount_point) > 0;

	if (entry->pid != 0)
		return mounted ? "mounted" : "changing";
	return mounted ? "dead" : NULL;
}

static int add_registered(struct table *table, const struct registry_entry *entry)
{
	const char *state = state_of(entry);
	time_t seconds = (time_t)(entry->since_usec / USEC_PER_SEC);
	char since[64] = "-";
	struct tm tm;

	if (!state)
		return 0;
	if (localtime_r(&seconds, &tm))
		strftime(since, sizeof(since), "%Y-%m-%d %H:%M:%S", &tm);
	return add_row(
		table, (const char *const[COLUMNS]){entry->name, entry->mount_point, state, since});
}

static bool is_registered(const struct registry_entry *entries, size_t len, const char *dir)
{
	for (size_t i = 0; i < len; i++) {
		if (strcmp(entries[i].mount_point, dir) == 0)
			return true;
	}
	return false;
}

/* Mounts of this user that were made with another XDG_STATE_HOME. */
static int add_unregistered(
	struct table *table, const struct registry_entry *entries, size_t entries_len)
{
	auto_mount_table struct mount_table mounts = {0};
	struct mount_entry entry;
	int r = mount_table_open(&mounts);

	if (r < 0)
		return r;
	while ((r = mount_table_next(&mounts, &entry)) > 0) {
		if (strcmp(entry.type, MOUNT_TABLE_TYPE) != 0 || entry.user != (long)getuid() ||
			is_registered(entries, entries_len, entry.dir))
			continue;
		r = add_row(table,
			(const char *const[COLUMNS]){entry.source, entry.dir, "mounted", "-"});
		if (r < 0)
			return r;
	}
	return r;
}

static int fill(struct table *table)
{
	struct registry_entry *entries;
	size_t len;
	int r = registry_list(&entries, &len);

	if (r < 0)
		return r;
	r = add_row(table, (const char *const[COLUMNS]){"NAME", "MOUNT POINT", "STATE", "SINCE"});
	for (size_t i = 0; r == 0 && i < len; i++)
		r = add_registered(table, &entries[i]);
	if (r == 0)
		r = add_unregistered(table, entries, len);
	registry_free(entries, len);
	return r;
}

static int run(const struct cmd *cmd, int argc, char **argv)
{
	static const struct option longs[] = {{"help", no_argument, NULL, 'h'}, {0}};
	auto_call(table_clear) struct table table = {0};
	int option, r;

	opterr = 0;
	while ((option = getopt_long(argc, argv, ":", longs, NULL)) != -1)
		return cmd_bad_option(cmd, option, argv);
	if (optind < argc)
		return cmd_usage(cmd, "unknown argument '%s'", argv[optind]);
	r = fill(&table);
	if (r < 0)
		return cmd_failed(cmd->name, r, NULL);
	print_table(&table);
	return cmd_printed(cmd->name);
}

const struct cmd cmd_list = {
	.name = "list",
	.usage = "",
	.summary = "shows the sandboxes that you have mounted",
	.help = "Shows name, mount point, state and since when, of the sandboxes that you have\n"
		"mounted. The states:\n"
		"\n"
		"  mounted   at work\n"
		"  changing  starting or ending\n"
		"  dead      its daemon is gone; sandpit umount, or mount, cleans up\n",
	.run = run,
};
