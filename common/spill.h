// Bytes that grow at their end: in memory while they are few, in a file of a directory once they
// are many. Making a file takes longer than all else that is done for a small piece. Gone with the
// process: for what need not survive it.
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "common/buf.h"

#define SPILL_SMALL 4096 /* bytes of one that stay in memory */
#define SPILL_HELD_MAX (4 * 1024 * 1024) /* bytes of all of a directory in memory */

/* What the spills of a directory share. */
struct spill_dir {
	int fd; /* borrowed */
	uint64_t next; /* names the next file; the caller's other files end in letters */
	size_t held; /* bytes in memory */
};

struct spill {
	struct spill_dir *dir; /* borrowed */
	struct buf memory; /* all of it, until there is a file */
	uint64_t file; /* its name; 0: none */
	uint64_t size; /* bytes in all */
	int fd; /* owned; -1: closed */
};

void spill_init(struct spill *s, struct spill_dir *dir);

/* Appends. 0, or -errno (the disk refused, or memory ran out), and nothing was added. */
int spill_add(struct spill *s, const void *data, size_t len);

/* Reads from off on. The count, 0 at the end, or -errno. */
ssize_t spill_read(struct spill *s, void *data, size_t len, uint64_t off);

/* Adds all of it to ret. 0 or -errno. */
int spill_read_all(struct spill *s, struct buf *ret);

/* Nothing more comes for now: keeps no descriptor and no spare memory. */
void spill_settle(struct spill *s);

/* Removes all of it. */
void spill_clear(struct spill *s);

/* Whether len more bytes beside those that one piece has may stay in memory. */
static inline int spill_may_hold(const struct spill_dir *dir, size_t has, size_t len)
{
	return has + len <= SPILL_SMALL && dir->held + len <= SPILL_HELD_MAX;
}
