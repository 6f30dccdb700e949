// The kernel's requests to lock: answered at once, or parked until the lock is free. By the leader.
#pragma once

#include "fs/libfuse.h"

struct files;
struct mount;

/* The operations: as fuse_lowlevel_ops, with the mount first and the files that ino is one of (NULL: it is
 * synthetic). Each answers its request exactly once, and lends the baton where it may block. */
void lock_ops_getlk(struct mount *m, struct files *files, fuse_req_t req, fuse_ino_t ino,
	struct fuse_file_info *fi, struct flock *lock);
void lock_ops_setlk(struct mount *m, struct files *files, fuse_req_t req, fuse_ino_t ino,
	struct fuse_file_info *fi, struct flock *lock, int sleep);
void lock_ops_flock(struct mount *m, struct files *files, fuse_req_t req, fuse_ino_t ino,
	struct fuse_file_info *fi, int operation);

/* What a close ends, before anything else that is done for it: who comes next finds the locks gone. Neither
 * answers. */
void lock_ops_flush(struct mount *m, fuse_ino_t ino, const struct fuse_file_info *fi);
void lock_ops_release(struct mount *m, fuse_ino_t ino, const struct fuse_file_info *fi);
