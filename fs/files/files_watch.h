// The directories of files/ whose changes are noticed while something runs in the sandbox, with
// inotify(7): it works for every user and tells of the tree's own directories only.
#pragma once

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "common/list.h"
#include "fs/files/node_hash.h"

struct files;
struct node_use;

struct files_watch {
	int fd; /* owned; -1: nothing can be watched */
	atomic_uint count;
	pthread_mutex_t lock; /* guards the rest, and the reading of fd */
	struct node_hash by_ino, by_wd;
	struct list all; /* oldest first */
	struct list own; /* struct files_own */
	uint64_t full_usec; /* since when there is no room for more; 0: there is */
};

/* -errno: nothing will be watched. */
int files_watch_open(struct files_watch *watch);
void files_watch_close(struct files_watch *watch);

/* Readable when files_watch_drain() has something to do; -1: never. Borrowed. */
int files_watch_fd(const struct files *files);

/* Watches the directory that dir is, if it is not yet; false: it cannot be. */
bool files_watch_add(struct files *files, uint64_t ino, const struct node_use *dir);
bool files_watch_has(struct files *files, uint64_t ino);

/* A name was told not to exist in it: when one appears, all names are to be asked for again. */
void files_watch_note_negative(struct files *files, uint64_t ino);

/* A name that a request makes, removes or changes: what is told of it until the table of nodes has it,
 * too, would look like somebody else's doing. */
struct files_own {
	struct list link;
	struct files *files; /* borrowed; NULL: nothing in here */
	uint64_t parent;
	const char *name; /* borrowed */
	bool told;
};

/* From before the system call until the table is right; then, what was told meanwhile is looked at. */
void files_own_begin(struct files *files, uint64_t parent, const char *name, struct files_own *own);
void files_own_end(struct files_own *own);
#define auto_own __attribute__((cleanup(files_own_end)))

/* Handles all that is known to have changed by now. */
void files_watch_drain(struct files *files);

/* Watches nothing any more. */
void files_watch_clear(struct files *files);
