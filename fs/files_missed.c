// Nodes whose attributes could not be taken back.
#include "fs/files_missed.h"

#include <errno.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "common/scope.h"
#include "fs/files_impl.h"

/* From a millisecond on, twice as long each time: some seconds in all, after which no thread can
 * still be on its way. */
#define TRIES_MAX 12
#define FIRST_NSEC 1000000u

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
	scope_close(&missed->fd);
	pthread_mutex_destroy(&missed->lock);
}

int files_missed_fd(const struct files *files)
{
	return files->cache.missed.fd;
}

static void set_timer(const struct files_missed *missed)
{
	uint64_t nsec = (uint64_t)FIRST_NSEC << missed->tries;
	const struct itimerspec time = {.it_value = {
						.tv_sec = (time_t)(nsec / 1000000000u),
						.tv_nsec = (long)(nsec % 1000000000u),
					}};

	timerfd_settime(missed->fd, 0, &time, NULL);
}

void files_missed_add(struct files *files, uint64_t ino)
{
	struct files_missed *missed = &files->cache.missed;
	bool known = false;

	if (missed->fd < 0 || !node_table_is_looked_up(files->nodes, ino))
		return;
	pthread_mutex_lock(&missed->lock);
	for (unsigned i = 0; i < missed->len; i++)
		known = known || missed->inos[i] == ino;
	if (!known && missed->len < FILES_MISSED_MAX)
		missed->inos[missed->len++] = ino;
	else if (!known)
		missed->more = true;
	missed->tries = 0;
	set_timer(missed);
	pthread_mutex_unlock(&missed->lock);
}

/* Keeps those that the kernel still does not know, though it was told of them. */
static void retry_all(struct files *files)
{
	struct files_missed *missed = &files->cache.missed;
	unsigned kept = 0;

	for (unsigned i = 0; i < missed->len; i++) {
		uint64_t ino = missed->inos[i];

		if (files_cache_take_back(files, ino) == -ENOENT &&
			node_table_is_looked_up(files->nodes, ino))
			missed->inos[kept++] = ino;
	}
	missed->len = ++missed->tries < TRIES_MAX ? kept : 0;
	if (missed->len)
		set_timer(missed);
}

void files_missed_retry(struct files *files)
{
	struct files_missed *missed = &files->cache.missed;
	uint64_t expired;
	bool more;

	(void)!read(missed->fd, &expired, sizeof(expired));
	pthread_mutex_lock(&missed->lock);
	retry_all(files);
	more = missed->more;
	missed->more = false;
	pthread_mutex_unlock(&missed->lock);
	if (more)
		files_cache_renew(files);
}
