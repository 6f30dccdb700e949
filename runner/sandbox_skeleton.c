// A middle layer for ordinary users: the directories of the host's layers, empty and owned by the
// user. The host's own belong to nobody inside, so that nothing could be installed in them; merged
// with these they take new files. All sandboxes of a user share them, by the state of the host.
//
// All directories would take seconds at the first mount, so that one gets those near the top, where
// most packages put things; all of them are made meanwhile, for the mounts that follow.
#include "runner/sandbox_impl.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/names.h"
#include "common/scope.h"
#include "runner/sandbox_copy.h"

#define NEAR_DEPTH 3
#define ALL_DEPTH 28
#define DIR_FLAGS (O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)

static uint64_t mix(uint64_t hash, uint64_t value)
{
	for (int i = 0; i < 8; i++, value >>= 8)
		hash = (hash ^ (value & 0xff)) * 0x100000001b3ULL;
	return hash;
}

static uint64_t mix_file(uint64_t hash, const char *path)
{
	struct stat st = {0};

	if (stat(path, &st) < 0)
		return mix(hash, 0);
	hash = mix(mix(hash, st.st_dev), st.st_ino);
	return mix(mix(hash, (uint64_t)st.st_mtim.tv_sec), (uint64_t)st.st_mtim.tv_nsec);
}

/* What tells one state of the host from another: its packages, and the directories themselves. */
static uint64_t key_of(const struct sandbox_plan *plan)
{
	uint64_t hash = mix_file(0xcbf29ce484222325ULL, "/var/lib/dpkg/status");

	for (size_t i = 0; i < plan->layers_len; i++)
		if (!plan->layers[i].plain)
			hash = mix_file(hash, plan->layers[i].host);
	return hash;
}

struct walk {
	unsigned depth_max;
	const atomic_bool *cancelled; /* NULL: not to be cancelled */
};

static int copy_dirs(const struct walk *w, int from_fd, int to_fd, unsigned depth);

static int copy_one(const struct walk *w, int from_fd, int to_fd, const char *name, unsigned depth)
{
	struct stat st;
	auto_close int from = openat(from_fd, name, DIR_FLAGS);

	/* What others may not enter stays as it is on the host. */
	if (from < 0 || fstat(from, &st) < 0 || (st.st_mode & 05) != 05)
		return 0;
	if (mkdirat(to_fd, name, 0700) < 0 && errno != EEXIST)
		return -errno;
	auto_close int to = openat(to_fd, name, DIR_FLAGS);
	if (to < 0)
		return -errno;
	int err = depth < w->depth_max ? copy_dirs(w, from, to, depth + 1) : 0;
	/* Caches of fonts and of modules look at the times of directories. */
	const struct timespec times[2] = {st.st_atim, st.st_mtim};
	if (err == 0 && (fchmod(to, (st.st_mode & 0777) | 0700) < 0 || futimens(to, times) < 0))
		err = -errno;
	return err;
}

static int copy_dirs(const struct walk *w, int from_fd, int to_fd, unsigned depth)
{
	DIR *dir auto_dir = names_take(fcntl(from_fd, F_DUPFD_CLOEXEC, 3));
	struct dirent *d;
	int err = 0;

	if (!dir)
		return -errno;
	while (err == 0 && (d = names_next(dir))) {
		if (w->cancelled && atomic_load(w->cancelled))
			return -ECANCELED;
		if (d->d_type == DT_DIR)
			err = copy_one(w, from_fd, to_fd, d->d_name, depth);
	}
	return err;
}

static bool is_wanted(const void *arg, const char *path)
{
	(void)arg;
	return strncmp(path, "info/", 5) != 0;
}

/* dpkg opens some of its files for writing, and links others before it replaces them: these are
 * copies of the user's own. */
static int copy_dpkg(int from_fd, int to_fd)
{
	static const char *const locks[] = {"lock", "lock-frontend", "triggers/Lock"};
	int err = sandbox_copy_tree(from_fd, to_fd, is_wanted, NULL);

	for (size_t i = 0; i < ARRAY_LEN(locks) && err == 0; i++) {
		auto_close int fd =
			openat(to_fd, locks[i], O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0640);
		if (fd < 0 && errno != ENOENT)
			err = -errno;
	}
	return err;
}

static int make_layer(const struct walk *w, const char *host, int base_fd, const char *name)
{
	struct stat st;
	auto_close int from = open(host, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (from < 0 || fstat(from, &st) < 0)
		return -errno;
	if (strcmp(name, "dpkg") == 0)
		sandbox_copy_remove(base_fd, name);
	if (mkdirat(base_fd, name, 0700) < 0 && errno != EEXIST)
		return -errno;
	auto_close int to = openat(base_fd, name, DIR_FLAGS);
	if (to < 0)
		return -errno;
	int err = strcmp(name, "dpkg") == 0 ? copy_dpkg(from, to) : copy_dirs(w, from, to, 1);
	const struct timespec times[2] = {st.st_atim, st.st_mtim};
	if (err == 0 && (fchmod(to, (st.st_mode & 0777) | 0700) < 0 || futimens(to, times) < 0))
		err = -errno;
	return err;
}

static bool exists(const struct sandbox_skeleton *k, const char *name)
{
	return faccessat(k->base_fd, name, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

/* Made beside, and given its name when it is whole. What was cancelled is gone on with by the next;
 * of several at once one works, and the others wait for it or, with LOCK_NB, do not. */
static int make(const struct sandbox_skeleton *k, const char *name, const struct walk *w, int wait)
{
	char part[64];

	snprintf(part, sizeof(part), "part-%s", name);
	if (mkdirat(k->base_fd, part, 0700) < 0 && errno != EEXIST)
		return -errno;
	auto_close int fd = openat(k->base_fd, part, DIR_FLAGS);
	if (fd < 0)
		return -errno;
	if (flock(fd, LOCK_EX | wait) < 0)
		return errno == EWOULDBLOCK ? 0 : -errno;
	int err = 0;
	for (size_t i = 0; i < k->layers_len && err == 0 && !exists(k, name); i++)
		err = make_layer(w, k->layers[i].host, fd, k->layers[i].name);
	if (err == 0 && renameat2(k->base_fd, part, k->base_fd, name, RENAME_NOREPLACE) < 0)
		err = exists(k, name) ? 0 : -errno;
	return err;
}

static void names_of(const struct sandbox_skeleton *k, char near[32], char all[32])
{
	snprintf(near, 32, "%016" PRIx64 "-near", k->key);
	snprintf(all, 32, "%016" PRIx64 "-all", k->key);
}

/* Held as long as the sandbox lives: whoever removes old ones wants the lock. */
static int open_locked(int base_fd, const char *name)
{
	auto_close int fd = openat(base_fd, name, DIR_FLAGS);

	if (fd < 0 || flock(fd, LOCK_SH | LOCK_NB) < 0)
		return -errno;
	return take_fd(&fd);
}

static int find_or_make(struct sandbox_skeleton *k)
{
	const struct walk w = {.depth_max = NEAR_DEPTH};
	char near[32], all[32];

	names_of(k, near, all);
	k->fd = open_locked(k->base_fd, all);
	k->whole = k->fd >= 0;
	if (k->fd < 0)
		k->fd = open_locked(k->base_fd, near);
	if (k->fd == -ENOENT && make(k, near, &w, 0) == 0)
		k->fd = open_locked(k->base_fd, near);
	return k->fd;
}

void sandbox_skeleton_choose(struct sandbox_skeleton *k, struct sandbox_plan *plan)
{
	const char *path = plan->config->skeleton_path;
	char near[32], all[32];

	if (!path || plan->ids.root || plan->config->rootfs)
		return;
	if (mkdir(path, 0700) < 0 && errno != EEXIST)
		return;
	k->base_fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	k->key = key_of(plan);
	for (size_t i = 0; i < plan->layers_len; i++)
		if (!plan->layers[i].plain)
			k->layers[k->layers_len++] = plan->layers[i];
	if (k->base_fd < 0 || find_or_make(k) < 0)
		return;
	names_of(k, near, all);
	snprintf(plan->skeleton_name, sizeof(plan->skeleton_name), "%s", k->whole ? all : near);
}

static bool is_of_key(const struct sandbox_skeleton *k, const char *name)
{
	char near[32], all[32];

	names_of(k, near, all);
	if (strncmp(name, "part-", 5) == 0)
		name += 5;
	return strcmp(name, near) == 0 || strcmp(name, all) == 0;
}

/* Those of other states of the host, which no sandbox uses, and what was left unfinished. */
static void remove_old(const struct sandbox_skeleton *k, const atomic_bool *cancelled)
{
	DIR *dir auto_dir = names_take(fcntl(k->base_fd, F_DUPFD_CLOEXEC, 3));
	struct dirent *d;

	while (dir && (d = readdir(dir)) && !atomic_load(cancelled)) {
		if (d->d_name[0] == '.' || is_of_key(k, d->d_name))
			continue;
		auto_close int old = openat(k->base_fd, d->d_name, DIR_FLAGS);
		if (old >= 0 && flock(old, LOCK_EX | LOCK_NB) == 0)
			sandbox_copy_remove(k->base_fd, d->d_name);
	}
}

bool sandbox_skeleton_is_whole(const struct sandbox *s)
{
	return s->skeleton.base_fd < 0 || s->skeleton.whole;
}

int sandbox_skeleton_complete(const struct sandbox *s, const atomic_bool *cancelled)
{
	const struct walk w = {.depth_max = ALL_DEPTH, .cancelled = cancelled};
	char near[32], all[32];

	/* Of this thread alone. */
	setpriority(PRIO_PROCESS, 0, 19);
	names_of(&s->skeleton, near, all);
	remove_old(&s->skeleton, cancelled);
	return make(&s->skeleton, all, &w, LOCK_NB);
}

void sandbox_skeleton_clear(struct sandbox_skeleton *k)
{
	close_fd(&k->fd);
	close_fd(&k->base_fd);
}
