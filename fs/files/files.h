// files/: the sandbox's tree, served to the kernel through descriptors. One of the few places that
// talk libfuse. Thread-safe: any number of threads may be in here at once.
#pragma once

#include "fs/libfuse.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "common/fail.h"

/* Node ids: 1 is the mount's root, 2 is files/, then a counter that never goes back. Ids with bit
 * 63 set are synthetic and not ours. */
#define FILES_ROOT 2

/* The same code serves checkpoints/N/tree/, from a directory of its own: its ids count from here. */
#define FILES_TREES_ROOT (1ULL << 62)

struct files;

struct files_config {
	int tree_fd; /* borrowed; O_PATH of the tree */
	uint64_t root_ino; /* FILES_ROOT or FILES_TREES_ROOT: the root's id */
	uid_t ids_base; /* the daemon sees sandbox id n as ids_base + n */
	uint32_t ids_len; /* how many ids are mapped */
	uid_t owner_uid; /* who mounted it, on the host: sandbox uid 0 is shown as this... */
	gid_t owner_gid; /* ...and gid 0 as this */
	uint32_t generation; /* random per start: a handle from before a restart is ESTALE */
	unsigned max_fds; /* how many descriptors the node table may keep open */
	bool counts_bytes; /* files_set_full() may be called: no write may pass us by */
	struct loop *loop; /* borrowed; whose threads answer requests */
};

/* Before there are threads: sets the process's umask to 0, since the kernel has applied the caller's
 * to what is made here. -errno with words. */
int files_new(const struct files_config *config, struct files **ret, struct fail *f);
/* After the last request has been answered. */
/* Whether writes are refused with ENOSPC, because the sandbox has used up what it may; from any
 * thread. */
void files_set_full(struct files *files, bool full);
void files_free(struct files *files);

/* Whether a node id belongs to files/ (FILES_ROOT and above, bit 63 clear). */
static inline bool files_owns(fuse_ino_t ino)
{
	return ino >= FILES_ROOT && !(ino >> 63);
}

/* Whether it belongs to checkpoints/N/tree/, where nothing can be changed. */
static inline bool files_is_in_trees(fuse_ino_t ino)
{
	return files_owns(ino) && ino >= FILES_TREES_ROOT;
}

/* The entry and attributes of files/ itself, for a lookup in the mount's root. 0 or -errno. */
int files_root_entry(struct files *files, struct fuse_entry_param *ret);
int files_root_attr(struct files *files, struct stat *ret);

/* How many nodes and descriptors it holds, for status.json. */
void files_counts(struct files *files, uint64_t *ret_nodes, uint64_t *ret_fds);

/* At INIT: whether a file that is opened to write only may be written past the pages that the kernel keeps. */
void files_direct_offer(struct files *files, bool kernel_can);

/* At INIT: whether the kernel offers to read and write files by itself (passthrough). Later: whether
 * it does, and, if not, why. */
void files_backing_offer(struct files *files, bool kernel_has);
bool files_backing_is_on(struct files *files);
void files_backing_why_not(struct files *files, char *ret, size_t size);

/* The descriptor of an open file, and whether it can write. */
int files_handle_fd(const struct fuse_file_info *fi, bool *ret_writable);
/* Whether only its last close is told. */
bool files_handle_closes_unseen(const struct fuse_file_info *fi);
/* Closes descriptors that are only kept to be quick, where there are too many. */
void files_relieve(struct files *files);

/* The operations: as fuse_lowlevel_ops, with files first. Each answers its request exactly once.
 * Locks (flock, fcntl) are in lock_ops.h. A second directory of a rename or link that is not
 * ours has been answered with EXDEV by the caller. */
void files_lookup(struct files *files, fuse_req_t req, fuse_ino_t parent, const char *name);
void files_forget(struct files *files, fuse_ino_t ino, uint64_t nlookup); /* does not answer */
void files_getattr(struct files *files, fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi);
void files_setattr(struct files *files, fuse_req_t req, fuse_ino_t ino, struct stat *attr,
	int to_set, struct fuse_file_info *fi);
void files_readlink(struct files *files, fuse_req_t req, fuse_ino_t ino);
void files_mknod(struct files *files, fuse_req_t req, fuse_ino_t parent, const char *name,
	mode_t mode, dev_t rdev);
void files_mkdir(
	struct files *files, fuse_req_t req, fuse_ino_t parent, const char *name, mode_t mode);
void files_unlink(struct files *files, fuse_req_t req, fuse_ino_t parent, const char *name);
void files_rmdir(struct files *files, fuse_req_t req, fuse_ino_t parent, const char *name);
void files_symlink(
	struct files *files, fuse_req_t req, const char *link, fuse_ino_t parent, const char *name);
void files_rename(struct files *files, fuse_req_t req, fuse_ino_t parent, const char *name,
	fuse_ino_t newparent, const char *newname, unsigned int flags);
void files_link(struct files *files, fuse_req_t req, fuse_ino_t ino, fuse_ino_t newparent,
	const char *newname);
void files_open(struct files *files, fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi);
void files_create(struct files *files, fuse_req_t req, fuse_ino_t parent, const char *name,
	mode_t mode, struct fuse_file_info *fi);
void files_tmpfile(struct files *files, fuse_req_t req, fuse_ino_t parent, mode_t mode,
	struct fuse_file_info *fi);
void files_read(struct files *files, fuse_req_t req, fuse_ino_t ino, size_t size, off_t off,
	struct fuse_file_info *fi);
void files_write_buf(struct files *files, fuse_req_t req, fuse_ino_t ino, struct fuse_bufvec *in,
	off_t off, struct fuse_file_info *fi);
void files_flush(struct files *files, fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi);
void files_release(struct files *files, fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi);
void files_fsync(struct files *files, fuse_req_t req, fuse_ino_t ino, int datasync,
	struct fuse_file_info *fi);
void files_readdir(struct files *files, fuse_req_t req, fuse_ino_t ino, size_t size, off_t off);
void files_readdirplus(struct files *files, fuse_req_t req, fuse_ino_t ino, size_t size, off_t off);
void files_fsyncdir(struct files *files, fuse_req_t req, fuse_ino_t ino, int datasync);
void files_statfs(struct files *files, fuse_req_t req, fuse_ino_t ino);
void files_setxattr(struct files *files, fuse_req_t req, fuse_ino_t ino, const char *name,
	const char *value, size_t size, int flags);
void files_getxattr(
	struct files *files, fuse_req_t req, fuse_ino_t ino, const char *name, size_t size);
void files_listxattr(struct files *files, fuse_req_t req, fuse_ino_t ino, size_t size);
void files_removexattr(struct files *files, fuse_req_t req, fuse_ino_t ino, const char *name);
void files_access(struct files *files, fuse_req_t req, fuse_ino_t ino, int mask);
void files_fallocate(struct files *files, fuse_req_t req, fuse_ino_t ino, int mode, off_t offset,
	off_t length, struct fuse_file_info *fi);
/* Answers that a lock was taken. What commands had written before they gave it up is there from now on. */
void files_reply_locked(
	struct files *files, fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi);
void files_copy_file_range(struct files *files, fuse_req_t req, fuse_ino_t ino_in, off_t off_in,
	struct fuse_file_info *fi_in, fuse_ino_t ino_out, off_t off_out,
	struct fuse_file_info *fi_out, size_t len, int flags);
void files_lseek(struct files *files, fuse_req_t req, fuse_ino_t ino, off_t off, int whence,
	struct fuse_file_info *fi);
