// What is mounted, as the kernel tells it: /proc/self/mountinfo.
#pragma once

#include <stdbool.h>
#include <stdio.h>

#include "common/buf.h"

/* The type under which the kernel lists our mounts. */
#define MOUNT_TABLE_TYPE "fuse.sandpit"

struct mount_table {
	FILE *file; /* owned */
	char *line; /* owned */
	size_t size;
};

/* All borrowed from the table until its next entry. */
struct mount_entry {
	int id;
	long user; /* who mounted it, of a FUSE mount; -1 for others */
	char *dir; /* where it is mounted */
	char *type;
	char *source;
};

/* 0 or -errno. */
int mount_table_open(struct mount_table *ret);
void mount_table_close(struct mount_table *table);

/* 1 and an entry (the later one covers the earlier at the same place), 0 at the end, -errno. */
int mount_table_next(struct mount_table *table, struct mount_entry *ret);

/* Spaces, control characters and backslashes as \ooo, as mountinfo writes them; and back, in
 * place. Source: proc(5), getmntent(3). */
void mount_table_escape(struct buf *to, const char *text);
void mount_table_unescape(char *text);

#define auto_mount_table __attribute__((cleanup(mount_table_close)))
