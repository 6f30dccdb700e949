// Locks taken through the mount: who holds some on which file.
#include "fs/files/locks.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/pidfd.h>
#include <unistd.h>

#include "common/list.h"
#include "common/scope.h"

#define SLOTS 256 /* a power of two */

/* How many open files one owner may lock one file by: each is remembered until it is closed. */
#define USES_MAX 1024

struct locked_file {
	struct list link; /* in locks.slots */
	uint64_t id;
	int fd; /* owned: what stands for a file that has none; else -1 */
	struct list owners;
};

struct lock_owner {
	struct list link; /* in locked_file.owners */
	struct locked_file *file;
	uint64_t id;
	bool whole;
	bool writable; /* fd is */
	int fd; /* owned */
	pid_t pid;
	bool shared; /* by several processes: it is an open file's */
	bool seen; /* a close of the process would have been told */
	uint64_t *uses; /* owned: the open files that it came by */
	size_t uses_len;
};

struct locks {
	struct list slots[SLOTS]; /* of locked_file.link */
	int proc_fd; /* owned: /proc/self/fd */
	unsigned max, count; /* descriptors */
};

int locks_new(unsigned max, struct locks **ret)
{
	struct locks *locks = calloc(1, sizeof(*locks));
	int r = 0;

	if (!locks)
		return -ENOMEM;
	for (size_t i = 0; i < SLOTS; i++)
		list_init(&locks->slots[i]);
	locks->max = max;
	locks->proc_fd = open("/proc/self/fd", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (locks->proc_fd < 0)
		r = -errno;
	if (r < 0)
		locks_free(take_ptr(locks));
	else
		*ret = locks;
	return r;
}

unsigned locks_count(const struct locks *locks)
{
	return locks->count;
}

static struct list *slot_of(struct locks *locks, uint64_t id)
{
	/* Ids of synthetic files differ in their upper bits only. */
	return &locks->slots[(id ^ id >> 16 ^ id >> 25) & (SLOTS - 1)];
}

static struct locked_file *find_file(struct locks *locks, uint64_t id)
{
	struct list *item, *slot = slot_of(locks, id);

	list_for_each(item, slot)
	{
		struct locked_file *file = list_entry(item, struct locked_file, link);

		if (file->id == id)
			return file;
	}
	return NULL;
}

static struct lock_owner *find_owner(struct locked_file *file, uint64_t id, bool whole)
{
	struct list *item;

	if (!file)
		return NULL;
	list_for_each(item, &file->owners)
	{
		struct lock_owner *owner = list_entry(item, struct lock_owner, link);

		if (owner->id == id && owner->whole == whole)
			return owner;
	}
	return NULL;
}

static void drop_file(struct locks *locks, struct locked_file *file)
{
	list_remove(&file->link);
	locks->count -= file->fd >= 0;
	close_fd(&file->fd);
	free(file);
}

/* The file goes with its last owner. */
static void drop_owner(struct locks *locks, struct lock_owner *owner)
{
	struct locked_file *file = owner->file;

	list_remove(&owner->link);
	locks->count -= owner->fd >= 0;
	close_fd(&owner->fd);
	free(owner->uses);
	free(owner);
	if (list_empty(&file->owners))
		drop_file(locks, file);
}

void locks_free(struct locks *locks)
{
	if (!locks)
		return;
	for (size_t i = 0; i < SLOTS; i++)
		while (!list_empty(&locks->slots[i])) {
			struct locked_file *file =
				list_entry(locks->slots[i].next, struct locked_file, link);

			drop_owner(locks, list_entry(file->owners.next, struct lock_owner, link));
		}
	close_fd(&locks->proc_fd);
	free(locks);
}

/* Counts a descriptor that was opened. */
static int take_in(struct locks *locks, int fd)
{
	if (fd < 0)
		return errno == EMFILE || errno == ENFILE ? -ENOLCK : -errno;
	if (locks->count < locks->max) {
		locks->count++;
		return fd;
	}
	close(fd);
	return -ENOLCK;
}

/* One more open file description of what fd is of. */
static int reopen(struct locks *locks, int fd, bool writable)
{
	char name[16];

	snprintf(name, sizeof(name), "%d", fd);
	return take_in(
		locks, openat(locks->proc_fd, name,
			       (writable ? O_RDWR : O_RDONLY) | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
}

static struct locked_file *add_file(struct locks *locks, uint64_t id)
{
	struct locked_file *file = calloc(1, sizeof(*file));

	if (!file)
		return NULL;
	file->id = id;
	file->fd = -1;
	list_init(&file->owners);
	list_add_tail(slot_of(locks, id), &file->link);
	return file;
}

/* Without a descriptor yet. */
static int add_owner(
	struct locks *locks, const struct lock_request *request, struct lock_owner **ret)
{
	struct locked_file *file = find_file(locks, request->file);
	struct lock_owner *owner = calloc(1, sizeof(*owner));

	if (owner && !file)
		file = add_file(locks, request->file);
	if (!owner || !file) {
		free(owner);
		return -ENOMEM;
	}
	owner->file = file;
	owner->id = request->owner;
	owner->whole = request->whole;
	owner->fd = -1;
	list_add_tail(&file->owners, &owner->link);
	*ret = owner;
	return 0;
}

/* What the owner's descriptor is to be opened from. */
static int source_fd(
	struct locks *locks, struct locked_file *file, const struct lock_request *request)
{
	if (request->fd >= 0 || file->fd >= 0)
		return request->fd >= 0 ? request->fd : file->fd;
	file->fd = take_in(locks, memfd_create("locks", MFD_CLOEXEC));
	return file->fd;
}

static int open_owner(
	struct locks *locks, const struct lock_request *request, struct lock_owner **ret)
{
	struct lock_owner *owner;
	int r = add_owner(locks, request, &owner);

	if (r < 0)
		return r;
	r = source_fd(locks, owner->file, request);
	if (r >= 0)
		r = owner->fd = reopen(locks, r, request->writable);
	if (r < 0) {
		drop_owner(locks, owner);
		return r;
	}
	owner->writable = request->writable;
	*ret = owner;
	return 0;
}

/* The next range locked in an open /proc/self/fdinfo/N; see proc_pid_fdinfo(5). */
static bool next_range(FILE *info, struct flock *ret)
{
	char line[256], type[8], end[24];
	int64_t start;

	while (fgets(line, sizeof(line), info)) {
		if (sscanf(line, "lock: %*s OFDLCK %*s %7s %*s %*s %" SCNd64 " %23s", type, &start,
			    end) != 3)
			continue;
		*ret = (struct flock){.l_type = *type == 'W' ? F_WRLCK : F_RDLCK,
			.l_whence = SEEK_SET,
			.l_start = start};
		if (strcmp(end, "EOF"))
			ret->l_len = strtoll(end, NULL, 10) - start + 1;
		return true;
	}
	return false;
}

static void close_info(FILE **info)
{
	if (*info)
		fclose(*info);
}

static FILE *open_info(struct locks *locks, int fd)
{
	char name[32];
	FILE *info;
	int info_fd;

	snprintf(name, sizeof(name), "../fdinfo/%d", fd);
	info_fd = openat(locks->proc_fd, name, O_RDONLY | O_CLOEXEC);
	info = info_fd < 0 ? NULL : fdopen(info_fd, "r");
	if (!info && info_fd >= 0)
		close(info_fd);
	return info;
}

/* Locks at another descriptor what is locked at one that cannot write: to read, so both may. */
static int copy_ranges(struct locks *locks, int from, int to)
{
	FILE *info auto_call(close_info) = open_info(locks, from);
	struct flock range;

	if (!info)
		return -ENOLCK;
	while (next_range(info, &range))
		if (fcntl(to, F_OFD_SETLK, &range) < 0)
			return -errno;
	return 0;
}

/* An owner that could only read up to now comes by a file that is open for writing. */
static int widen(struct locks *locks, struct lock_owner *owner, const struct lock_request *request)
{
	int fd, r = source_fd(locks, owner->file, request);

	if (r >= 0)
		r = fd = reopen(locks, r, true);
	if (r < 0)
		return r;
	r = copy_ranges(locks, owner->fd, fd);
	if (r == 0) {
		int old = owner->fd;

		owner->fd = fd;
		owner->writable = true;
		fd = old;
	}
	close(fd);
	locks->count--;
	return r;
}

/* Mostly it is the one that was used last. */
static int note_use(struct lock_owner *owner, uint64_t handle)
{
	uint64_t *uses;

	for (size_t i = owner->uses_len; i > 0; i--)
		if (owner->uses[i - 1] == handle)
			return 0;
	if (owner->uses_len == USES_MAX)
		return -ENOLCK;
	uses = reallocarray(owner->uses, owner->uses_len + 1, sizeof(*uses));
	if (!uses)
		return -ENOMEM;
	owner->uses = uses;
	uses[owner->uses_len++] = handle;
	return 0;
}

/* All of it: a zombie, too, has closed its files. */
static bool has_ended(pid_t pid)
{
	struct pollfd poll_fd = {.events = POLLIN};
	int fd auto_close = pidfd_open(pid, 0);

	if (fd < 0)
		return errno == ESRCH;
	poll_fd.fd = fd;
	return poll(&poll_fd, 1, 0) == 1 && (poll_fd.revents & POLLIN);
}

/* Whether the owner is a process that is no more. Of an open file, whose locks stay as long as somebody has
 * it, the number is known once it was locked by flock(2). */
static bool is_over(struct lock_owner *owner, uint64_t handle)
{
	(void)handle;
	return !owner->whole && !owner->seen && !owner->shared && owner->pid > 0 &&
	       !find_owner(owner->file, owner->id, true) && has_ended(owner->pid);
}

/* The owner that there is. The kernel uses the number of a process again, once that has ended; the processes
 * that use an open file's may all live. */
static struct lock_owner *find_living(struct locks *locks, const struct lock_request *request)
{
	struct lock_owner *owner =
		find_owner(find_file(locks, request->file), request->owner, request->whole);

	if (!owner || !owner->pid || owner->pid == request->pid)
		return owner;
	if (is_over(owner, 0)) {
		drop_owner(locks, owner);
		return NULL;
	}
	owner->shared = true;
	return owner;
}

/* The owner, as one who can take such a lock. */
static int prepare(struct locks *locks, const struct lock_request *request, bool writes,
	struct lock_owner **ret)
{
	struct lock_owner *owner = find_living(locks, request);
	bool is_new = !owner;
	int r = 0;

	if (is_new)
		r = open_owner(locks, request, &owner);
	else if (writes && !owner->writable)
		r = widen(locks, owner, request);
	if (r < 0)
		return r;
	owner->seen = owner->seen || !request->closes_unseen;
	r = note_use(owner, request->handle);
	if (r < 0) {
		if (is_new)
			drop_owner(locks, owner);
		return r;
	}
	*ret = owner;
	return 0;
}

static int unlock(
	struct locks *locks, const struct lock_request *request, const struct flock *range)
{
	struct lock_owner *owner =
		find_owner(find_file(locks, request->file), request->owner, request->whole);
	struct flock part;

	if (!owner)
		return 0;
	if (!range || (range->l_start == 0 && range->l_len == 0)) {
		drop_owner(locks, owner);
		return 0;
	}
	part = *range;
	part.l_pid = 0;
	return fcntl(owner->fd, F_OFD_SETLK, &part) < 0 ? -errno : 0;
}

int locks_set(struct locks *locks, const struct lock_request *request, const struct flock *range)
{
	struct flock wanted = *range;
	struct lock_owner *owner;
	int r;

	if (range->l_type == F_UNLCK)
		return unlock(locks, request, range);
	r = prepare(locks, request, range->l_type == F_WRLCK, &owner);
	if (r < 0)
		return r;
	wanted.l_pid = 0;
	if (fcntl(owner->fd, F_OFD_SETLK, &wanted) < 0)
		return -errno;
	owner->pid = request->pid;
	return 0;
}

int locks_set_whole(struct locks *locks, const struct lock_request *request, int operation)
{
	struct lock_owner *owner;
	int r;

	if (operation == LOCK_UN)
		return unlock(locks, request, NULL);
	r = prepare(locks, request, false, &owner);
	if (r < 0)
		return r;
	return flock(owner->fd, operation | LOCK_NB) < 0 ? -errno : 0;
}

/* Whether the owner holds exactly this. */
static bool holds(struct locks *locks, const struct lock_owner *owner, const struct flock *wanted)
{
	FILE *info auto_call(close_info) = owner->whole ? NULL : open_info(locks, owner->fd);
	struct flock range;

	while (info && next_range(info, &range))
		if (range.l_type == wanted->l_type && range.l_start == wanted->l_start &&
			range.l_len == wanted->l_len)
			return true;
	return false;
}

/* Whose a lock is that is no process's as the kernel sees it: one of ours, or a command's. */
static pid_t find_pid(struct locks *locks, struct locked_file *file, const struct flock *range)
{
	struct list *item;

	if (!file)
		return 0;
	list_for_each(item, &file->owners)
	{
		const struct lock_owner *owner = list_entry(item, struct lock_owner, link);

		if (holds(locks, owner, range))
			return owner->pid;
	}
	return 0;
}

int locks_get(struct locks *locks, const struct lock_request *request, struct flock *range)
{
	struct locked_file *file = find_file(locks, request->file);
	const struct lock_owner *owner = find_owner(file, request->owner, false);
	int fd = owner ? owner->fd : request->fd;

	if (fd < 0 && file)
		fd = file->fd;
	range->l_pid = 0;
	if (fd < 0)
		range->l_type = F_UNLCK;
	else if (fcntl(fd, F_OFD_GETLK, range) < 0)
		return -errno;
	if (range->l_type != F_UNLCK && range->l_pid <= 0)
		range->l_pid = find_pid(locks, file, range);
	return 0;
}

bool locks_drop_owner(struct locks *locks, uint64_t file, uint64_t id)
{
	struct lock_owner *owner = find_owner(find_file(locks, file), id, false);

	if (owner)
		drop_owner(locks, owner);
	return owner;
}

static bool drop_if(struct locks *locks, struct locked_file *file,
	bool (*is)(struct lock_owner *owner, uint64_t handle), uint64_t handle)
{
	struct list *item, *next;
	bool any = false, is_last = false;

	for (item = file->owners.next; !is_last && item != &file->owners; item = next) {
		struct lock_owner *owner = list_entry(item, struct lock_owner, link);

		next = item->next;
		if (!is(owner, handle))
			continue;
		any = true;
		/* The file goes with the last one. */
		is_last = next == &file->owners;
		drop_owner(locks, owner);
	}
	return any;
}

static bool used(struct lock_owner *owner, uint64_t handle)
{
	for (size_t i = 0; i < owner->uses_len; i++)
		if (owner->uses[i] == handle)
			return true;
	return false;
}

bool locks_drop_ended(struct locks *locks, uint64_t id)
{
	struct locked_file *file = find_file(locks, id);

	return file && drop_if(locks, file, is_over, 0);
}

bool locks_drop_handle(struct locks *locks, uint64_t id, uint64_t handle)
{
	struct locked_file *file = find_file(locks, id);

	return file && drop_if(locks, file, used, handle);
}
