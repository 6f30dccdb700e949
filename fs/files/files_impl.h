// What the files_*.c share.
#pragma once

#include "common/list.h"
#include "fs/files/files.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/stat.h>

#include "common/buf.h"
#include "fs/files/files_cache.h"
#include "fs/files/node_table.h"

#define FILES_DEVICES_MAX 64

/* How many nodes stay known after the kernel has forgotten them, so that the handles which a file
 * server has given to its clients stay good. At most 40 MB. */
#define FILES_IDLE_MAX (128 * 1024)

/* Whether the kernel reads and writes files by itself. */
struct files_backing {
	bool kernel_has;
	pthread_mutex_t lock;
	int state; /* under lock; 0: not asked yet, > 0: it does, < 0: why not */
};

struct files {
	struct files_config config;
	struct files_cache cache;
	struct files_backing backing;
	struct node_table *nodes; /* owned */
	int proc_fd; /* owned: /proc/self/fd */
	dev_t root_dev;
	bool has_birth; /* the root's file system tells inodes apart by their time of birth */
	bool writes_direct; /* see files_direct_offer() */
	bool mtime_is_true; /* no write, not by mmap either, leaves it as it was for long */
	atomic_bool full; /* writes are refused */
	pthread_mutex_t devices_lock;
	dev_t devices[FILES_DEVICES_MAX]; /* under devices_lock: others than the root's, as seen */
	unsigned devices_len;
	pthread_mutex_t dirs_lock;
	struct list
		dirs; /* under dirs_lock: those that are listed in parts, longest unused first */
	unsigned dirs_len; /* under dirs_lock */
	uint64_t
		dirs_dropped_usec; /* under dirs_lock: when the last one was told that had no room */
};

/* Closes what is kept between two parts of a listing. */
void files_dirs_free(struct files *files);

/* Whether the kernel may still be about to take in a part of a listing, of ino or (0) of any directory,
 * that was answered until then: its reader has not come for the next one. */
bool files_dirs_on_way(struct files *files, uint64_t ino, uint64_t until_usec);

/* A request's answer made here: frees nothing, and is called once. r is 0 or -errno. */
static inline void files_reply(fuse_req_t req, int r)
{
	fuse_reply_err(req, -r);
}

/* Memory of the calling thread, at least size bytes, valid until its next call; NULL: none left.
 * Grows to the largest request and is freed with the thread. */
char *files_buffer(size_t size);

/* -- files.c -- */

/* proc, sys and dev below the root: they are shown as empty directories. */
bool files_is_reserved(uint64_t parent, const char *name);

/* -EBUSY when a name must stay as it is: reserved, or the root of one of the sandbox's mounts.
 * Removing one from here would detach the running sandbox's mount. */
int files_check_movable(int dir_fd, uint64_t parent, const char *name);

/* A directory to make or find something in. -EACCES: reserved. -ENOTDIR. */
int files_use_dir(struct files *files, uint64_t ino, struct node_use *ret);

/* A name in a directory that is looked up or made, and what may be promised of it. */
struct files_name {
	const struct node_use *dir;
	uint64_t parent; /* the directory's id */
	const char *name;
	struct files_term term; /* begun before anything is looked at */
};

/* A name that a request is about to make. */
struct files_new {
	struct node_use dir;
	struct files_name name;
	struct files_own own;
};

/* -EACCES: it, or the directory, is reserved; what files_use_dir() gives. The caller keeps name until the end. */
int files_new_begin(struct files *files, uint64_t parent, const char *name, struct files_new *ret);
/* Once the table is right, or nothing was made; a zeroed one is left alone. */
void files_new_end(struct files_new *made);
#define auto_new __attribute__((cleanup(files_new_end)))

/* Looks the name up, counts a lookup and fills the entry. */
int files_enter(struct files *files, const struct files_name *name, struct fuse_entry_param *ret);
/* The same where the inode has been looked at already. fd: O_PATH of it, taken, or -1. */
int files_enter_found(struct files *files, const struct files_name *name, const struct statx *sx,
	int fd, struct fuse_entry_param *ret);
/* All but the attributes; those are in ret->attr. */
void files_fill_entry(struct files *files, const struct files_term *term, fuse_ino_t ino,
	struct fuse_entry_param *ret);
/* Takes the lookup back when the answer did not reach the kernel. */
void files_reply_entry(struct files *files, fuse_req_t req, const struct files_term *term,
	const struct fuse_entry_param *e);

/* -- files_attr.c -- */

int files_statx(int fd, const char *name, struct statx *ret);
void files_key(const struct files *files, const struct statx *sx, struct node_key *ret);
void files_fill(struct files *files, const struct statx *sx, struct stat *ret);
uint64_t files_ino(struct files *files, dev_t dev, ino_t ino);
int files_stat(struct files *files, uint64_t ino, struct stat *ret);
/* The size of a link is that of what it reads as. */
void files_fix_link_size(
	struct files *files, int dir_fd, const char *name, unsigned depth, struct stat *st);

/* -- files_ids.c -- */

uid_t files_shown_id(uid_t id, uid_t base, uint32_t len, uid_t owner);
/* -EINVAL: there is no such id in the sandbox. */
int files_real_id(uid_t id, uid_t base, uint32_t len, uid_t owner, uid_t *ret);

/* -- files_links.c -- */

/* What a link reads as, into buf. */
int files_link_text(
	struct files *files, int dir_fd, const char *name, unsigned depth, struct buf *ret);

/* -- files_backing.c -- */

/* Lets the kernel serve an open file by itself, where it can; else writes past its pages, where those are of no
 * use. */
void files_backing_open(
	struct files *files, fuse_req_t req, struct node_handle *handle, struct fuse_file_info *fi);
void files_backing_close(struct files *files, struct node_handle *handle);

/* What a write or truncation by anybody but root does to the mode, when it is done as root. */
void files_drop_set_ids(int fd, const struct fuse_ctx *caller);

/* -- files_open.c -- */

/* Opens the inode that a descriptor stands for, a regular file or directory, never waiting. */
int files_reopen(struct files *files, int fd, int flags);
