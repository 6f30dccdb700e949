// Names of files/ made, removed and changed: mkdir, mknod, unlink, rmdir, rename.
#include "fs/files/files_impl.h"

#include <errno.h>
#include <stdio.h>
#include <unistd.h>

/* Devices mean nothing in files/, and the node 0:0 would be a whiteout once a directory became an
 * overlay's layer. */
static int make_node_at(int dir_fd, const char *name, mode_t mode)
{
	int r;

	if (S_ISCHR(mode) || S_ISBLK(mode))
		return -EPERM;
	if (S_ISDIR(mode))
		r = mkdirat(dir_fd, name, mode & 07777);
	else
		r = mknodat(dir_fd, name, mode, 0);
	return r < 0 ? -errno : 0;
}

static int make_node(struct files *files, fuse_ino_t parent, const char *name, mode_t mode,
	struct files_term *ret_term, struct fuse_entry_param *ret)
{
	auto_new struct files_new made = {0};
	int r = files_new_begin(files, parent, name, &made);

	if (r < 0)
		return r;
	*ret_term = made.name.term;
	r = make_node_at(made.dir.fd, name, mode);
	return r < 0 ? r : files_enter(files, &made.name, ret);
}

static void reply_made(
	struct files *files, fuse_req_t req, fuse_ino_t parent, const char *name, mode_t mode)
{
	struct files_term term;
	struct fuse_entry_param e;
	int r = make_node(files, parent, name, mode, &term, &e);

	if (r < 0)
		files_reply(req, r);
	else
		files_reply_entry(files, req, &term, &e);
}

void files_mknod(struct files *files, fuse_req_t req, fuse_ino_t parent, const char *name,
	mode_t mode, dev_t rdev)
{
	(void)rdev;
	reply_made(files, req, parent, name, mode);
}

void files_mkdir(
	struct files *files, fuse_req_t req, fuse_ino_t parent, const char *name, mode_t mode)
{
	reply_made(files, req, parent, name, S_IFDIR | (mode & 07777));
}

static int remove_at(struct files *files, fuse_ino_t parent, const char *name, int flags)
{
	auto_use struct node_use dir = {0}, child = {0};
	auto_own struct files_own own = {0};
	int r;

	r = files_use_dir(files, parent, &dir);
	if (r == 0)
		r = files_check_movable(dir.fd, parent, name);
	if (r < 0)
		return r;
	node_table_use_leaving(files->nodes, parent, name, &child);
	files_own_begin(files, parent, name, &own);
	if (unlinkat(dir.fd, name, flags) < 0)
		return -errno;
	node_table_unname(files->nodes, parent, name);
	return 0;
}

void files_unlink(struct files *files, fuse_req_t req, fuse_ino_t parent, const char *name)
{
	files_reply(req, remove_at(files, parent, name, 0));
}

void files_rmdir(struct files *files, fuse_req_t req, fuse_ino_t parent, const char *name)
{
	files_reply(req, remove_at(files, parent, name, AT_REMOVEDIR));
}

static int check_rename(const struct node_use *dir, fuse_ino_t parent, const char *name,
	const struct node_use *newdir, fuse_ino_t newparent, const char *newname)
{
	int r = files_check_movable(dir->fd, parent, name);

	if (r < 0)
		return r;
	r = files_check_movable(newdir->fd, newparent, newname);
	return r == -ENOENT ? 0 : r;
}

static int rename_at(struct files *files, fuse_ino_t parent, const char *name, fuse_ino_t newparent,
	const char *newname, unsigned int flags)
{
	auto_use struct node_use dir = {0}, newdir = {0}, replaced = {0};
	auto_own struct files_own own = {0}, newown = {0};
	int r;

	if (flags & ~(unsigned)(RENAME_NOREPLACE | RENAME_EXCHANGE))
		return -EINVAL;
	r = files_use_dir(files, parent, &dir);
	if (r == 0)
		r = files_use_dir(files, newparent, &newdir);
	if (r == 0)
		r = check_rename(&dir, parent, name, &newdir, newparent, newname);
	if (r < 0)
		return r;
	if (!(flags & RENAME_EXCHANGE))
		node_table_use_leaving(files->nodes, newparent, newname, &replaced);
	files_own_begin(files, parent, name, &own);
	files_own_begin(files, newparent, newname, &newown);
	node_table_rename_begin(files->nodes);
	r = renameat2(dir.fd, name, newdir.fd, newname, flags) < 0 ? -errno : 0;
	node_table_rename_end(
		files->nodes, r == 0, parent, name, newparent, newname, flags & RENAME_EXCHANGE);
	return r;
}

void files_rename(struct files *files, fuse_req_t req, fuse_ino_t parent, const char *name,
	fuse_ino_t newparent, const char *newname, unsigned int flags)
{
	files_reply(req, rename_at(files, parent, name, newparent, newname, flags));
}
