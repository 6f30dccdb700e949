// What the kernel may keep of files/'s answers, and how it is told that something is old.
#include "fs/files/files_impl.h"

#include <errno.h>
#include <sys/uio.h>
#include <time.h>

#include "common/clock.h"
#include "common/loop.h"
#include "common/scope.h"

#define LONG_SEC 3600.0

/* Attributes that the kernel keeps are taken back one by one, so there are only so many. */
#define PROMISED_MAX (128u * 1024)
#define BATCH 256

/* Not in the library's headers: the kernel's include/uapi/linux/fuse.h, FUSE_NOTIFY_INC_EPOCH. */
#define NOTIFY_INC_EPOCH 8

struct out_header {
	uint32_t len;
	int32_t error; /* the kind of notification */
	uint64_t unique; /* 0 */
};

static int forget_names(struct fuse_session *session)
{
	struct out_header header = {.len = sizeof(header), .error = NOTIFY_INC_EPOCH};
	struct iovec iov = {.iov_base = &header, .iov_len = sizeof(header)};

	return writev(fuse_session_fd(session), &iov, 1) < 0 ? -errno : 0;
}

void files_cache_start(struct files *files, struct fuse_session *session)
{
	struct files_cache *cache = &files->cache;

	/* What could not be taken back is not promised. */
	if (files_missed_open(&cache->missed) < 0)
		return;
	cache->can_forget_names = forget_names(session) == 0;
	cache->session = session;
	atomic_store(&cache->tokens, 1);
	cache->quiet_token = 1;
	files_watch_open(&cache->watch);
}

int files_cache_take_back(struct files *files, uint64_t ino)
{
	return fuse_lowlevel_notify_inval_inode(files->cache.session, ino, -1, 0);
}

static void forget_attr(struct files *files, uint64_t ino)
{
	if (files_cache_take_back(files, ino) == -ENOENT)
		files_missed_add(files, ino);
}

static void forget_attrs(struct files *files)
{
	uint64_t inos[BATCH];
	unsigned len;

	do {
		len = node_table_take_promised(files->nodes, inos, BATCH);
		for (unsigned i = 0; i < len; i++)
			forget_attr(files, inos[i]);
	} while (len == BATCH);
}

void files_cache_renew(struct files *files)
{
	struct files_cache *cache = &files->cache;

	if (!cache->session)
		return;
	atomic_fetch_add(&cache->generation, 1);
	if (!atomic_exchange(&cache->dirty, false))
		return;
	files_cache_forget_names(files);
	forget_attrs(files);
}

void files_cache_forget_names(struct files *files)
{
	if (!files->cache.can_forget_names)
		return;
	forget_names(files->cache.session);
	files_cache_names_late(files);
}

void files_cache_names_late(struct files *files)
{
	uint64_t now = clock_monotonic_usec();

	if (!files->cache.can_forget_names)
		return;
	atomic_store(&files->cache.forgot_usec, now);
	if (!files_dirs_on_way(files, 0, now))
		return;
	atomic_store(&files->cache.dirty, true);
	files_missed_add_names(files);
}

bool files_cache_names_again(struct files *files)
{
	struct files_cache *cache = &files->cache;
	bool on_way = files_dirs_on_way(files, 0, atomic_load(&cache->forgot_usec));

	forget_names(cache->session);
	if (on_way)
		atomic_store(&cache->dirty, true);
	return on_way;
}

void files_cache_names_in(struct files *files, uint64_t told_usec)
{
	struct files_cache *cache = &files->cache;

	if (cache->can_forget_names && told_usec <= atomic_load(&cache->forgot_usec))
		forget_names(cache->session);
}

void files_cache_forget_attr(struct files *files, uint64_t ino)
{
	if (node_table_unpromise(files->nodes, ino))
		forget_attr(files, ino);
}

static bool is_quiet(struct files_cache *cache)
{
	return !atomic_load(&cache->running) && !atomic_load(&cache->busy);
}

bool files_cache_is_quiet(struct files *files)
{
	return is_quiet(&files->cache);
}

bool files_cache_keeps_names(const struct files *files)
{
	return files->cache.can_forget_names;
}

static void change_state(struct files *files)
{
	struct files_cache *cache = &files->cache;

	files_cache_renew(files);
	if (is_quiet(cache))
		files_watch_clear(files);
	cache->quiet_token = atomic_fetch_add(&cache->tokens, 1) + 1;
}

void files_cache_set_quiet(struct files *files, bool quiet)
{
	if (quiet)
		files_cache_settle(files);
	atomic_store(&files->cache.running, !quiet);
	change_state(files);
}

void files_cache_busy(struct files *files, bool busy)
{
	if (busy)
		atomic_fetch_add(&files->cache.busy, 1);
	else
		atomic_fetch_sub(&files->cache.busy, 1);
	change_state(files);
}

void files_cache_settle(struct files *files)
{
	if (files->cache.session && !is_quiet(&files->cache) &&
		atomic_load(&files->cache.watch.count))
		files_watch_drain(files);
}

struct files_term files_cache_begin(
	struct files *files, uint64_t parent, const struct node_use *dir, bool watch)
{
	struct files_cache *cache = &files->cache;
	struct files_term term = {.generation = atomic_load(&cache->generation)};

	if (!cache->session)
		return term;
	if (is_quiet(cache))
		term.covered = true;
	else if (watch)
		term.covered = files_watch_add(files, parent, dir);
	else
		term.covered = files_watch_has(files, parent);
	return term;
}

struct files_term files_cache_begin_node(struct files *files, uint64_t ino)
{
	struct files_cache *cache = &files->cache;
	struct files_term term = {.generation = atomic_load(&cache->generation)};
	uint64_t parent = 0;

	if (!cache->session)
		return term;
	term.covered = is_quiet(cache) || (node_table_parent(files->nodes, ino, &parent) == 0 &&
						  parent && files_watch_has(files, parent));
	return term;
}

/* Said before the generation is looked at again: see the header. */
static bool promise(struct files_cache *cache, const struct files_term *term)
{
	if (!term->covered)
		return false;
	atomic_store(&cache->dirty, true);
	return atomic_load(&cache->generation) == term->generation;
}

static int64_t nsec_of(const struct timespec *ts)
{
	return ts->tv_sec * 1000000000LL + ts->tv_nsec;
}

double files_cache_entry(struct files *files, const struct files_term *term)
{
	return files->cache.can_forget_names && promise(&files->cache, term) ? LONG_SEC : 0;
}

double files_cache_forever(struct files *files)
{
	return files->cache.session ? LONG_SEC : 0;
}

double files_cache_negative(struct files *files, const struct files_term *term, uint64_t parent)
{
	struct files_cache *cache = &files->cache;

	if (!term->covered || !cache->can_forget_names)
		return 0;
	if (!is_quiet(cache))
		files_watch_note_negative(files, parent);
	return promise(cache, term) ? LONG_SEC : 0;
}

/* Which changes of a node's attributes are noticed. Always: a link's depend on where it leads. While
 * something runs: a directory's own are told of when it is watched itself, and a file with several
 * names may be changed by one elsewhere. */
static bool is_noticed(struct files *files, const struct files_term *term, uint64_t ino,
	mode_t mode, nlink_t links)
{
	if (S_ISLNK(mode))
		return false;
	if (is_quiet(&files->cache))
		return term->covered;
	return S_ISDIR(mode) ? files_watch_has(files, ino) : term->covered && links == 1;
}

/* The names of a directory cannot change without its second time, which nobody can set. Within a tick
 * of the clock both may stay. */
static struct node_stamp stamp_of(const struct stat *st)
{
	return (struct node_stamp){
		.mtime_nsec = nsec_of(&st->st_mtim), .ctime_nsec = nsec_of(&st->st_ctim)};
}

struct files_names files_cache_names_begin(struct files *files, uint64_t ino, const struct stat *st)
{
	struct files_names names = {.stamp = stamp_of(st)};
	struct timespec tick;

	clock_gettime(CLOCK_REALTIME_COARSE, &tick);
	names.settled = files->mtime_is_true && nsec_of(&tick) > names.stamp.ctime_nsec;
	names.alone = node_table_names_begin(files->nodes, ino, &names.parts);
	return names;
}

void files_cache_names_part(struct files *files, uint64_t ino, struct files_names *names)
{
	names->parts++;
	node_table_names_part(files->nodes, ino);
}

bool files_cache_names_same(const struct files_names *names, const struct stat *st)
{
	struct node_stamp stamp = stamp_of(st);

	return stamp.mtime_nsec == names->stamp.mtime_nsec &&
	       stamp.ctime_nsec == names->stamp.ctime_nsec;
}

void files_cache_forget_pages(struct files *files, uint64_t ino)
{
	files_cache_forget_range(files, ino, 0, 0);
}

/* At the end nobody answers the requests that it may wait for. */
void files_cache_forget_range(struct files *files, uint64_t ino, off_t off, off_t len)
{
	if (files->cache.session && !(files->config.loop && loop_stopping(files->config.loop)))
		fuse_lowlevel_notify_inval_inode(files->cache.session, ino, off, len);
}

void files_cache_names_end(
	struct files *files, uint64_t ino, const struct files_names *names, const struct stat *st)
{
	struct node_stamp stamp = stamp_of(st);
	bool alone = node_table_names_end(files->nodes, ino, names->parts) && names->alone;

	if (!files->cache.session)
		return;
	if (alone && names->settled && files_cache_names_same(names, st)) {
		node_table_names_told(files->nodes, ino, &stamp);
		return;
	}
	files_cache_forget_pages(files, ino);
	node_table_names_told(files->nodes, ino, NULL);
}

/* The kernel lists a directory from what it knows if it finds the time of change that it had then,
 * which could have been set back. */
static void check_names(struct files *files, uint64_t ino, const struct stat *st)
{
	struct node_stamp stamp = stamp_of(st);

	if (!node_table_names_old(files->nodes, ino, &stamp))
		return;
	files_cache_forget_pages(files, ino);
	/* What is on its way may be taken in after that. */
	if (files_dirs_on_way(files, ino, UINT64_MAX))
		node_table_names_told(files->nodes, ino, NULL);
}

double files_cache_attr(
	struct files *files, const struct files_term *term, uint64_t ino, const struct stat *st)
{
	struct files_cache *cache = &files->cache;
	struct files_term own = *term;
	uint64_t oldest;

	if (!cache->session)
		return 0;
	if (S_ISDIR(st->st_mode))
		check_names(files, ino, st);
	own.covered = is_noticed(files, term, ino, st->st_mode, st->st_nlink);
	if (!promise(cache, &own) || !node_table_promise(files->nodes, ino, PROMISED_MAX, &oldest))
		return 0;
	if (oldest)
		forget_attr(files, oldest);
	return LONG_SEC;
}

bool files_cache_is_over(struct files *files, const struct files_term *term)
{
	return atomic_load(&files->cache.generation) != term->generation;
}

void files_cache_end(struct files *files, const struct files_term *term, uint64_t ino)
{
	if (term->covered && files_cache_is_over(files, term))
		forget_attr(files, ino);
}

uint64_t files_cache_token(struct files *files)
{
	struct files_cache *cache = &files->cache;

	return cache->session && is_quiet(cache) ? cache->quiet_token : 0;
}
