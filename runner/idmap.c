// Which ids of the host stand behind the ids inside the sandbox's user namespace.
#include "runner/idmap.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/capability.h>
#include <pwd.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/buf.h"
#include "common/program.h"
#include "common/scope.h"

#define ROOT_BASE 100000
#define FILE_MAX (1024 * 1024)

static int read_file(const char *path, struct buf *to)
{
	auto_close int fd = open(path, O_RDONLY | O_CLOEXEC);

	return fd < 0 ? -errno : buf_read(to, fd, FILE_MAX);
}

static bool parse_number(const char **at, char end, unsigned long *ret)
{
	char *stop;

	if (**at < '0' || **at > '9')
		return false;
	errno = 0;
	*ret = strtoul(*at, &stop, 10);
	if (errno || *stop != end)
		return false;
	*at = stop + 1;
	return true;
}

/* One line "name:first:count"; at points behind the name. */
static bool parse_range(const char *at, size_t line_len, uint32_t len, uint32_t *ret)
{
	char numbers[64];
	const char *p = numbers;
	unsigned long first, count;

	if (line_len >= sizeof(numbers))
		return false;
	memcpy(numbers, at, line_len);
	numbers[line_len] = '\0';
	if (!parse_number(&p, ':', &first) || !parse_number(&p, '\0', &count))
		return false;
	if (!first || count < len || first + len > UINT32_MAX)
		return false;
	*ret = (uint32_t)first;
	return true;
}

bool idmap_find_range(const char *text, const char *name, uid_t uid, uint32_t len, uint32_t *ret)
{
	char number[16];

	snprintf(number, sizeof(number), "%u", uid);
	while (*text) {
		size_t line_len = strcspn(text, "\n");
		size_t name_len = strcspn(text, ":\n");
		bool match =
			text[name_len] == ':' &&
			((name && strlen(name) == name_len && !strncmp(text, name, name_len)) ||
				(strlen(number) == name_len && !strncmp(text, number, name_len)));
		if (match && parse_range(text + name_len + 1, line_len - name_len - 1, len, ret))
			return true;
		text += line_len;
		text += *text == '\n';
	}
	return false;
}

static bool find_in_file(const char *path, const char *name, uid_t uid, uint32_t len, uint32_t *ret)
{
	auto_buf struct buf text = {0};

	return read_file(path, &text) == 0 &&
	       idmap_find_range(buf_text(&text), name, uid, len, ret);
}

static bool find_ranges(struct idmap *m, const char *name, uint32_t len)
{
	return find_in_file("/etc/subuid", name, m->uid, len, &m->uid_base) &&
	       find_in_file("/etc/subgid", name, m->uid, len, &m->gid_base);
}

void idmap_choose_single(struct idmap *ret)
{
	*ret = (struct idmap){.single = true, .uid = geteuid(), .gid = getegid(), .len = 1};
}

/* Root of a user namespace may have few ids to give away, as in a container: whether a file of
 * /proc/self, of lines `inside outside count`, has the range (user_namespaces(7)). */
static bool has_range(const char *path, uint32_t base, uint32_t len)
{
	auto_buf struct buf text = {0};
	unsigned long first, count;

	if (read_file(path, &text) < 0)
		return false;
	for (const char *line = buf_text(&text); *line;
		line += strcspn(line, "\n"), line += *line != 0)
		if (sscanf(line, "%lu %*u %lu", &first, &count) == 2 && first <= base &&
			(uint64_t)base + len <= (uint64_t)first + count)
			return true;
	return false;
}

void idmap_choose(struct idmap *ret)
{
	char path[PATH_MAX];
	char names[1024];
	struct passwd entry, *found = NULL;

	idmap_choose_single(ret);
	if (getpwuid_r(ret->uid, &entry, names, sizeof(names), &found) != 0)
		found = NULL;
	const char *name = found ? found->pw_name : NULL;
	if (ret->uid == 0) {
		ret->root = true;
		ret->single = false;
		ret->len = IDMAP_LEN;
		if (!find_ranges(ret, name, IDMAP_LEN))
			ret->uid_base = ret->gid_base = ROOT_BASE;
		if (!has_range("/proc/self/uid_map", ret->uid_base, IDMAP_LEN) ||
			!has_range("/proc/self/gid_map", ret->gid_base, IDMAP_LEN))
			idmap_choose_single(ret);
		return;
	}
	if (!program_find("newuidmap", path, sizeof(path)) ||
		program_gains(path, CAP_SETUID, NULL) < 0 ||
		!program_find("newgidmap", path, sizeof(path)) ||
		program_gains(path, CAP_SETGID, NULL) < 0)
		return;
	if (find_ranges(ret, name, IDMAP_LEN - 1)) {
		ret->single = false;
		ret->len = IDMAP_LEN;
	}
}

static int write_file(pid_t pid, const char *name, const char *text, struct fail *f)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/%s", pid, name);
	auto_close int fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0 || write(fd, text, strlen(text)) < 0)
		return fail_errno(f, -errno, "writing %s of the new user namespace", name);
	return 0;
}

static int write_direct(pid_t pid, const char *name, uint32_t outside, uint32_t len, struct fail *f)
{
	char line[64];

	snprintf(line, sizeof(line), "0 %u %u\n", outside, len);
	return write_file(pid, name, line, f);
}

/* newuidmap PID 0 USER 1 1 BASE 65535; its own complaints go to standard error. */
static int run_helper(const char *name, pid_t pid, uint32_t user, uint32_t base, struct fail *f)
{
	char path[PATH_MAX], words[6][16];
	int status;
	pid_t child;

	if (!program_find(name, path, sizeof(path)))
		return fail_set(f, -ENOENT, "%s is missing: install the package uidmap", name);
	const uint32_t numbers[] = {(uint32_t)pid, 0, user, 1, 1, base};
	for (size_t i = 0; i < ARRAY_LEN(numbers); i++)
		snprintf(words[i], sizeof(words[i]), "%u", numbers[i]);
	char count[16];
	snprintf(count, sizeof(count), "%d", IDMAP_LEN - 1);
	char *const argv[] = {
		path, words[0], words[1], words[2], words[3], words[4], words[5], count, NULL};
	int err = -posix_spawn(&child, path, NULL, NULL, argv, environ);
	if (err < 0)
		return fail_errno(f, err, "starting %s", path);
	while (waitpid(child, &status, 0) < 0) {
		if (errno != EINTR)
			return fail_errno(f, -errno, "waiting for %s", path);
	}
	if (!WIFEXITED(status) || WEXITSTATUS(status))
		return fail_set(f, -EPERM,
			"%s refused the range %u+%u: see /etc/subuid and /etc/subgid", path, base,
			IDMAP_LEN - 1);
	return 0;
}

/* Root keeps its id, and the range has the same numbers as outside. */
static int write_around(pid_t pid, const char *name, uint32_t base, uint32_t len, struct fail *f)
{
	char lines[64];

	snprintf(lines, sizeof(lines), "0 0 1\n%u %u %u\n", base, base, len);
	return write_file(pid, name, lines, f);
}

int idmap_write(const struct idmap *map, pid_t pid, struct fail *f)
{
	int err = 0;

	if (!map->root && !map->single) {
		err = run_helper("newuidmap", pid, map->uid, map->uid_base, f);
		return err < 0 ? err : run_helper("newgidmap", pid, map->gid, map->gid_base, f);
	}
	if (map->root) {
		err = write_around(pid, "uid_map", map->uid_base, map->len, f);
		return err < 0 ? err : write_around(pid, "gid_map", map->gid_base, map->len, f);
	}
	err = write_file(pid, "setgroups", "deny", f);
	if (err == 0)
		err = write_direct(pid, "uid_map", map->uid, map->len, f);
	return err < 0 ? err : write_direct(pid, "gid_map", map->gid, map->len, f);
}

/* A line lies within one of the namespace around. */
static int write_inside(
	const struct idmap *map, pid_t pid, const char *name, uint32_t base, struct fail *f)
{
	char lines[64];

	if (map->root || map->single)
		return write_direct(pid, name, map->root ? base : 0, map->len, f);
	snprintf(lines, sizeof(lines), "0 0 1\n1 1 %u\n", map->len - 1);
	return write_file(pid, name, lines, f);
}

int idmap_write_inside(const struct idmap *map, pid_t pid, struct fail *f)
{
	int err = write_inside(map, pid, "uid_map", map->uid_base, f);

	return err < 0 ? err : write_inside(map, pid, "gid_map", map->gid_base, f);
}
