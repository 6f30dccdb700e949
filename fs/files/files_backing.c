// Passthrough: the kernel reads, writes and maps a regular file of files/ by itself, without asking.
//
// It wants one backing file for each inode, and one way for all of its opens: the first open decides.
// Its other rules: no kept pages (there are none), no writeback cache. See the kernel's
// Documentation/filesystems/fuse-passthrough.rst.
#include "fs/files/files_impl.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "common/scope.h"

/* The kernel's include/uapi/linux/fuse.h; the library's own calls print each refusal. */
struct backing_map {
	int32_t fd;
	uint32_t flags;
	uint64_t padding;
};

#define BACKING_OPEN _IOW(229, 1, struct backing_map)
#define BACKING_CLOSE _IOW(229, 2, uint32_t)

static int open_backing(struct files *files, int fd)
{
	struct backing_map map = {.fd = fd};
	int id = ioctl(fuse_session_fd(files->cache.session), BACKING_OPEN, &map);

	return id < 0 ? -errno : id;
}

static void close_backing(struct files *files, int id)
{
	uint32_t number = (uint32_t)id;

	ioctl(fuse_session_fd(files->cache.session), BACKING_CLOSE, &number);
}

/* Whether the kernel takes a file of the tree, asked once. */
static int probe(struct files *files)
{
	auto_use struct node_use root = {0};
	auto_close int fd = -1;
	int r = node_table_use(files->nodes, files->config.root_ino, &root);

	if (r < 0)
		return r;
	fd = openat(root.fd, ".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	if (fd < 0)
		return -errno;
	r = open_backing(files, fd);
	if (r > 0)
		close_backing(files, r);
	return r;
}

void files_backing_offer(struct files *files, bool kernel_has)
{
	files->backing.kernel_has = kernel_has;
}

static int state_of(struct files *files)
{
	struct files_backing *backing = &files->backing;

	if (!LIBFUSE_HAS_PASSTHROUGH || !backing->kernel_has || !files->cache.session ||
		files->config.counts_bytes)
		return -EOPNOTSUPP;
	pthread_mutex_lock(&backing->lock);
	if (!backing->state)
		backing->state = probe(files);
	pthread_mutex_unlock(&backing->lock);
	return backing->state;
}

bool files_backing_is_on(struct files *files)
{
	return state_of(files) > 0;
}

void files_backing_why_not(struct files *files, char *ret, size_t size)
{
	int state = state_of(files);

	if (!LIBFUSE_HAS_PASSTHROUGH)
		snprintf(ret, size, "built with libfuse %s; 3.17 or later is needed",
			libfuse_version());
	else if (!files->backing.kernel_has)
		snprintf(ret, size, "the kernel does not offer it; Linux 6.9 or later is needed");
	else if (files->config.counts_bytes)
		snprintf(ret, size, "disk= limits what may be written");
	else if (state == -EPERM)
		snprintf(ret, size, "only root may, outside of user namespaces");
	else if (state == -ELOOP)
		snprintf(ret, size,
			"the state directory lies on stacked file systems, as in a container; "
			"put it on a volume (state=)");
	else
		snprintf(ret, size, "%s", state < 0 ? strerror(-state) : "");
}

/* The kernel does not take set-id bits away when it writes by itself with our privileges. */
void files_drop_set_ids(int fd, const struct fuse_ctx *caller)
{
	struct stat st;
	mode_t drop = S_ISUID;

	if (caller->uid == 0 || fstat(fd, &st) < 0)
		return;
	if (st.st_mode & S_IXGRP)
		drop |= S_ISGID;
	if (st.st_mode & drop)
		fchmod(fd, st.st_mode & 07777 & ~drop);
}

void files_direct_offer(struct files *files, bool kernel_can)
{
	files->writes_direct = kernel_can;
}

/* What is written changes the file's time, at which the kernel drops the pages that it keeps: those of who only
 * writes need not be made. It gives up what it has of them before each write; what comes in meanwhile is
 * given up after it. */
static void open_unbacked(
	struct files *files, struct node_handle *handle, struct fuse_file_info *fi)
{
	handle->direct = files->writes_direct && (fi->flags & O_ACCMODE) == O_WRONLY;
	fi->direct_io = handle->direct;
	if (!handle->direct)
		node_table_back(files->nodes, handle, -1);
}

void files_backing_open(
	struct files *files, fuse_req_t req, struct node_handle *handle, struct fuse_file_info *fi)
{
	enum node_backing how;
	int id;

	if (state_of(files) <= 0) {
		open_unbacked(files, handle, fi);
		return;
	}
	how = node_table_back(files->nodes, handle, 0);
	id = handle->backing_id;

	if (how == NODE_BACKING_WANTED) {
		id = open_backing(files, handle->fd);
		how = node_table_back(files->nodes, handle, id);
		if (id > 0 && handle->backing_id != id)
			close_backing(files, id);
		id = handle->backing_id;
	}
	if (how != NODE_BACKING_HAS)
		return;
	libfuse_set_backing(fi, id);
	fi->keep_cache = 0;
	if ((fi->flags & O_ACCMODE) != O_RDONLY)
		files_drop_set_ids(handle->fd, fuse_req_ctx(req));
	if ((fi->flags & O_ACCMODE) == O_RDWR) {
		node_table_handle_maps(files->nodes, handle);
		files_cache_forget_attr(files, node_table_handle_id(handle));
	}
}

void files_backing_close(struct files *files, struct node_handle *handle)
{
	int id = node_table_detach(files->nodes, handle);

	if (id > 0)
		close_backing(files, id);
}
