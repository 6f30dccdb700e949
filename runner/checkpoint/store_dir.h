// A store in a local directory: archives by their hash, an index, a lock file a project.
//
//	index.db            which checkpoints there are (SQLite)
//	archives/SHA256.tar.zst
//	locks/PROJECT       locked while a persist or restore of the project runs
//	tmp/                archives under way, each locked by who writes it
//	lock                shared by who takes an archive in, alone by who removes some
#pragma once

#include <stdbool.h>

#include "runner/checkpoint/store.h"

/* Opens the store at an absolute path; create: makes it with its parents where it is missing (mode
 * 0700), else -ENOENT (no words). */
int store_dir_open(
	const char *path, bool create, unsigned busy_msec, struct store **ret, struct fail *f);

/* busy_msec: how long to wait for others who change the index, as they do for milliseconds. */
#define STORE_DIR_PATIENT 10000
#define STORE_DIR_QUICK 500

/* Where the store of this user is unless told otherwise; owned by the caller. */
int store_dir_default(char **ret);
