// What a process that makes a request is about to do.
#include "fs/caller.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "common/names.h"
#include "common/scope.h"

#define ANCESTORS_MAX 64

static ssize_t read_file(int dir_fd, const char *path, char *data, size_t size)
{
	int fd auto_close = openat(dir_fd, path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, data, size - 1);

	if (n >= 0)
		data[n] = '\0';
	return n;
}

struct descriptor {
	unsigned flags; /* as of open(2) */
	unsigned long long ino;
};

static bool read_descriptor(int proc_fd, const char *number, struct descriptor *ret)
{
	char path[32 + sizeof("fdinfo/")], text[512];
	const char *at;

	*ret = (struct descriptor){0};
	snprintf(path, sizeof(path), "fdinfo/%.30s", number);
	if (read_file(proc_fd, path, text, sizeof(text)) < 0)
		return false;
	at = strstr(text, "flags:");
	if (at)
		sscanf(at, "flags: %o", &ret->flags);
	at = strstr(text, "ino:");
	if (at)
		sscanf(at, "ino: %llu", &ret->ino);
	return true;
}

static bool writes(int proc_fd, const char *number, uint64_t ino)
{
	struct descriptor found;

	return read_descriptor(proc_fd, number, &found) && found.ino == ino &&
	       (found.flags & O_ACCMODE) != O_RDONLY;
}

/* Open to be read; a file server has some that stand for a place only. Without AT_STATX_DONT_SYNC the
 * kernel would ask us, who are not to be asked now. */
static bool reads_dir(int proc_fd, const char *number)
{
	char path[32 + sizeof("fd/")];
	struct descriptor found;
	struct statx sx;

	snprintf(path, sizeof(path), "fd/%.30s", number);
	return read_descriptor(proc_fd, number, &found) && !(found.flags & O_PATH) &&
	       statx(proc_fd, path, AT_STATX_DONT_SYNC, STATX_TYPE, &sx) == 0 &&
	       S_ISDIR(sx.stx_mode);
}

/* Whether the path, or one above it, ends in end. */
static bool is_below(const char *target, const char *end)
{
	size_t len = strlen(end);

	for (const char *at = strchr(target, '/'); at; at = strchr(at + 1, '/'))
		if (!strncmp(at + 1, end, len) && (!at[1 + len] || at[1 + len] == '/'))
			return true;
	return false;
}

/* A descriptor that is looked for: one that writes to the file of this number, or, without a number, one of a
 * directory at or below a path that ends so. The latter is asked of who removes something just now, and so
 * executes nothing. */
struct wanted {
	uint64_t ino;
	const char *path;
};

static bool is_wanted(int proc_fd, const char *number, const struct wanted *wanted)
{
	char link[32 + sizeof("fd/")], target[4096];
	ssize_t n;

	if (wanted->ino)
		return writes(proc_fd, number, wanted->ino);
	snprintf(link, sizeof(link), "fd/%.30s", number);
	n = readlinkat(proc_fd, link, target, sizeof(target) - 1);
	if (n <= 0)
		return false;
	target[n] = '\0';
	return is_below(target, wanted->path) && reads_dir(proc_fd, number);
}

/* How many it has, up to limit. */
static unsigned held(int proc_fd, const struct wanted *wanted, unsigned limit)
{
	DIR *dir auto_dir = names_open(proc_fd, "fd");
	struct dirent *entry;
	unsigned found = 0;

	while (dir && found < limit && (entry = names_next(dir)))
		found += is_wanted(proc_fd, entry->d_name, wanted);
	return found;
}

struct process {
	pid_t parent;
	bool ending; /* it has given up its descriptors */
};

/* A process that executes a program closes files meanwhile, and until it has, the kernel lets nobody read its
 * `stat`, or where its descriptors lead: who is asked for the close must not. `status`, the names in `fd` and
 * `fdinfo` are free. */
static bool read_status(int proc_fd, struct process *ret)
{
	char text[4096];
	const char *parent, *room;

	if (read_file(proc_fd, "status", text, sizeof(text)) < 0)
		return false;
	parent = strstr(text, "\nPPid:");
	room = strstr(text, "\nFDSize:");
	if (!parent || !room)
		return false;
	ret->parent = (pid_t)strtol(parent + strlen("\nPPid:"), NULL, 10);
	ret->ending = strtol(room + strlen("\nFDSize:"), NULL, 10) == 0;
	return true;
}

/* Whether a process that is ending does so by a signal: field 52, as waitpid(2) gives it. The name in field 2
 * may hold anything but ends at the last ')'. */
static bool was_killed(int proc_fd)
{
	char text[2048];
	const char *at;

	if (read_file(proc_fd, "stat", text, sizeof(text)) < 0)
		return false;
	at = strrchr(text, ')');
	for (int field = 3; at && field <= 52; field++) {
		at = strchr(at, ' ');
		at += at != NULL;
	}
	return at && (strtoul(at, NULL, 10) & 0x7f);
}

static bool has_thread(int proc_fd, pid_t thread)
{
	char path[32];

	snprintf(path, sizeof(path), "task/%d", thread);
	return faccessat(proc_fd, path, F_OK, 0) == 0;
}

static int open_process(pid_t pid)
{
	char path[32];

	snprintf(path, sizeof(path), "/proc/%d", pid);
	return open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

bool caller_is_below(pid_t pid, const char *path)
{
	const struct wanted wanted = {.path = path};
	int proc_fd auto_close = open_process(pid);

	return proc_fd >= 0 && held(proc_fd, &wanted, 1);
}

/* Whether it has more descriptors of the file than those of other opens. */
static bool shares(int proc_fd, const struct caller_file *file)
{
	const struct wanted wanted = {.ino = file->ino};
	unsigned others = 0;

	for (unsigned i = 0; i < file->others_len; i++)
		others += has_thread(proc_fd, file->others[i]);
	return held(proc_fd, &wanted, others + 1) > others;
}

enum caller_state caller_look(pid_t pid, const struct caller_file *file)
{
	for (int i = 0; i < ANCESTORS_MAX && pid > 1; i++) {
		struct process process;
		int proc_fd auto_close = open_process(pid);

		if (proc_fd < 0 || !read_status(proc_fd, &process))
			break;
		if (i == 0 && process.ending && was_killed(proc_fd))
			return CALLER_DYING;
		if (shares(proc_fd, file))
			return CALLER_SHARES;
		if (has_thread(proc_fd, file->opener))
			break;
		pid = process.parent;
	}
	return CALLER_LAST;
}

static uint64_t signal_set(const char *status, const char *key)
{
	const char *at = strstr(status, key);

	return at ? strtoull(at + strlen(key), NULL, 16) : 0;
}

bool caller_wants_end(pid_t pid)
{
	static const int telling[] = {
		SIGCHLD, SIGWINCH, SIGURG, SIGIO, SIGCONT, SIGSTOP, SIGTSTP, SIGTTIN, SIGTTOU};
	char path[32], text[4096];
	uint64_t pending;

	snprintf(path, sizeof(path), "/proc/%d/status", pid);
	if (read_file(AT_FDCWD, path, text, sizeof(text)) < 0)
		return true;
	pending = signal_set(text, "\nSigPnd:") | signal_set(text, "\nShdPnd:");
	for (size_t i = 0; i < ARRAY_LEN(telling); i++)
		pending &= ~(1ULL << (telling[i] - 1));
	return pending != 0;
}
