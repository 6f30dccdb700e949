// Extended attributes of files/: those of users, less what overlayfs keeps among them.
#include "fs/files/files_impl.h"

#include <errno.h>
#include <limits.h>
#include <linux/limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/xattr.h>

static bool is_shown(const char *name)
{
	return !strncmp(name, "user.", 5) && strncmp(name, "user.overlay.", 13) != 0;
}

/* A node and the path in /proc that stands for it, also when its descriptor is O_PATH. */
struct target {
	struct node_use use;
	char path[32];
};

static void target_drop(struct target *target)
{
	node_use_drop(&target->use);
}
#define auto_target __attribute__((cleanup(target_drop)))

static int open_target(struct files *files, fuse_ino_t ino, struct target *ret)
{
	int r = node_table_use(files->nodes, ino, &ret->use);

	if (r == 0)
		snprintf(ret->path, sizeof(ret->path), "/proc/self/fd/%d", ret->use.fd);
	return r;
}

/* As open_target, for what a change to name is made on. */
static int open_for_change(
	struct files *files, fuse_ino_t ino, const char *name, struct target *ret)
{
	int r;

	if (!is_shown(name))
		return -EOPNOTSUPP;
	r = open_target(files, ino, ret);
	if (r < 0)
		return r;
	return ret->use.reserved ? -EACCES : 0;
}

void files_setxattr(struct files *files, fuse_req_t req, fuse_ino_t ino, const char *name,
	const char *value, size_t size, int flags)
{
	auto_target struct target target = {0};
	int r;

	r = open_for_change(files, ino, name, &target);
	if (r == 0 && setxattr(target.path, name, value, size, flags) < 0)
		r = -errno;
	files_reply(req, r);
}

void files_removexattr(struct files *files, fuse_req_t req, fuse_ino_t ino, const char *name)
{
	auto_target struct target target = {0};
	int r;

	r = open_for_change(files, ino, name, &target);
	if (r == 0 && removexattr(target.path, name) < 0)
		r = -errno;
	files_reply(req, r);
}

/* size 0 asks how long it is. */
static void reply_value(fuse_req_t req, ssize_t len, const char *value, size_t size)
{
	if (len < 0)
		files_reply(req, (int)len);
	else if (!size)
		fuse_reply_xattr(req, (size_t)len);
	else if ((size_t)len > size)
		files_reply(req, -ERANGE);
	else
		fuse_reply_buf(req, value, (size_t)len);
}

void files_getxattr(
	struct files *files, fuse_req_t req, fuse_ino_t ino, const char *name, size_t size)
{
	auto_target struct target target = {0};
	char *value = NULL;
	ssize_t len;

	if (!is_shown(name)) {
		files_reply(req, -EOPNOTSUPP);
		return;
	}
	len = open_target(files, ino, &target);
	if (len == 0 && size) {
		value = files_buffer(size);
		len = value ? 0 : -ENOMEM;
	}
	if (len == 0) {
		len = getxattr(target.path, name, value, size);
		len = len < 0 ? -errno : len;
	}
	reply_value(req, len, value, size);
}

/* Keeps the shown ones of the names, each with its NUL. */
static size_t filter_names(char *names, size_t len)
{
	size_t kept = 0, part;

	for (size_t i = 0; i < len; i += part) {
		part = strnlen(names + i, len - i) + 1;
		if (i + part > len || !is_shown(names + i))
			continue;
		memmove(names + kept, names + i, part);
		kept += part;
	}
	return kept;
}

void files_listxattr(struct files *files, fuse_req_t req, fuse_ino_t ino, size_t size)
{
	auto_target struct target target = {0};
	char *names = files_buffer(XATTR_LIST_MAX);
	ssize_t len;

	len = names ? open_target(files, ino, &target) : -ENOMEM;
	if (len == 0) {
		len = listxattr(target.path, names, XATTR_LIST_MAX);
		len = len < 0 ? -errno : (ssize_t)filter_names(names, (size_t)len);
	}
	reply_value(req, len, names, size);
}
