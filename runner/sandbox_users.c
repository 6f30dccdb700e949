// The users of the sandbox's own /etc/passwd and /etc/group, and other questions about its tree.
#include "runner/sandbox_impl.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/buf.h"
#include "common/scope.h"
#include "common/unsafe.h"

#define RESOLVE_TREE (RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS)
#define FILE_MAX (1024 * 1024)

/* The text of a regular file of the tree. Looked at before it is opened: opening a FIFO or a device
 * does things. */
static int read_file(const struct sandbox *s, const char *path, struct buf *to)
{
	char name[32];
	struct stat st;
	auto_close int path_fd = sandbox_tree_openat2(s->tree_fd, path, O_PATH, RESOLVE_TREE);

	if (path_fd < 0)
		return path_fd;
	bool any = unsafe_is("nonblock");
	if (fstat(path_fd, &st) < 0 || (!S_ISREG(st.st_mode) && !any) || st.st_size > FILE_MAX)
		return -EINVAL;
	snprintf(name, sizeof(name), "/proc/self/fd/%d", path_fd);
	auto_close int fd = open(name, O_RDONLY | (any ? 0 : O_NONBLOCK) | O_CLOEXEC);
	return fd < 0 ? -errno : buf_read(to, fd, FILE_MAX);
}

static bool parse_id(const char *text, uint32_t *ret)
{
	char *end;

	if (!text || *text < '0' || *text > '9')
		return false;
	errno = 0;
	unsigned long value = strtoul(text, &end, 10);
	if (errno || *end || value > UINT32_MAX)
		return false;
	*ret = (uint32_t)value;
	return true;
}

static size_t cut(char *line, char **fields, size_t max)
{
	size_t count = 0;
	char *field;

	while (count < max && (field = strsep(&line, ":")))
		fields[count++] = field;
	return count;
}

/* name:password:uid:gid:comment:home:shell */
static bool parse_user(char *line, const char *wanted, struct sandbox_user *ret)
{
	char *fields[7];
	uint32_t number;

	if (cut(line, fields, 7) < 7 || !fields[0][0] || strlen(fields[0]) >= sizeof(ret->name))
		return false;
	if (!parse_id(fields[2], &ret->uid) || !parse_id(fields[3], &ret->gid))
		return false;
	if (strcmp(fields[0], wanted) != 0 && !(parse_id(wanted, &number) && number == ret->uid))
		return false;
	snprintf(ret->name, sizeof(ret->name), "%s", fields[0]);
	snprintf(ret->home, sizeof(ret->home), "%s", fields[5][0] == '/' ? fields[5] : "/");
	snprintf(ret->shell, sizeof(ret->shell), "%s", fields[6][0] == '/' ? fields[6] : "/bin/sh");
	return true;
}

static bool find_user(char *text, const char *wanted, struct sandbox_user *ret)
{
	char *line;

	while ((line = strsep(&text, "\n"))) {
		if (parse_user(line, wanted, ret))
			return true;
	}
	return false;
}

/* root is there whatever the sandbox did to its own /etc/passwd. */
static bool is_root(const char *name)
{
	return strcmp(name, "root") == 0 || strcmp(name, "0") == 0;
}

static void set_root(struct sandbox_user *ret)
{
	*ret = (struct sandbox_user){.name = "root", .home = "/root", .shell = "/bin/sh"};
}

static bool is_member(char *list, const char *name)
{
	char *member;

	while ((member = strsep(&list, ","))) {
		if (strcmp(member, name) == 0)
			return true;
	}
	return false;
}

/* name:password:gid:members */
static void add_groups(const struct sandbox *s, char *text, struct sandbox_user *user)
{
	char *fields[4], *line;
	uint32_t gid;

	user->groups[0] = user->gid;
	user->groups_len = 1;
	while ((line = strsep(&text, "\n")) && user->groups_len < ARRAY_LEN(user->groups)) {
		if (cut(line, fields, 4) == 4 && parse_id(fields[2], &gid) && gid < s->ids.len &&
			gid != user->gid && is_member(fields[3], user->name))
			user->groups[user->groups_len++] = gid;
	}
}

/* With one id that is mapped, the other users need not even be there. */
static int refuse_user(const struct sandbox *s, const char *name, bool is_there, struct fail *f)
{
	if (!*name)
		return fail_set(
			f, -EINVAL, "the user is empty; write a name or number of the sandbox's");
	if (s->map.single)
		return fail_set(f, -EINVAL,
			"user %.100s: only root is mapped in this sandbox; give the user who mounts it a "
			"range in /etc/subuid and /etc/subgid and install uidmap",
			name);
	if (!is_there)
		return fail_set(
			f, -EINVAL, "no user \"%.100s\" in the sandbox's /etc/passwd", name);
	return fail_set(f, -EINVAL, "the ids of user %s are not mapped", name);
}

int sandbox_find_user(
	const struct sandbox *s, const char *name, struct sandbox_user *ret, struct fail *f)
{
	auto_buf struct buf passwd = {0}, group = {0};
	struct sandbox_user user = {0};

	int err = read_file(s, "etc/passwd", &passwd);
	if (err == -ENOMEM)
		return err;
	if (!passwd.data || !find_user(passwd.data, name, &user)) {
		if (!is_root(name))
			return refuse_user(s, name, false, f);
		set_root(&user);
	}
	if (user.uid >= s->ids.len || user.gid >= s->ids.len)
		return refuse_user(s, user.name, true, f);
	if (read_file(s, "etc/group", &group) == -ENOMEM)
		return -ENOMEM;
	add_groups(s, group.data, &user);
	*ret = user;
	return 0;
}

bool sandbox_nesting_user(const struct sandbox *s, struct sandbox_user *ret)
{
	*ret = (struct sandbox_user){.name = "nesting",
		.home = "/",
		.shell = "/bin/sh",
		.uid = SANDBOX_NESTING_UID,
		.gid = SANDBOX_NESTING_UID};
	return s->ids.len > SANDBOX_NESTING_UID;
}

int sandbox_check_dir(const struct sandbox *s, const char *path)
{
	if (path[0] != '/')
		return -EINVAL;
	/* Whoever enters it gives the path as it is, slashes at its beginning, too. */
	if (strlen(path) >= PATH_MAX)
		return -ENAMETOOLONG;
	path += strspn(path, "/");
	auto_close int fd = sandbox_tree_openat2(
		s->tree_fd, *path ? path : ".", O_PATH | O_DIRECTORY, RESOLVE_TREE);
	return fd < 0 ? fd : 0;
}
