// The directory that keeps a sandbox's state.
#include "fs/state_dir.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/pidfd.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/mount_table.h"
#include "common/names.h"
#include "common/scope.h"
#include "common/xdg.h"
#include "fs/reserve.h"

#define FORMAT 1
#define LOCK_PATIENCE_USEC (2 * USEC_PER_SEC)

int state_dir_default(const char *tail, char **ret, struct fail *f)
{
	auto_buf struct buf path = {0};
	int r;

	if (buf_printf(&path, "sandpit/%s", tail) < 0)
		return -ENOMEM;
	r = xdg_path("XDG_STATE_HOME", ".local/state", path.data, ret);
	if (r == -ENOENT)
		return fail_set(f, r,
			"no place for the state: HOME is not set and the user database names no "
			"home; set XDG_STATE_HOME");
	return r;
}

static int make_all(const char *path)
{
	auto_free char *part = strdup(path);

	if (!part)
		return -ENOMEM;
	for (char *at = part + 1;; at++) {
		char old = *at;

		if (old != '/' && old != '\0')
			continue;
		*at = '\0';
		if (mkdir(part, 0700) < 0 && errno != EEXIST)
			return -errno;
		if (!old)
			return 0;
		*at = old;
	}
}

static int check_owner(const struct state_dir *state, struct fail *f)
{
	struct stat st;

	if (fstat(state->fd, &st) < 0)
		return fail_errno(f, -errno, "state directory %s", state->path);
	if (st.st_uid != geteuid())
		return fail_set(f, -EPERM, "state directory %s: belongs to user %u, not to you",
			state->path, st.st_uid);
	return 0;
}

/* Whoever could enter would reach the sandbox's files past the daemon. */
static int restrict_to_owner(const struct state_dir *state, struct fail *f)
{
	struct stat st;

	if (fchmod(state->fd, 0700) < 0 || fstat(state->fd, &st) < 0)
		return fail_errno(f, -errno, "state directory %s", state->path);
	if ((st.st_mode & 0777) != 0700)
		return fail_set(f, -EOPNOTSUPP,
			"state directory %s: its file system keeps no access rights; choose "
			"another place with -o state=DIR",
			state->path);
	return 0;
}

static ssize_t read_small(int fd, char *text, size_t size)
{
	ssize_t len = pread(fd, text, size - 1, 0);

	text[len < 0 ? 0 : len] = '\0';
	return len;
}

/* Says who has the lock: its file holds "PID MOUNT-POINT". */
static int refuse_second(const struct state_dir *state, struct fail *f)
{
	char text[PATH_MAX + 64], *place;
	long pid;

	read_small(state->lock_fd, text, sizeof(text));
	pid = strtol(text, &place, 10);
	place += *place == ' ';
	place[strcspn(place, "\n")] = '\0';
	mount_table_unescape(place);
	if (pid <= 0 || !*place)
		return fail_set(f, -EBUSY, "state directory %s: another daemon is starting in it",
			state->path);
	return fail_set(f, -EBUSY, "state directory %s: in use by the sandbox at %s (process %ld)",
		state->path, place, pid);
}

/* The daemon that had it has ended, perhaps without its parent having noticed yet, and what it left
 * behind is just ending. */
static bool holder_is_gone(const struct state_dir *state)
{
	auto_close int pidfd = -1;
	char text[64];
	long pid;

	if (read_small(state->lock_fd, text, sizeof(text)) <= 0)
		return false;
	pid = strtol(text, NULL, 10);
	if (pid <= 0)
		return false;
	pidfd = pidfd_open((pid_t)pid, 0);
	if (pidfd < 0)
		return errno == ESRCH;
	return poll(&(struct pollfd){.fd = pidfd, .events = POLLIN}, 1, 0) > 0;
}

static int take_lock(const struct state_dir *state)
{
	const struct timespec pause = {.tv_nsec = 10 * 1000 * 1000};
	uint64_t end = clock_monotonic_usec() + LOCK_PATIENCE_USEC;

	while (flock(state->lock_fd, LOCK_EX | LOCK_NB) < 0) {
		if (errno != EWOULDBLOCK)
			return -errno;
		if (!holder_is_gone(state) || clock_monotonic_usec() > end)
			return -EBUSY;
		nanosleep(&pause, NULL);
	}
	return 0;
}

static int lock(struct state_dir *state, const char *mount_point, struct fail *f)
{
	auto_buf struct buf text = {0};
	int r;

	state->lock_fd = openat(state->fd, "lock", O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (state->lock_fd < 0)
		return fail_errno(f, -errno, "state directory %s", state->path);
	r = take_lock(state);
	if (r == -EBUSY)
		return refuse_second(state, f);
	if (r < 0)
		return fail_errno(f, r, "state directory %s: cannot be locked", state->path);
	reserve_give_back(state->fd);
	buf_printf(&text, "%ld ", (long)getpid());
	mount_table_escape(&text, mount_point);
	buf_add_char(&text, '\n');
	if (text.error)
		return text.error;
	if (ftruncate(state->lock_fd, 0) < 0 ||
		pwrite(state->lock_fd, text.data, text.len, 0) != (ssize_t)text.len)
		return fail_errno(f, -errno, "state directory %s: the lock file", state->path);
	return 0;
}

/* A directory with other things in it was named by mistake: leave it alone. */
static int check_content(const struct state_dir *state, struct fail *f)
{
	bool has_version = faccessat(state->fd, "version", F_OK, AT_SYMLINK_NOFOLLOW) == 0;
	DIR *dir auto_dir = has_version ? NULL : names_open(state->fd, ".");
	struct dirent *entry;
	int r = 0;

	if (has_version)
		return 0;
	if (!dir)
		return fail_errno(f, -errno, "state directory %s", state->path);
	while (r == 0 && (entry = names_next(dir))) {
		const char *name = entry->d_name;

		if (strcmp(name, "lock") != 0 && strcmp(name, "version.new") != 0 &&
			strcmp(name, "probe") != 0)
			r = fail_set(f, -ENOTEMPTY,
				"state directory %s: holds other files ('%.60s'), not a sandbox's "
				"state",
				state->path, name);
	}
	return r;
}

/* What vfat, some network file systems and the like lack. */
static int probe(const struct state_dir *state, struct fail *f)
{
	unlinkat(state->fd, "probe", 0);
	if (symlinkat("target", state->fd, "probe") < 0)
		return fail_errno(f, -errno,
			"state directory %s: its file system cannot hold a sandbox (symbolic "
			"links); choose another place with -o state=DIR",
			state->path);
	unlinkat(state->fd, "probe", 0);
	return 0;
}

static int write_version(const struct state_dir *state)
{
	auto_close int fd = openat(state->fd, "version.new",
		O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
	char text[16];
	int len = snprintf(text, sizeof(text), "%d\n", FORMAT);

	if (fd < 0)
		return -errno;
	errno = EIO;
	if (write(fd, text, (size_t)len) != len || fsync(fd) < 0)
		return -errno;
	if (renameat(state->fd, "version.new", state->fd, "version") < 0)
		return -errno;
	return fsync(state->fd) < 0 ? -errno : 0;
}

static int begin(const struct state_dir *state, struct fail *f)
{
	int r = probe(state, f);

	if (r < 0)
		return r;
	r = write_version(state);
	return r < 0 ? fail_errno(f, r, "state directory %s", state->path) : 0;
}

static int check_version(const struct state_dir *state, struct fail *f)
{
	auto_close int fd =
		openat(state->fd, "version", O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	char text[16], *end;
	long format;

	if (fd < 0 && errno == ENOENT)
		return begin(state, f);
	if (fd < 0 || read_small(fd, text, sizeof(text)) < 0)
		return fail_errno(f, -errno, "state directory %s: version", state->path);
	format = strtol(text, &end, 10);
	if (format <= 0 || strcmp(end, "\n") != 0)
		return fail_set(f, -EBADMSG, "state directory %s: its version file is damaged",
			state->path);
	if (format > FORMAT)
		return fail_set(f, -EPROTONOSUPPORT,
			"state directory %s: written by a newer sandpit (format %ld, this one "
			"knows %d)",
			state->path, format, FORMAT);
	return 0;
}

static int failed(const char *path, int err, struct fail *f)
{
	if (err == -EACCES || err == -EROFS || err == -EPERM)
		return fail_set(f, err,
			"state directory %s: %s; set XDG_STATE_HOME to a directory where you may write",
			path, strerror(-err));
	return fail_errno(f, err, "state directory %s", path);
}

int state_dir_parent(const char *path)
{
	auto_free char *part = strdup(path);
	struct stat st;

	if (!part)
		return -ENOMEM;
	while (stat(part, &st) < 0) {
		if (errno != ENOENT)
			return -errno;
		if (!strrchr(part, '/') || !part[1])
			return -ENOENT;
		*(strrchr(part, '/') + (strrchr(part, '/') == part)) = '\0';
	}
	if (!S_ISDIR(st.st_mode))
		return -ENOTDIR;
	return faccessat(AT_FDCWD, part, W_OK | X_OK, AT_EACCESS) < 0 ? -errno : 0;
}

int state_dir_possible(const char *path, struct fail *f)
{
	int r = state_dir_parent(path);

	return r < 0 ? failed(path, r, f) : 0;
}

int state_dir_make(const char *path, struct fail *f)
{
	int r = make_all(path);

	return r < 0 ? failed(path, r, f) : 0;
}

static int open_path(const char *path, struct state_dir *state, struct fail *f)
{
	int r = state_dir_make(path, f);

	if (r < 0)
		return r;
	state->fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (state->fd < 0)
		return failed(path, -errno, f);
	state->path = realpath(path, NULL);
	return state->path ? 0 : fail_errno(f, -errno, "state directory %s", path);
}

int state_dir_open(const char *path, const char *mount_point, struct state_dir *ret, struct fail *f)
{
	struct state_dir state = {.fd = -1, .lock_fd = -1};
	int r = open_path(path, &state, f);

	if (r == 0)
		r = check_owner(&state, f);
	if (r == 0)
		r = check_content(&state, f);
	if (r == 0)
		r = restrict_to_owner(&state, f);
	if (r == 0)
		r = lock(&state, mount_point, f);
	if (r == 0)
		r = check_version(&state, f);
	if (r < 0) {
		state_dir_close(&state);
		return r;
	}
	*ret = state;
	return 0;
}

void state_dir_close(struct state_dir *state)
{
	if (state->lock_fd >= 0)
		close(state->lock_fd);
	if (state->fd >= 0)
		close(state->fd);
	free(state->path);
	*state = (struct state_dir){.fd = -1, .lock_fd = -1};
}
