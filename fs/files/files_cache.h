// What the kernel may keep of files/'s answers, and how it is told that something is old.
//
// While no process lives in the sandbox ("quiet"), nothing changes behind the kernel's back: it
// keeps everything. Otherwise it keeps what lies in directories that files_watch.c watches, and what
// has changed there is taken back before the next answer of files/. When something was heard of
// the sandbox (output, an event, a frame: something changed may be known by it), and when the
// sandbox becomes quiet or ceases to be, all is taken back: files_cache_renew().
//
// The order that makes this right: the generation is counted up before what it concerns is looked
// at; an answer reads it before it looks at the tree and again before it promises anything, and
// takes its promise back if it finds another one afterwards. Both ways of taking back need no lock
// of the kernel's, so they may be used while a request is served:
// - FUSE_NOTIFY_INC_EPOCH (Linux 6.16): names, also those that do not exist, are asked for again at
//   their next use; those whose answers are under way, too, but for those in a listing: they are taken
//   back again once it is in.
// - FUSE_NOTIFY_INVAL_INODE without a range: attributes of one inode.
// Without the former names are never kept, and attributes nearly as long.
#pragma once

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "fs/files/files_missed.h"
#include "fs/files/files_watch.h"
#include "fs/files/node_table.h"

struct files;
struct fuse_session;
struct stat;

struct files_cache {
	struct fuse_session *session; /* borrowed; NULL: nothing may be kept */
	bool can_forget_names;
	atomic_bool running; /* not quiet */
	atomic_uint busy; /* reasons of the daemon's own to change the tree */
	atomic_bool dirty; /* something was promised since the last renewal */
	atomic_uint_fast64_t generation;
	atomic_uint_fast64_t forgot_usec; /* when names were taken back last */
	atomic_uint_fast64_t tokens; /* see files_cache_token() */
	atomic_uint_fast64_t quiet_token;
	struct files_watch watch;
	struct files_missed missed;
};

/* What an answer may promise, begun before the tree is looked at. */
struct files_term {
	uint64_t generation;
	bool covered; /* changes of names in the directory are noticed */
};

bool files_cache_is_quiet(struct files *files);

/* Whether the kernel can be told to forget names, so that it may keep them. */
bool files_cache_keeps_names(const struct files *files);

/* From now on answers may be kept. The mount is there. By the leader, before the first request. */
void files_cache_start(struct files *files, struct fuse_session *session);

/* Whether no process lives in the sandbox; by the leader. */
void files_cache_set_quiet(struct files *files, bool quiet);

/* Around changes that the daemon itself makes in the tree, from any thread. */
void files_cache_busy(struct files *files, bool busy);

/* Takes back all that was promised, when anything was. */
void files_cache_renew(struct files *files);

/* Takes the attributes of one node back. -ENOENT: the kernel does not know it. */
int files_cache_take_back(struct files *files, uint64_t ino);

/* Takes back the names, or the attributes of one node if they were promised. */
void files_cache_forget_names(struct files *files);
void files_cache_forget_attr(struct files *files, uint64_t ino);

/* Takes back the pages of a file, or the names of a directory, and the attributes. May wait for other
 * requests. */
void files_cache_forget_pages(struct files *files, uint64_t ino);
/* The same of len bytes from off; 0: of all from there. */
void files_cache_forget_range(struct files *files, uint64_t ino, off_t off, off_t len);

/* The kernel takes the names of a listing for as new as their coming in. What to do when some may have been
 * on their way as names were taken back; again, a moment later: true if they may still be; and when those
 * told at a time are in. */
void files_cache_names_late(struct files *files);
bool files_cache_names_again(struct files *files);
void files_cache_names_in(struct files *files, uint64_t told_usec);

/* Takes back what watched directories have told of; to be called before something that was seen in
 * the tree is told. */
void files_cache_settle(struct files *files);

/* In the directory that dir is. watch: it is worth watching. */
struct files_term files_cache_begin(
	struct files *files, uint64_t parent, const struct node_use *dir, bool watch);
/* The same for a node by itself. */
struct files_term files_cache_begin_node(struct files *files, uint64_t ino);

/* For how many seconds; for the last two, of a node that ino is or will be. */
double files_cache_negative(struct files *files, const struct files_term *term, uint64_t parent);
double files_cache_entry(struct files *files, const struct files_term *term);
double files_cache_forever(struct files *files);
double files_cache_attr(
	struct files *files, const struct files_term *term, uint64_t ino, const struct stat *st);

/* The kernel is being given the names of a directory, which was like st before they were read. When it
 * has all of them it keeps them, if it may: until other attributes of the directory are told. */
struct files_names {
	struct node_stamp stamp;
	bool settled; /* what has the same stamp later has the same names */
	bool alone; /* the kernel has no part of what somebody else began to list */
	unsigned parts; /* as many as the table of nodes counts if nobody else gets one */
};
struct files_names files_cache_names_begin(
	struct files *files, uint64_t ino, const struct stat *st);
/* Before it is told a part of them. */
void files_cache_names_part(struct files *files, uint64_t ino, struct files_names *names);
/* Whether st has the stamp that they began with. */
bool files_cache_names_same(const struct files_names *names, const struct stat *st);
/* Before it is told that these were all; st: of the directory now. */
void files_cache_names_end(
	struct files *files, uint64_t ino, const struct files_names *names, const struct stat *st);

/* Whether something has changed since: what has been promised meanwhile must not be told. */
bool files_cache_is_over(struct files *files, const struct files_term *term);

/* After the answer: if the promise was wrong by then, it is taken back. */
void files_cache_end(struct files *files, const struct files_term *term, uint64_t ino);

/* Tells whether the pages of a file that the kernel has from an earlier open are still right: when
 * the same token comes again. 0: not known. */
uint64_t files_cache_token(struct files *files);
