// A directory of files/ that is being listed, and those that are kept from one part to the next.
#pragma once

#include "fs/files/files_impl.h"

#define LISTING_SIZE (32u << 10)

/* A directory that is being listed. The kernel opens directories without asking (see session_ops.c),
 * so this lives from the first request for its names to the last, or until too many others do: a
 * place that nobody has kept is found again by its offset, as for a file server. Whose it was cannot
 * be told for sure when several are at the same place, so each goes on with what is there by then. */
struct files_dir {
	struct list link; /* in files.dirs, while no request uses it */
	fuse_ino_t node;
	pid_t reader; /* who asked for the last part */
	uint64_t begun_usec;
	uint64_t told_usec; /* when the last part was answered */
	int fd; /* owned; -1 with reserved */
	dev_t dev;
	ino_t ino;
	bool reserved; /* is listed as empty */
	struct files_names names; /* as it was at the beginning */
	int64_t next_off; /* of the entry at pos */
	size_t pos, len; /* in listing */
	char listing[LISTING_SIZE] __attribute__((aligned(8)));
};

/* NULL is ignored. */
void files_dir_free(struct files_dir *dir);

/* One that was kept where its reader wants to go on, now the caller's; NULL: there is none. */
struct files_dir *files_dir_take(struct files *files, fuse_ino_t ino, off_t off, pid_t reader);

/* Takes one whose part has just been read; the one that waited longest gives way to it. */
void files_dir_keep(struct files *files, struct files_dir *dir);
