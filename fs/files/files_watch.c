// The directories of files/ whose changes are noticed while something runs in the sandbox.
#include "fs/files/files_watch.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/scope.h"
#include "fs/files/files_impl.h"

#define NAMES_MASK (IN_CREATE | IN_DELETE | IN_MOVED_FROM | IN_MOVED_TO)
#define APPEARED_MASK (IN_CREATE | IN_MOVED_TO)
/* A mapping's stores are not told of, but when it is gone its file is closed. */
#define WATCH_MASK                                                                                 \
	(NAMES_MASK | IN_MODIFY | IN_ATTRIB | IN_CLOSE_WRITE | IN_DELETE_SELF | IN_ONLYDIR)

/* Each keeps a directory in the kernel's memory. */
#define WATCHES_MAX 8192
#define FULL_USEC (10 * USEC_PER_SEC)
#define BUFFER_SIZE (16 * 1024)

struct watch {
	struct node_hash_link by_ino, by_wd;
	struct list link; /* in files_watch.all */
	uint64_t ino;
	int wd;
	bool negative; /* a name was told not to exist */
};

int files_watch_open(struct files_watch *watch)
{
	watch->fd = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
	return watch->fd < 0 ? -errno : 0;
}

int files_watch_fd(const struct files *files)
{
	return files->cache.watch.fd;
}

static uint64_t hash_of(uint64_t number)
{
	return number * 0x9e3779b97f4a7c15u >> 17;
}

static struct watch *find_ino(struct files_watch *watch, uint64_t ino)
{
	struct node_hash_link *link = node_hash_chain(&watch->by_ino, hash_of(ino));

	for (; link; link = link->next)
		if (container_of(link, struct watch, by_ino)->ino == ino)
			return container_of(link, struct watch, by_ino);
	return NULL;
}

static struct watch *find_wd(struct files_watch *watch, int wd)
{
	struct node_hash_link *link = node_hash_chain(&watch->by_wd, hash_of((uint64_t)wd));

	for (; link; link = link->next)
		if (container_of(link, struct watch, by_wd)->wd == wd)
			return container_of(link, struct watch, by_wd);
	return NULL;
}

static void forget(struct files_watch *watch, struct watch *w)
{
	node_hash_remove(&watch->by_ino, &w->by_ino);
	node_hash_remove(&watch->by_wd, &w->by_wd);
	list_remove(&w->link);
	free(w);
	atomic_fetch_sub(&watch->count, 1);
}

static void clear(struct files_watch *watch)
{
	while (!list_empty(&watch->all)) {
		struct watch *w = list_entry(watch->all.next, struct watch, link);

		inotify_rm_watch(watch->fd, w->wd);
		forget(watch, w);
	}
	watch->full_usec = 0;
}

void files_watch_close(struct files_watch *watch)
{
	while (!list_empty(&watch->all))
		forget(watch, list_entry(watch->all.next, struct watch, link));
	node_hash_clear(&watch->by_ino);
	node_hash_clear(&watch->by_wd);
	close_fd(&watch->fd);
}

void files_watch_clear(struct files *files)
{
	struct files_watch *watch = &files->cache.watch;

	if (!atomic_load(&watch->count))
		return;
	pthread_mutex_lock(&watch->lock);
	clear(watch);
	pthread_mutex_unlock(&watch->lock);
}

/* The kernel gives an inode that is watched already its old number again: another node stood for it. */
static void note(struct files *files, uint64_t ino, int wd)
{
	struct files_watch *watch = &files->cache.watch;
	struct watch *w = find_wd(watch, wd);

	if (w)
		forget(watch, w);
	w = calloc(1, sizeof(*w));
	if (!w || node_hash_room(&watch->by_ino) < 0 || node_hash_room(&watch->by_wd) < 0) {
		free(w);
		inotify_rm_watch(watch->fd, wd);
		return;
	}
	w->ino = ino;
	w->wd = wd;
	w->by_ino.hash = hash_of(ino);
	w->by_wd.hash = hash_of((uint64_t)wd);
	node_hash_add(&watch->by_ino, &w->by_ino);
	node_hash_add(&watch->by_wd, &w->by_wd);
	list_add_tail(&watch->all, &w->link);
	atomic_fetch_add(&watch->count, 1);
}

/* No room for more: after a while all begin anew, so that those in use now get their turn. */
static bool make_room(struct files *files)
{
	struct files_watch *watch = &files->cache.watch;
	uint64_t now = clock_monotonic_usec();

	if (!watch->full_usec)
		watch->full_usec = now;
	if (now - watch->full_usec < FULL_USEC)
		return false;
	clear(watch);
	files_cache_renew(files);
	return true;
}

static bool add(struct files *files, uint64_t ino, const struct node_use *dir)
{
	struct files_watch *watch = &files->cache.watch;
	char path[32];
	int wd = -ENOSPC;

	if (watch->fd < 0 || (atomic_load(&watch->count) >= WATCHES_MAX && !make_room(files)))
		return false;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", dir->fd);
	if (!watch->full_usec)
		wd = inotify_add_watch(watch->fd, path, WATCH_MASK);
	if (wd < 0 && (watch->full_usec || errno == ENOSPC || errno == ENOMEM)) {
		make_room(files);
		return false;
	}
	if (wd >= 0)
		note(files, ino, wd);
	return wd >= 0 && find_ino(watch, ino);
}

bool files_watch_add(struct files *files, uint64_t ino, const struct node_use *dir)
{
	struct files_watch *watch = &files->cache.watch;
	bool has;

	pthread_mutex_lock(&watch->lock);
	has = find_ino(watch, ino) || add(files, ino, dir);
	pthread_mutex_unlock(&watch->lock);
	return has;
}

bool files_watch_has(struct files *files, uint64_t ino)
{
	struct files_watch *watch = &files->cache.watch;
	bool has;

	if (!atomic_load(&watch->count))
		return false;
	pthread_mutex_lock(&watch->lock);
	has = find_ino(watch, ino) != NULL;
	pthread_mutex_unlock(&watch->lock);
	return has;
}

void files_watch_note_negative(struct files *files, uint64_t ino)
{
	struct files_watch *watch = &files->cache.watch;
	struct watch *w;

	pthread_mutex_lock(&watch->lock);
	w = find_ino(watch, ino);
	if (w)
		w->negative = true;
	pthread_mutex_unlock(&watch->lock);
}

/* Whether the kernel may have a wrong idea of a name. What was done through files/ itself is told
 * of, too, and there the table is right already; what has come and gone, as a journal, is what the
 * kernel thinks that it is. To be told so costs each directory that somebody works in its path, for
 * the moment until it is looked up again. Another name for a file that has one: what was said of it is
 * taken back. */
static bool is_name_wrong(struct files *files, const struct watch *w, const char *name)
{
	uint64_t child = node_table_child(files->nodes, w->ino, name);
	auto_use struct node_use dir = {0};
	struct node_key key;
	struct statx sx = {0};
	int r = node_table_use(files->nodes, w->ino, &dir);

	if (r == 0)
		r = files_statx(dir.fd, name, &sx);
	if (r == -ENOENT)
		return child;
	if (r < 0)
		return child || w->negative;
	files_key(files, &sx, &key);
	if (S_ISREG(sx.stx_mode) && sx.stx_nlink > 1)
		files_cache_forget_attr(files, node_table_of_key(files->nodes, &key));
	return child ? !node_table_is(files->nodes, child, &key) : w->negative;
}

static bool is_own(struct files_watch *watch, uint64_t parent, const char *name)
{
	bool found = false;
	struct list *item;

	list_for_each(item, &watch->own)
	{
		struct files_own *own = list_entry(item, struct files_own, link);

		if (own->parent == parent && !strcmp(own->name, name))
			found = own->told = true;
	}
	return found;
}

void files_own_begin(struct files *files, uint64_t parent, const char *name, struct files_own *own)
{
	struct files_watch *watch = &files->cache.watch;

	*own = (struct files_own){.parent = parent, .name = name};
	if (!atomic_load(&watch->count))
		return;
	own->files = files;
	pthread_mutex_lock(&watch->lock);
	list_add_tail(&watch->own, &own->link);
	pthread_mutex_unlock(&watch->lock);
}

void files_own_end(struct files_own *own)
{
	struct files *files = own->files;
	struct files_watch *watch;
	struct watch *w;

	if (!files)
		return;
	watch = &files->cache.watch;
	pthread_mutex_lock(&watch->lock);
	list_remove(&own->link);
	w = own->told ? find_ino(watch, own->parent) : NULL;
	if (w && is_name_wrong(files, w, own->name)) {
		w->negative = false;
		files_cache_forget_names(files);
	}
	pthread_mutex_unlock(&watch->lock);
}

/* True: all names are to be asked for again. */
static bool handle(struct files *files, struct watch *w, const struct inotify_event *event)
{
	const char *name = event->len ? event->name : NULL;
	uint64_t child = name ? node_table_child(files->nodes, w->ino, name) : 0;
	bool appeared = event->mask & APPEARED_MASK;
	bool wrong = false;

	if (!name || (event->mask & NAMES_MASK))
		files_cache_forget_attr(files, w->ino);
	if (child)
		files_cache_forget_attr(files, child);
	if (!(event->mask & NAMES_MASK))
		return false;
	if ((child || appeared) && !is_own(&files->cache.watch, w->ino, name))
		wrong = is_name_wrong(files, w, name);
	if (wrong)
		w->negative = false;
	return wrong;
}

static bool handle_all(struct files *files, const char *data, ssize_t len)
{
	struct files_watch *watch = &files->cache.watch;
	const struct inotify_event *event;
	bool wrong = false;

	for (ssize_t at = 0; at < len; at += (ssize_t)(sizeof(*event) + event->len)) {
		struct watch *w;

		event = (const struct inotify_event *)(data + at);
		if (event->mask & IN_Q_OVERFLOW) {
			clear(watch);
			files_cache_renew(files);
		}
		w = event->wd < 0 ? NULL : find_wd(watch, event->wd);
		if (w && (event->mask & IN_IGNORED))
			forget(watch, w);
		else if (w)
			wrong = handle(files, w, event) || wrong;
	}
	return wrong;
}

void files_watch_drain(struct files *files)
{
	struct files_watch *watch = &files->cache.watch;
	char buffer[BUFFER_SIZE] __attribute__((aligned(8)));
	bool wrong = false;
	int left = 0;
	ssize_t len;

	pthread_mutex_lock(&watch->lock);
	/* Not what comes meanwhile, which may be without end. */
	ioctl(watch->fd, FIONREAD, &left);
	while (left > 0 && (len = read(watch->fd, buffer, sizeof(buffer))) > 0) {
		left -= (int)len;
		atomic_fetch_add(&files->cache.generation, 1);
		wrong = handle_all(files, buffer, len) || wrong;
	}
	if (wrong)
		files_cache_forget_names(files);
	pthread_mutex_unlock(&watch->lock);
}
