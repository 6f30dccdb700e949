// Synthetic files: tables of names with handlers. What a directory holds, shows and takes is one
// table entry a file; the README in the mount and the manual page come from the same tables.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "common/buf.h"
#include "common/fail.h"
#include "common/list.h"

struct control;
struct mount;
struct run_output;
struct synth_freeze;
struct synth_dir;
struct synth_file;

/* One synthetic file or directory: an entry of a directory's table, of one object (a run...). */
struct synth_node {
	const struct synth_dir *dir;
	uint32_t object; /* which one of its class; 0 where there is one only */
	unsigned slot; /* 0: the directory itself; n: its table's entry n - 1; SYNTH_SCRATCH */
	uint16_t instance; /* tells node ids of one control file apart; a scratch file's id */
};

#define SYNTH_SCRATCH 511

enum synth_type { SYNTH_FILE, SYNTH_DIRECTORY, SYNTH_LINK, SYNTH_FILES_ROOT, SYNTH_TREE };

struct synth_file {
	const char *name;
	const char *help; /* one line, for README and sandpit(7) */
	enum synth_type type;
	mode_t mode;
	const struct synth_dir *child; /* SYNTH_DIRECTORY: its class */

	/* Reading. show gives the whole present content and suits small files; pread gives a part,
	 * with size for the true present size. Both may fail with a negative errno. */
	int (*show)(struct mount *m, const struct synth_node *n, struct buf *ret);
	int (*size)(struct mount *m, const struct synth_node *n, uint64_t *ret);
	ssize_t (*pread)(
		struct mount *m, const struct synth_node *n, void *data, size_t len, uint64_t off);
	int (*link)(struct mount *m, const struct synth_node *n, struct buf *ret);
	/* Content that is taken when a reader opens the file, and frozen for it: fills
	 * freeze->content, or sets freeze->going and calls synth_freeze_end() later. -errno: the open
	 * fails. size gives what stat shows before. */
	int (*freeze)(struct synth_freeze *freeze);

	/* pread or write said -EAGAIN: the list of waiters that tells when to try again. NULL: what
	 * the file was of is gone. */
	struct list *(*waiters)(struct mount *m, const struct synth_node *n);

	/* The content will not change any more: it may be cached and mapped. */
	bool (*final)(struct mount *m, const struct synth_node *n);

	/* Writing: requests, or a stream of bytes (taken count, or -EAGAIN). */
	const struct control *control;
	ssize_t (*write)(struct mount *m, const struct synth_node *n, const void *data, size_t len);
	/* Of a stream: there is no room now; the waiters are told when there is. */
	bool (*full)(struct mount *m, const struct synth_node *n);
	void (*opened)(struct mount *m, const struct synth_node *n); /* for writing */
	void (*released)(struct mount *m, const struct synth_node *n); /* by a writer */

	/* Whether the name exists at present; NULL: always. */
	bool (*present)(struct mount *m, const struct synth_node *n);
};

/* Content being taken for one open handle. */
struct synth_freeze {
	struct list link; /* in mount.frozen */
	struct mount *m; /* borrowed */
	struct synth_node node;
	bool going;
	int error; /* of the end: 0 or -errno */
	struct buf content;
	void *data; /* the handler's */
	/* The reader was interrupted or has gone: nothing is to be ended any more. Frees data. */
	void (*cancel)(struct synth_freeze *freeze);
	struct list ended; /* waiters */
};

/* By the handler: the content is there, or cannot be taken. */
void synth_freeze_end(struct synth_freeze *freeze, int error);

struct synth_times {
	uint64_t changed_usec; /* wall clock */
	uint64_t made_usec;
};

typedef int (*synth_emit)(void *arg, const char *name, const struct synth_node *child);

struct synth_dir {
	const char *path; /* for people and docs: "ctl", "out", "out/ID" */
	const char *help;
	const struct synth_file *files;
	size_t files_len;
	const char *no_such; /* why a name that is not there cannot be written; NULL: the usual */
	bool scratch; /* editors may make their temporary files here */
	/* Removed as a whole: its parts go with it. For a process that does that (removals.h), taking
	 * them away first is a success that does nothing. */
	bool whole;

	/* All below may be NULL. */
	bool (*exists)(struct mount *m, uint32_t object);
	/* The directory's path from the mount's root, for messages; default: path. */
	void (*name)(struct mount *m, uint32_t object, struct buf *ret);
	void (*times)(struct mount *m, uint32_t object, struct synth_times *ret);
	/* Children that are not in the table. */
	int (*lookup)(struct mount *m, uint32_t object, const char *name, struct synth_node *ret);
	int (*list)(struct mount *m, uint32_t object, synth_emit emit, void *arg);
	int (*mkdir)(struct mount *m, uint32_t object, const char *name, struct synth_node *ret,
		struct fail *f);
	int (*rmdir)(struct mount *m, const struct synth_node *child, struct fail *f);
	int (*unlink)(struct mount *m, const struct synth_node *n, struct fail *f);
	/* What is written there, for the entries of synth_output.h; over: nothing more is to come.
	 * NULL: the object is gone. */
	struct run_output *(*output)(struct mount *m, uint32_t object, bool *ret_over);
	/* The directory above; NULL: the mount's root. */
	void (*parent)(struct mount *m, uint32_t object, struct synth_node *ret);
};

/* Every class of directories, the mount's root first; a node id holds an index into it. */
extern const struct synth_dir *const synth_dirs[];
extern const size_t synth_dirs_len;
extern const struct synth_dir synth_root, synth_ctl, synth_out, synth_run;
extern const struct synth_dir synth_browser, synth_pages, synth_page;
extern const struct synth_dir synth_code, synth_context, synth_cells, synth_cell, synth_results,
	synth_result;
extern const struct synth_dir synth_checkpoints, synth_checkpoint;
extern const struct synth_dir synth_ports;

/* Node ids: bit 63, 6 bits of class, 32 of object, 9 of slot, 16 of instance; the root is 1. */
uint64_t synth_ino(const struct synth_node *n);

/* The same id for all nodes of one control file. */
uint64_t synth_ino_plain(uint64_t ino);

/* -ESTALE when no such node can be, or its object is gone. */
int synth_node_of(struct mount *m, uint64_t ino, struct synth_node *ret);

/* The entry of a node, NULL for a directory and for scratch files. */
const struct synth_file *synth_file_of(const struct synth_node *n);

/* The entry of that name in a directory, also when it is not present now; NULL: none. */
const struct synth_file *synth_find(const struct synth_dir *dir, const char *name);

/* A child by name: 0, -ENOENT. */
int synth_child(
	struct mount *m, const struct synth_node *dir, const char *name, struct synth_node *ret);

/* Calls emit for every child that is present, until it returns non-zero. */
int synth_list(struct mount *m, const struct synth_node *dir, synth_emit emit, void *arg);

/* The path from the mount's root, for messages. */
void synth_path(struct mount *m, const struct synth_node *n, struct buf *ret);

/* What a read of a fresh handle gives now. */
int synth_content(struct mount *m, const struct synth_node *n, struct buf *ret);
int synth_size(struct mount *m, const struct synth_node *n, uint64_t *ret);
