// Which sandboxes of this user are mounted.
//
// The entries lie beside the state directories, in $XDG_STATE_HOME/sandpit/.run, and not in
// $XDG_RUNTIME_DIR: a daemon outlives the session that started it, and that directory is missing
// from cron and goes away at the last logout. Entries of before a restart of the machine are told
// by their missing lock.
//
// The locks are fcntl(2) locks, because F_GETLK names the process that holds one, and because no
// child that the daemon forks inherits them.
#include "cmd/registry.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/buf.h"
#include "common/mount_table.h"
#include "common/names.h"
#include "common/scope.h"
#include "fs/state_dir.h"

#define ENTRY_MAX (4 * 4 * PATH_MAX)

void registry_entry_clear(struct registry_entry *entry)
{
	free(entry->name);
	free(entry->mount_point);
	free(entry->state_path);
	*entry = (struct registry_entry){0};
}

/* FNV-1a; http://www.isthe.com/chongo/tech/comp/fnv/. A path itself may be too long for a name. */
uint64_t registry_hash(const char *path)
{
	uint64_t value = 0xcbf29ce484222325ULL;

	for (const unsigned char *p = (const unsigned char *)path; *p; p++)
		value = (value ^ *p) * 0x100000001b3ULL;
	return value;
}

static int entry_path(const char *mount_point, char **ret, struct fail *f)
{
	char tail[64];

	snprintf(
		tail, sizeof(tail), ".run/%016llx", (unsigned long long)registry_hash(mount_point));
	return state_dir_default(tail, ret, f);
}

static int make_folder(struct fail *f)
{
	auto_free char *path = NULL;
	int r = state_dir_default(".run", &path, f);

	if (r < 0)
		return r;
	return state_dir_make(path, f);
}

static int write_entry(int fd, const struct registry_entry *entry)
{
	auto_buf struct buf text = {0};

	buf_printf(&text, "since %llu\nname ", (unsigned long long)entry->since_usec);
	mount_table_escape(&text, entry->name);
	buf_add_str(&text, "\nmount ");
	mount_table_escape(&text, entry->mount_point);
	buf_add_str(&text, "\nstate ");
	mount_table_escape(&text, entry->state_path);
	buf_add_char(&text, '\n');
	if (text.error)
		return text.error;
	errno = EIO;
	if (ftruncate(fd, 0) < 0 || pwrite(fd, text.data, text.len, 0) != (ssize_t)text.len)
		return -errno;
	return 0;
}

static struct flock whole_file(void)
{
	return (struct flock){.l_type = F_WRLCK, .l_whence = SEEK_SET};
}

/* Who holds the lock; 0: nobody. */
static pid_t holder(int fd)
{
	struct flock lock = whole_file();

	if (fcntl(fd, F_GETLK, &lock) < 0 || lock.l_type == F_UNLCK)
		return 0;
	return lock.l_pid;
}

/* Whether path still is the file that fd has open: who had the lock before may have removed it. */
static bool is_same(int fd, const char *path)
{
	struct stat have, there;

	return fstat(fd, &have) == 0 && stat(path, &there) == 0 && have.st_dev == there.st_dev &&
	       have.st_ino == there.st_ino;
}

/* A locked descriptor of the entry at path; -EAGAIN: another process has the lock, or just removed
 * the file. */
static int open_locked(const char *path, int flags)
{
	auto_close int fd = open(path, O_RDWR | O_NOFOLLOW | O_CLOEXEC | flags, 0600);
	struct flock lock = whole_file();

	if (fd < 0)
		return -errno;
	if (fcntl(fd, F_SETLK, &lock) < 0)
		return errno == EACCES ? -EAGAIN : -errno;
	if (!is_same(fd, path))
		return -EAGAIN;
	return take_fd(&fd);
}

static int refuse_second(const char *path, const char *mount_point, struct fail *f)
{
	auto_close int fd = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	pid_t pid = fd < 0 ? 0 : holder(fd);

	if (pid == 0)
		return -EAGAIN;
	return fail_set(f, -EBUSY,
		"%s: a sandbox is mounted there, or is starting or ending "
		"(process %ld)",
		mount_point, (long)pid);
}

static int claim_path(const char *path, const char *mount_point, struct fail *f)
{
	int fd, r;

	do {
		fd = open_locked(path, O_CREAT);
		r = fd == -EAGAIN ? refuse_second(path, mount_point, f) : 0;
	} while (r == -EAGAIN);
	if (r < 0)
		return r;
	return fd < 0 ? fail_errno(f, fd, "%s", path) : fd;
}

int registry_add(const struct registry_entry *entry, struct registry_claim *ret, struct fail *f)
{
	auto_free char *path = NULL;
	int fd = -1, r = make_folder(f);

	if (r == 0)
		r = entry_path(entry->mount_point, &path, f);
	if (r == 0)
		r = fd = claim_path(path, entry->mount_point, f);
	if (r < 0)
		return r;
	r = write_entry(fd, entry);
	if (r < 0) {
		unlink(path);
		close(fd);
		return fail_errno(f, r, "%s", path);
	}
	*ret = (struct registry_claim){.fd = fd, .path = take_ptr(path)};
	return 0;
}

void registry_remove(struct registry_claim *claim)
{
	if (claim->path)
		unlink(claim->path);
	free(claim->path);
	close_fd(&claim->fd);
	claim->path = NULL;
}

void registry_prune(const char *mount_point)
{
	auto_free char *path = NULL;
	auto_close int fd = -1;

	if (entry_path(mount_point, &path, NULL) < 0)
		return;
	fd = open_locked(path, 0);
	if (fd >= 0)
		unlink(path);
}

/* One "key value" line. */
static int take_line(struct registry_entry *entry, char *line)
{
	char *value = strchr(line, ' ');
	char **place;

	if (!value)
		return -EBADMSG;
	*value++ = '\0';
	if (strcmp(line, "since") == 0) {
		entry->since_usec = strtoull(value, NULL, 10);
		return 0;
	}
	place = strcmp(line, "name") == 0    ? &entry->name
		: strcmp(line, "mount") == 0 ? &entry->mount_point
		: strcmp(line, "state") == 0 ? &entry->state_path
					     : NULL;
	if (!place || *place)
		return -EBADMSG;
	mount_table_unescape(value);
	*place = strdup(value);
	return *place ? 0 : -ENOMEM;
}

static int read_entry(const char *path, struct registry_entry *ret)
{
	auto_registry_entry struct registry_entry entry = {0};
	auto_close int fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	auto_free char *text = malloc(ENTRY_MAX + 1);
	char *at = text, *line;
	ssize_t len;

	if (!text)
		return -ENOMEM;
	if (fd < 0)
		return -errno;
	len = read(fd, text, ENTRY_MAX);
	if (len < 0)
		return -errno;
	text[len] = '\0';
	while ((line = strsep(&at, "\n")) && *line) {
		int r = take_line(&entry, line);

		if (r < 0)
			return r;
	}
	if (!entry.name || !entry.mount_point || !entry.state_path)
		return -EBADMSG;
	entry.pid = holder(fd);
	*ret = entry;
	entry = (struct registry_entry){0};
	return 0;
}

static int find_at(const char *path, const char *mount_point, struct registry_entry *ret)
{
	int r = read_entry(path, ret);

	if (r == 0 && strcmp(ret->mount_point, mount_point) != 0) {
		registry_entry_clear(ret);
		return -ENOENT;
	}
	return r;
}

int registry_find(const char *mount_point, struct registry_entry *ret)
{
	auto_free char *path = NULL;
	int r = entry_path(mount_point, &path, NULL);

	return r < 0 ? r : find_at(path, mount_point, ret);
}

static int pidfd_at(const char *path, const char *mount_point)
{
	auto_registry_entry struct registry_entry entry = {0}, again = {0};
	auto_close int fd = -1;
	int r = find_at(path, mount_point, &entry);

	if (r < 0 || entry.pid <= 0)
		return r < 0 && r != -ENOENT ? r : -ESRCH;
	fd = pidfd_open(entry.pid, 0);
	if (fd < 0)
		return -errno;
	/* It still holds the lock, so the number was not given to another meanwhile. */
	if (find_at(path, mount_point, &again) < 0 || again.pid != entry.pid)
		return -ESRCH;
	return take_fd(&fd);
}

int registry_pidfd(const char *mount_point)
{
	auto_free char *path = NULL;
	int r = entry_path(mount_point, &path, NULL);

	return r < 0 ? r : pidfd_at(path, mount_point);
}

int registry_pidfd_at(const char *entry, const char *mount_point)
{
	struct stat st;

	/* Somebody else's could be locked by anybody whom they bring to it. */
	if (lstat(entry, &st) < 0 || !S_ISREG(st.st_mode) || st.st_uid != geteuid())
		return -ESRCH;
	return pidfd_at(entry, mount_point);
}

static int add_to_list(struct registry_entry **list, size_t *len, const char *path)
{
	struct registry_entry entry, *grown;
	int r = read_entry(path, &entry);

	/* Half written, or gone meanwhile: no sandbox yet, or no more. */
	if (r < 0)
		return r == -ENOMEM ? r : 0;
	grown = reallocarray(*list, *len + 1, sizeof(**list));
	if (!grown) {
		registry_entry_clear(&entry);
		return -ENOMEM;
	}
	*list = grown;
	grown[(*len)++] = entry;
	return 0;
}

int registry_list(struct registry_entry **ret, size_t *ret_len)
{
	auto_free char *folder = NULL;
	struct registry_entry *list = NULL;
	size_t len = 0;
	struct dirent *item;
	DIR *dir auto_dir = NULL;
	int r = state_dir_default(".run", &folder, NULL);

	*ret = NULL;
	*ret_len = 0;
	if (r < 0)
		return r;
	dir = names_open(AT_FDCWD, folder);
	if (!dir)
		return errno == ENOENT ? 0 : -errno;
	while (r == 0 && (item = readdir(dir))) {
		char path[PATH_MAX];

		if (item->d_name[0] == '.')
			continue;
		if (snprintf(path, sizeof(path), "%s/%s", folder, item->d_name) < (int)sizeof(path))
			r = add_to_list(&list, &len, path);
	}
	if (r < 0) {
		registry_free(list, len);
		return r;
	}
	*ret = list;
	*ret_len = len;
	return 0;
}

void registry_free(struct registry_entry *entries, size_t len)
{
	for (size_t i = 0; i < len; i++)
		registry_entry_clear(&entries[i]);
	free(entries);
}
