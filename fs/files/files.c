// files/ as a whole: what it is made of, and how names become nodes.
#include "fs/files/files_impl.h"

#include <errno.h>
#include <linux/magic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statfs.h>
#include <sys/statvfs.h>
#include <sys/sysmacros.h>

#include "common/scope.h"
#include "common/unsafe.h"

#define HELD_BLOCKS_MAX 2048 /* 1 MiB in st_blocks' unit */

static const char *const reserved_names[] = {"proc", "sys", "dev"};
static const char *const mount_names[] = {"usr", "opt", "var/lib/dpkg"};

bool files_is_reserved(uint64_t parent, const char *name)
{
	if (parent != FILES_ROOT || unsafe_is("reserved"))
		return false;
	for (size_t i = 0; i < ARRAY_LEN(reserved_names); i++)
		if (!strcmp(name, reserved_names[i]))
			return true;
	return false;
}

/* Which file systems keep their word about times: here a page written through a mapping is set
 * read-only once it is stored, so that the next store is noticed. tmpfs never notices any. */
static void learn_file_system(struct files *files)
{
	struct statfs fs;

	if (fstatfs(files->config.tree_fd, &fs) < 0)
		return;
	files->has_birth = fs.f_type != OVERLAYFS_SUPER_MAGIC;
	files->mtime_is_true = fs.f_type == EXT4_SUPER_MAGIC || fs.f_type == XFS_SUPER_MAGIC ||
			       fs.f_type == BTRFS_SUPER_MAGIC;
}

/* In a fixed order, so that inode numbers are the same in each mount. */
static void learn_devices(struct files *files)
{
	struct statx sx = {0};

	for (size_t i = 0; i < ARRAY_LEN(mount_names); i++)
		if (files_statx(files->config.tree_fd, mount_names[i], &sx) == 0)
			files_ino(files, makedev(sx.stx_dev_major, sx.stx_dev_minor), 0);
}

static int set_up(struct files *files, struct fail *f)
{
	struct node_key root;
	struct statx sx = {0};
	int r;

	umask(0); /* the caller's was applied by the kernel */
	files->proc_fd = open("/proc/self/fd", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (files->proc_fd < 0)
		return fail_errno(f, -errno, "/proc/self/fd");
	r = files_statx(files->config.tree_fd, "", &sx);
	if (r < 0)
		return fail_errno(f, r, "the root of the sandbox's tree");
	files->root_dev = makedev(sx.stx_dev_major, sx.stx_dev_minor);
	learn_file_system(files);
	learn_devices(files);
	files_key(files, &sx, &root);
	r = node_table_new(files->config.tree_fd, &root, files->config.root_ino,
		files->config.max_fds, FILES_IDLE_MAX, &files->nodes);
	return r < 0 ? fail_errno(f, r, "the table of nodes") : 0;
}

int files_new(const struct files_config *config, struct files **ret, struct fail *f)
{
	struct files *files = calloc(1, sizeof(*files));
	int r;

	if (!files)
		return fail_errno(f, -ENOMEM, "files/");
	files->config = *config;
	files->proc_fd = -1;
	pthread_mutex_init(&files->devices_lock, NULL);
	pthread_mutex_init(&files->dirs_lock, NULL);
	pthread_mutex_init(&files->cache.watch.lock, NULL);
	files_missed_init(&files->cache.missed);
	pthread_mutex_init(&files->backing.lock, NULL);
	list_init(&files->cache.watch.all);
	list_init(&files->cache.watch.own);
	files->cache.watch.fd = -1;
	list_init(&files->dirs);
	r = set_up(files, f);
	if (r < 0) {
		files_free(files);
		return r;
	}
	*ret = files;
	return 0;
}

void files_free(struct files *files)
{
	if (!files)
		return;
	files_dirs_free(files);
	files_watch_close(&files->cache.watch);
	pthread_mutex_destroy(&files->cache.watch.lock);
	files_missed_close(&files->cache.missed);
	pthread_mutex_destroy(&files->backing.lock);
	node_table_free(files->nodes);
	pthread_mutex_destroy(&files->dirs_lock);
	close_fd(&files->proc_fd);
	pthread_mutex_destroy(&files->devices_lock);
	free(files);
}

void files_counts(struct files *files, uint64_t *ret_nodes, uint64_t *ret_fds)
{
	node_table_counts(files->nodes, ret_nodes, ret_fds);
}

int files_use_dir(struct files *files, uint64_t ino, struct node_use *ret)
{
	int r = node_table_use(files->nodes, ino, ret);

	if (r < 0)
		return r;
	if (!S_ISDIR(ret->type))
		return -ENOTDIR;
	return ret->reserved ? -EACCES : 0;
}

int files_new_begin(struct files *files, uint64_t parent, const char *name, struct files_new *ret)
{
	int r = files_use_dir(files, parent, &ret->dir);

	if (r < 0)
		return r;
	if (files_is_reserved(parent, name))
		return -EACCES;
	ret->name = (struct files_name){.dir = &ret->dir, .parent = parent, .name = name};
	ret->name.term = files_cache_begin(files, parent, &ret->dir, false);
	files_own_begin(files, parent, name, &ret->own);
	return 0;
}

void files_new_end(struct files_new *made)
{
	files_own_end(&made->own);
	node_use_drop(&made->dir);
}

int files_check_movable(int dir_fd, uint64_t parent, const char *name)
{
	struct statx sx = {0};
	int r;

	if (unsafe_is("reserved"))
		return 0;
	if (files_is_reserved(parent, name))
		return -EBUSY;
	r = files_statx(dir_fd, name, &sx);
	if (r < 0)
		return r;
	return sx.stx_attributes & STATX_ATTR_MOUNT_ROOT ? -EBUSY : 0;
}

void files_fill_entry(struct files *files, const struct files_term *term, fuse_ino_t ino,
	struct fuse_entry_param *ret)
{
	ret->ino = ino;
	ret->generation = files->config.generation;
	ret->entry_timeout = files_cache_entry(files, term);
	ret->attr_timeout = files_cache_attr(files, term, ino, &ret->attr);
}

int files_enter_found(struct files *files, const struct files_name *name, const struct statx *sx,
	int fd, struct fuse_entry_param *ret)
{
	struct node_found found = {
		.fd = fd, .reserved = files_is_reserved(name->parent, name->name)};
	unsigned depth;
	uint64_t ino;
	int r = -ENOENT;

	*ret = (struct fuse_entry_param){0};
	if (!found.reserved || S_ISDIR(sx->stx_mode)) {
		files_key(files, sx, &found.key);
		r = node_table_enter(files->nodes, name->parent, name->name, &found, &ino, &depth);
	}
	close_fd(&found.fd);
	if (r < 0)
		return r;
	files_fill(files, sx, &ret->attr);
	if (S_ISLNK(sx->stx_mode))
		files_fix_link_size(files, name->dir->fd, name->name, depth, &ret->attr);
	files_fill_entry(files, &name->term, ino, ret);
	return 0;
}

int files_enter(struct files *files, const struct files_name *name, struct fuse_entry_param *ret)
{
	struct statx sx = {0};
	int r;

	r = files_statx(name->dir->fd, name->name, &sx);
	return r < 0 ? r : files_enter_found(files, name, &sx, -1, ret);
}

/* As files_enter(), and a file that is looked up, which may be opened next, is held: it can be
 * opened then although a command has put another in its place. */
static int enter_held(
	struct files *files, const struct files_name *name, struct fuse_entry_param *ret)
{
	int fd = -1;
	struct statx sx = {0};
	int r;

	r = files_statx(name->dir->fd, name->name, &sx);
	if (r == 0 && S_ISREG(sx.stx_mode) && sx.stx_blocks <= HELD_BLOCKS_MAX &&
		!files_cache_is_quiet(files))
		fd = openat(name->dir->fd, name->name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	if (fd >= 0)
		r = files_statx(fd, "", &sx);
	if (r == 0)
		return files_enter_found(files, name, &sx, fd, ret);
	close_fd(&fd);
	return r;
}

void files_reply_entry(struct files *files, fuse_req_t req, const struct files_term *term,
	const struct fuse_entry_param *e)
{
	struct fuse_entry_param last = *e;

	files_cache_settle(files);
	if (files_cache_is_over(files, term))
		last.entry_timeout = last.attr_timeout = 0;
	if (fuse_reply_entry(req, &last) == -ENOENT)
		files_forget(files, e->ino, 1);
	else
		files_cache_end(files, term, e->ino);
}

/* "." of any node: how a file server comes back to one whose number it has kept. */
static int enter_again(struct files *files, fuse_ino_t ino, struct files_term *ret_term,
	struct fuse_entry_param *ret)
{
	int r;

	*ret = (struct fuse_entry_param){0};
	*ret_term = files_cache_begin_node(files, ino);
	r = files_stat(files, ino, &ret->attr);
	if (r == 0)
		r = node_table_again(files->nodes, ino);
	if (r == 0)
		files_fill_entry(files, ret_term, ino, ret);
	return r;
}

/* ".." of a directory: of files/ itself, the mount's root. */
static int enter_parent(struct files *files, fuse_ino_t ino, struct files_term *ret_term,
	struct fuse_entry_param *ret)
{
	uint64_t parent;
	int r;

	r = node_table_parent(files->nodes, ino, &parent);
	if (r < 0 || parent)
		return r < 0 ? r : enter_again(files, parent, ret_term, ret);
	*ret = (struct fuse_entry_param){.ino = FUSE_ROOT_ID};
	ret->attr.st_ino = FUSE_ROOT_ID;
	ret->attr.st_mode = S_IFDIR | 0755;
	ret->attr.st_nlink = 2;
	ret->attr.st_uid = files->config.owner_uid;
	ret->attr.st_gid = files->config.owner_gid;
	return 0;
}

static int look_up(struct files *files, fuse_ino_t parent, const char *name,
	struct files_term *ret_term, struct fuse_entry_param *ret)
{
	auto_use struct node_use dir = {0};
	struct files_name found = {.dir = &dir, .parent = parent, .name = name};
	int r;

	*ret_term = (struct files_term){0};
	if (!strcmp(name, "."))
		return enter_again(files, parent, ret_term, ret);
	if (!strcmp(name, ".."))
		return enter_parent(files, parent, ret_term, ret);
	r = node_table_use(files->nodes, parent, &dir);
	if (r < 0)
		return r;
	if (!S_ISDIR(dir.type))
		return -ENOTDIR;
	*ret_term = files_cache_begin(files, parent, &dir, true);
	found.term = *ret_term;
	return dir.reserved ? -ENOENT : enter_held(files, &found, ret);
}

void files_lookup(struct files *files, fuse_req_t req, fuse_ino_t parent, const char *name)
{
	struct files_term term;
	struct fuse_entry_param e = {0};
	int r = look_up(files, parent, name, &term, &e);
	double absent = r == -ENOENT ? files_cache_negative(files, &term, parent) : 0;

	if (r == 0) {
		files_reply_entry(files, req, &term, &e);
	} else if (absent > 0) {
		files_cache_settle(files);
		e = (struct fuse_entry_param){.entry_timeout = absent};
		fuse_reply_entry(req, &e);
	} else {
		files_reply(req, r);
	}
}

void files_forget(struct files *files, fuse_ino_t ino, uint64_t nlookup)
{
	node_table_forget(files->nodes, ino, nlookup);
}

int files_root_entry(struct files *files, struct fuse_entry_param *ret)
{
	struct files_term term;
	int r = enter_again(files, files->config.root_ino, &term, ret);

	/* Its name never changes. */
	ret->entry_timeout = files_cache_forever(files);
	return r;
}

int files_root_attr(struct files *files, struct stat *ret)
{
	return files_stat(files, files->config.root_ino, ret);
}

void files_statfs(struct files *files, fuse_req_t req, fuse_ino_t ino)
{
	auto_place struct node_place place = {0};
	struct statvfs fs;
	int r;

	r = node_table_place(files->nodes, ino, &place);
	if (r == 0 && fstatvfs(place.use.fd, &fs) < 0)
		r = -errno;
	if (r < 0)
		files_reply(req, r);
	else
		fuse_reply_statfs(req, &fs);
}

static int check_access(struct files *files, fuse_ino_t ino, int mask)
{
	struct stat st;
	int r = files_stat(files, ino, &st);

	if (r < 0)
		return r;
	return (mask & X_OK) && !S_ISDIR(st.st_mode) && !(st.st_mode & 0111) ? -EACCES : 0;
}

/* Asked only when the kernel does not decide by the attributes: the owner of the mount alone enters
 * it, and is the sandbox's root there. */
void files_access(struct files *files, fuse_req_t req, fuse_ino_t ino, int mask)
{
	files_reply(req, check_access(files, ino, mask));
}

void files_set_full(struct files *files, bool full)
{
	atomic_store(&files->full, full);
}
