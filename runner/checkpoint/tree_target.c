// Finding the directory that a request names in the sandbox's tree, without trusting the tree.
#include "runner/checkpoint/tree_target.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "common/scope.h"

#define LEVELS_MAX 256
#define LINKS_MAX 8

struct tree_level {
	int fd; /* owned; O_PATH; -1: does not exist */
	char name[NAME_MAX + 1];
};

static const char *const reserved[] = {"proc", "sys", "dev"};

static int invalid(struct task *t, struct fail *f, const char *path, const char *why)
{
	return task_refuse(t, TASK_INVALID_ARGUMENT, f, "%s: %s", path, why);
}

static void pop(struct tree_target *target)
{
	close_fd(&target->levels[--target->len].fd);
}

/* What is left to walk: text, NUL-terminated, from at on. Links put their targets before it. */
struct rest {
	struct buf text;
	size_t at;
	unsigned links;
	const char *path; /* as asked, for words */
};

static int splice_link(
	struct task *t, int dir_fd, const char *name, struct rest *rest, struct fail *f)
{
	char link[PATH_MAX];
	ssize_t len = readlinkat(dir_fd, name, link, sizeof(link) - 1);
	struct buf text = {0};

	if (len < 0)
		return task_failed(t, -errno, f, "%s", rest->path);
	link[len] = '\0';
	if (++rest->links > LINKS_MAX)
		return invalid(t, f, rest->path, "too many symbolic links");
	if (link[0] == '/' || !strcmp(link, "..") || !strncmp(link, "../", 3) ||
		strstr(link, "/../") || (len >= 3 && !strcmp(link + len - 3, "/..")))
		return task_refuse(t, TASK_INVALID_ARGUMENT, f,
			"%s: the symbolic link %s leads elsewhere, to %s: give the directory itself",
			rest->path, name, link);
	buf_printf(&text, "%s/%s", link, buf_text(&rest->text) + rest->at);
	buf_clear(&rest->text);
	rest->text = text;
	rest->at = 0;
	return text.error;
}

/* Goes into name, or follows it when it is a link. */
static int enter(struct task *t, struct tree_target *target, const char *name, struct rest *rest,
	bool may_miss, struct fail *f)
{
	struct tree_level *above = &target->levels[target->len - 1];
	struct tree_level *level = above + 1;
	struct statx sx;

	if (target->len == LEVELS_MAX)
		return invalid(t, f, rest->path, "too many directories");
	*level = (struct tree_level){.fd = -1};
	memcpy(level->name, name, strlen(name) + 1);
	if (above->fd >= 0)
		level->fd = openat(above->fd, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	if (level->fd < 0 && (above->fd < 0 || errno == ENOENT)) {
		target->len++;
		return may_miss ? 0 : invalid(t, f, rest->path, "there is no such directory");
	}
	if (level->fd < 0)
		return task_failed(t, -errno, f, "%s", rest->path);
	target->len++;
	if (statx(level->fd, "", AT_EMPTY_PATH, STATX_TYPE | STATX_MNT_ID, &sx) < 0)
		return task_failed(t, -errno, f, "%s", rest->path);
	if (S_ISLNK(sx.stx_mode)) {
		pop(target);
		return splice_link(t, above->fd, name, rest, f);
	}
	if (!S_ISDIR(sx.stx_mode))
		return invalid(t, f, rest->path, "it is not a directory");
	if (sx.stx_mnt_id != target->mount_id)
		return invalid(t, f, rest->path,
			"it lies in the system's own part of the tree, not in a project directory "
			"such as /work or /home/user");
	return 0;
}

static int walk(struct task *t, struct tree_target *target, struct rest *rest, bool may_miss,
	struct fail *f)
{
	char name[NAME_MAX + 1];
	int r = 0;

	while (r == 0) {
		const char *at = buf_text(&rest->text) + rest->at;
		size_t slashes = strspn(at, "/");
		size_t len = strcspn(at + slashes, "/");

		rest->at += slashes + len;
		if (len == 0)
			return 0;
		if (len > NAME_MAX)
			return invalid(t, f, rest->path, "a name in it is too long");
		memcpy(name, at + slashes, len);
		name[len] = '\0';
		if (!strcmp(name, "..")) {
			if (target->len > 1)
				pop(target);
		} else if (strcmp(name, ".") != 0) {
			r = enter(t, target, name, rest, may_miss, f);
		}
	}
	return r;
}

static int check(struct task *t, const struct tree_target *target, const char *path, struct fail *f)
{
	if (target->len == 1)
		return invalid(t, f, path,
			"that is the root of the sandbox: give a directory below it, such as /work");
	for (size_t i = 0; i < ARRAY_LEN(reserved); i++)
		if (!strcmp(target->levels[1].name, reserved[i]))
			return invalid(t, f, path, "it is not kept on disk");
	return 0;
}

int tree_target_find(struct task *t, int tree_fd, const char *path, bool may_miss,
	struct tree_target *ret, struct fail *f)
{
	struct rest rest = {.path = path};
	struct statx sx;
	int r;

	*ret = (struct tree_target){
		.tree_fd = tree_fd, .levels = calloc(LEVELS_MAX + 1, sizeof(struct tree_level))};
	if (!ret->levels || buf_add_str(&rest.text, path) < 0) {
		buf_clear(&rest.text);
		return -ENOMEM;
	}
	ret->levels[0].fd = openat(tree_fd, ".", O_PATH | O_DIRECTORY | O_CLOEXEC);
	ret->len = 1;
	if (ret->levels[0].fd < 0 ||
		statx(ret->levels[0].fd, "", AT_EMPTY_PATH, STATX_MNT_ID, &sx) < 0) {
		buf_clear(&rest.text);
		return task_failed(t, -errno, f, "the sandbox's tree");
	}
	ret->mount_id = sx.stx_mnt_id;
	r = walk(t, ret, &rest, may_miss, f);
	buf_clear(&rest.text);
	return r < 0 ? r : check(t, ret, path, f);
}

void tree_target_clear(struct tree_target *target)
{
	while (target->levels && target->len)
		pop(target);
	free(target->levels);
	target->levels = NULL;
}

int tree_target_fd(const struct tree_target *target)
{
	return target->levels[target->len - 1].fd;
}

int tree_target_parent_fd(const struct tree_target *target)
{
	return target->levels[target->len - 2].fd;
}

const char *tree_target_name(const struct tree_target *target)
{
	return target->levels[target->len - 1].name;
}

int tree_target_make_parents(struct task *t, struct tree_target *target, struct fail *f)
{
	for (size_t i = 1; i + 1 < target->len; i++) {
		struct tree_level *level = &target->levels[i];
		int above = target->levels[i - 1].fd;

		if (level->fd >= 0)
			continue;
		if (mkdirat(above, level->name, 0755) < 0 && errno != EEXIST)
			return task_failed(t, -errno, f, "making the directory %s", level->name);
		level->fd =
			openat(above, level->name, O_PATH | O_NOFOLLOW | O_DIRECTORY | O_CLOEXEC);
		if (level->fd < 0)
			return task_failed(t, -errno, f, "the directory %s", level->name);
	}
	return 0;
}

void tree_target_path(const struct tree_target *target, struct buf *ret)
{
	for (size_t i = 1; i < target->len; i++)
		buf_printf(ret, "/%s", target->levels[i].name);
}
