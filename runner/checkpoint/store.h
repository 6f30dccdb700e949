// Where checkpoints are kept: the small interface behind which a store is. The local directory
// (store_dir.h) is one.
//
// A handle belongs to one thread at a time. Several processes may use one store at once.
#pragma once

#include <stdint.h>

#include "common/fail.h"
#include "runner/checkpoint/sha256.h"
#include "runner/checkpoint/task.h"

/* A checkpoint as it is known to the store. */
struct store_row {
	uint32_t number; /* counts up from 1 in its project, never used again */
	char sha256[SHA256_HEX_LEN + 1]; /* of the archive, which is found by it */
	char etag[48];
	uint64_t size; /* of the archive */
	uint64_t persisted_usec; /* wall clock */
	uint64_t files, bytes; /* of what it holds */
	char *project; /* owned, both; see store_row_clear() */
	char *path; /* the directory that was persisted, as seen inside; of any bytes */
};

void store_row_clear(struct store_row *row);
#define auto_row __attribute__((cleanup(store_row_clear)))

/* A file in which an archive is put together before the store takes it. */
struct store_spool {
	int fd; /* owned; -1: none */
	int guard_fd; /* owned; keeps the taken archive from being collected */
	char name[32];
};

struct store;

struct store_ops {
	/* One persist or restore of a project at a time, by anybody: *ret is a descriptor that holds
	 * the lock until it is closed or its process dies. -EBUSY (no words): somebody has it. */
	int (*lock)(struct store *s, const char *project, int *ret, struct fail *f);

	int (*spool)(struct store *s, struct store_spool *ret, struct fail *f);
	/* Takes a finished archive under its hash; afterwards it is on disk. It is debris until
	 * compare_and_set() names it. */
	int (*put)(struct store *s, struct store_spool *spool, const char *sha256, struct fail *f);
	/* Forgets it; what was not put is removed. Harmless on an empty one (fd -1). */
	void (*drop)(struct store *s, struct store_spool *spool);

	/* The archive for reading, to be closed. -ENOENT (no words). */
	int (*get)(struct store *s, const char *sha256, int *ret);

	/* The newest of a project. -ENOENT (no words). */
	int (*head)(struct store *s, const char *project, struct store_row *ret, struct fail *f);
	/* Makes row the newest if etag (NULL: anything) is that of the newest so far, gives it its
	 * number and etag, and forgets those beyond the newest `keep`. -ESTALE (no words): it is
	 * not. The row is on disk afterwards, or nothing is changed. */
	int (*compare_and_set)(struct store *s, const char *etag, uint64_t keep,
		struct store_row *row, struct fail *f);
	/* Calls each for those of a project (NULL: all), oldest first, until it returns non-zero. The
	 * row is the store's own. */
	int (*list)(struct store *s, const char *project,
		int (*each)(void *arg, const struct store_row *row), void *arg, struct fail *f);
	/* -ENOENT (no words). */
	int (*remove)(struct store *s, const char *project, uint32_t number, struct fail *f);

	/* Removes what nothing names: archives, and what died half written. */
	int (*collect)(struct store *s, uint64_t *ret_removed, struct fail *f);
	/* Changes whenever somebody else changed the rows. */
	int (*version)(struct store *s, uint32_t *ret);
	void (*close)(struct store *s);
};

struct store {
	const struct store_ops *ops;
};

static inline void store_close(struct store **s)
{
	if (*s)
		(*s)->ops->close(*s);
	*s = NULL;
}
#define auto_store __attribute__((cleanup(store_close)))
