// Links of files/: symbolic ones made and read, hard ones made.
#include "fs/files/files_impl.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <unistd.h>

#include "common/buf.h"
#include "fs/files/link_target.h"

int files_link_text(
	struct files *files, int dir_fd, const char *name, unsigned depth, struct buf *ret)
{
	char target[PATH_MAX];
	ssize_t len = readlinkat(dir_fd, name, target, sizeof(target) - 1);

	if (len < 0)
		return -errno;
	target[len] = '\0';
	return link_target_answer(files->config.tree_fd, dir_fd, depth, target, ret);
}

void files_readlink(struct files *files, fuse_req_t req, fuse_ino_t ino)
{
	auto_place struct node_place place = {0};
	auto_buf struct buf text = {0};
	int r;

	r = node_table_place(files->nodes, ino, &place);
	if (r == 0)
		r = files_link_text(files, place.use.fd, place.name, place.depth, &text);
	if (r < 0)
		files_reply(req, r == -ENOENT || r == -ENOTDIR || r == -EINVAL ? -ESTALE : r);
	else
		fuse_reply_readlink(req, buf_text(&text));
}

static int make_symlink(struct files *files, const char *target, fuse_ino_t parent,
	const char *name, struct files_term *ret_term, struct fuse_entry_param *ret)
{
	auto_new struct files_new made = {0};
	int r = files_new_begin(files, parent, name, &made);

	if (r < 0)
		return r;
	*ret_term = made.name.term;
	if (symlinkat(target, made.dir.fd, name) < 0)
		return -errno;
	return files_enter(files, &made.name, ret);
}

void files_symlink(
	struct files *files, fuse_req_t req, const char *link, fuse_ino_t parent, const char *name)
{
	struct files_term term;
	struct fuse_entry_param e;
	int r = make_symlink(files, link, parent, name, &term, &e);

	if (r < 0)
		files_reply(req, r);
	else
		files_reply_entry(files, req, &term, &e);
}

/* Of the inode itself, by its descriptor: that the link in /proc is followed leads to it also when
 * it is a symbolic link. */
static int make_link(struct files *files, fuse_ino_t ino, fuse_ino_t newparent, const char *newname,
	struct files_term *ret_term, struct fuse_entry_param *ret)
{
	auto_use struct node_use use = {0};
	auto_new struct files_new made = {0};
	char fd_name[16];
	int r = files_new_begin(files, newparent, newname, &made);

	if (r == 0)
		r = node_table_use(files->nodes, ino, &use);
	if (r < 0)
		return r;
	*ret_term = made.name.term;
	snprintf(fd_name, sizeof(fd_name), "%d", use.fd);
	if (linkat(files->proc_fd, fd_name, made.dir.fd, newname, AT_SYMLINK_FOLLOW) < 0)
		return -errno;
	return files_enter(files, &made.name, ret);
}

void files_link(struct files *files, fuse_req_t req, fuse_ino_t ino, fuse_ino_t newparent,
	const char *newname)
{
	struct files_term term;
	struct fuse_entry_param e;
	int r = make_link(files, ino, newparent, newname, &term, &e);

	if (r < 0)
		files_reply(req, r);
	else
		files_reply_entry(files, req, &term, &e);
}
