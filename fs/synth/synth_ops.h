// The kernel's requests on synthetic files: names follow fuse_lowlevel_ops. By the leader only.
#pragma once

#include "fs/libfuse.h"

#include "fs/mount.h"

void synth_lookup(struct mount *m, fuse_req_t req, fuse_ino_t parent, const char *name);
void synth_getattr(struct mount *m, fuse_req_t req, fuse_ino_t ino);
void synth_setattr(struct mount *m, fuse_req_t req, fuse_ino_t ino, struct stat *attr, int to_set,
	struct fuse_file_info *fi);
void synth_readlink(struct mount *m, fuse_req_t req, fuse_ino_t ino);
void synth_mkdir(struct mount *m, fuse_req_t req, fuse_ino_t parent, const char *name);
void synth_unlink(struct mount *m, fuse_req_t req, fuse_ino_t parent, const char *name);
void synth_rmdir(struct mount *m, fuse_req_t req, fuse_ino_t parent, const char *name);
void synth_rename(struct mount *m, fuse_req_t req, fuse_ino_t parent, const char *name,
	fuse_ino_t newparent, const char *newname, unsigned int flags);
void synth_mknod(struct mount *m, fuse_req_t req, fuse_ino_t parent, const char *name, mode_t mode);
/* Links can be made in files/ only: these answer why. */
void synth_symlink(struct mount *m, fuse_req_t req, fuse_ino_t parent, const char *name);
void synth_link(struct mount *m, fuse_req_t req, fuse_ino_t parent, const char *name);
void synth_create(struct mount *m, fuse_req_t req, fuse_ino_t parent, const char *name,
	struct fuse_file_info *fi);
void synth_open(struct mount *m, fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi);
void synth_read(struct mount *m, fuse_req_t req, size_t size, off_t off, struct fuse_file_info *fi);
void synth_write(struct mount *m, fuse_req_t req, struct fuse_bufvec *in, off_t off,
	struct fuse_file_info *fi);
void synth_flush(struct mount *m, fuse_req_t req, struct fuse_file_info *fi);
void synth_release(struct mount *m, fuse_req_t req, struct fuse_file_info *fi);
void synth_fsync(struct mount *m, fuse_req_t req, struct fuse_file_info *fi);
void synth_poll(
	struct mount *m, fuse_req_t req, struct fuse_file_info *fi, struct fuse_pollhandle *poll);
void synth_readdir(
	struct mount *m, fuse_req_t req, fuse_ino_t ino, size_t size, off_t off, bool plus);
/* Closes what the kernel did not release before the mount ended. */
void synth_handles_close(struct mount *m);

void synth_access(struct mount *m, fuse_req_t req, fuse_ino_t ino, int mask);
