// Nodes whose attributes, and listings whose names, could not be taken back.
#include "fs/files/files_missed.h"

#include <errno.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "common/scope.h"
#include "common/unsafe.h"
#include "fs/files/files_impl.h"

/* From a millisecond on, twice as long each time, up to some seconds. Nothing is given up: a thread may
 * be held up on its way for any time, and in the end the kernel either has the node or forgets it. */
#define FIRST_NSEC 1000000u
#define DOUBLINGS_MAX 12
#define BATCH 256

void files_missed_init(struct files_missed *missed)
{
	pthread_mutex_init(&missed->lock, NULL);
	missed->fd = -1;
}

int files_missed_open(struct files_missed *missed)
{
	missed->fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	return missed->fd < 0 ? -errno : 0;
}

void files_missed_close(struct files_missed *missed)
{
	close_fd(&missed->fd);
	pthread_mutex_destroy(&missed->lock);
}

int files_missed_fd(const struct files *files)
{
	return files->cache.missed.fd;
}

static void set_timer(const struct files_missed *missed)
{
	uint64_t nsec = (uint64_t)FIRST_NSEC << missed->doublings;
	const struct itimerspec time = {.it_value = {
						.tv_sec = (time_t)(nsec / 1000000000u),
						.tv_nsec = (long)(nsec % 1000000000u),
					}};

	timerfd_settime(missed->fd, 0, &time, NULL);
}

static void try_soon(struct files_missed *missed, bool names)
{
	pthread_mutex_lock(&missed->lock);
	missed->names = missed->names || names;
	if (!missed->is_soon) {
		missed->is_soon = true;
		missed->doublings = 0;
		set_timer(missed);
	}
	pthread_mutex_unlock(&missed->lock);
}

void files_missed_add(struct files *files, uint64_t ino)
{
	if (!unsafe_is("missed") && node_table_miss(files->nodes, ino))
		try_soon(&files->cache.missed, false);
}

void files_missed_add_names(struct files *files)
{
	if (!unsafe_is("missed"))
		try_soon(&files->cache.missed, true);
}

/* Those that there are now: what the kernel still does not know goes behind them. */
static void retry_all(struct files *files)
{
	uint64_t inos[BATCH];
	unsigned left = node_table_count_missed(files->nodes), len = 1;

	for (; left && len; left -= len) {
		len = node_table_take_missed(files->nodes, inos, left < BATCH ? left : BATCH);
		for (unsigned i = 0; i < len; i++)
			if (files_cache_take_back(files, inos[i]) == -ENOENT)
				node_table_miss(files->nodes, inos[i]);
	}
}

void files_missed_retry(struct files *files)
{
	struct files_missed *missed = &files->cache.missed;
	uint64_t expired;
	bool names;

	(void)!read(missed->fd, &expired, sizeof(expired));
	pthread_mutex_lock(&missed->lock);
	missed->is_soon = false;
	names = missed->names;
	missed->names = false;
	pthread_mutex_unlock(&missed->lock);
	names = names && files_cache_names_again(files);
	retry_all(files);
	pthread_mutex_lock(&missed->lock);
	missed->names = missed->names || names;
	if (!missed->is_soon && (missed->names || node_table_count_missed(files->nodes))) {
		missed->doublings += missed->doublings < DOUBLINGS_MAX;
		set_timer(missed);
	}
	pthread_mutex_unlock(&missed->lock);
}
