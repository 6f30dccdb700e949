// The event loop and its baton.
#include "common/loop.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>

#include "common/clock.h"
#include "common/turn.h"

enum { HELD, LENT }; /* states of the baton */

#define BATCH 16
#define TICK_NSEC 1000000 /* how often the watcher looks while files/ is busy */
#define QUIET_TICKS 5 /* after so many without a loan the watcher sleeps */

/* A loan that is out for so long may be so for ever: nobody waits for it, although all threads that
 * there should be are in use. */
#define STUCK_TICKS 10
#define STUCK_THREADS_MAX 1024

struct loop {
	int epoll_fd; /* owned */
	int wake_fd; /* owned; an eventfd that ends a wait at loop_stop() */
	struct loop_source wake;
	struct list timers;
	uint64_t handled;
	struct epoll_event batch[BATCH]; /* fetched, not yet handled; outlives a change of leader */
	int batch_at, batch_len;

	void (*thread_start)(void *arg);
	void *thread_start_arg;

	atomic_bool stop;
	atomic_uint out; /* loans of before loop_stop() that are not back */
	atomic_bool over; /* nobody leads any more, nor will */
	atomic_int baton;
	atomic_uint loans; /* counts loop_lend() */
	atomic_bool watching;

	pthread_mutex_t lock; /* guards all below; never held while a handler runs */
	pthread_cond_t promoted;
	pthread_cond_t watcher_wake;
	unsigned max_threads;
	unsigned threads; /* that run handlers, the one in loop_run() too */
	unsigned idle; /* followers that wait */
	unsigned promotions;
	pthread_cond_t thread_ended;

	pthread_t watcher;
	bool started; /* the watcher */
};

static _Thread_local bool leads;
static _Thread_local bool is_out; /* counted in out */

static void *thread_main(void *arg);

static void drain_wake(struct loop_source *source, uint32_t events)
{
	eventfd_t value;

	(void)events;
	eventfd_read(source->fd, &value);
}

int loop_new(struct loop **ret)
{
	struct loop *loop = calloc(1, sizeof(*loop));
	int r;

	if (!loop)
		return -ENOMEM;
	list_init(&loop->timers);
	pthread_mutex_init(&loop->lock, NULL);
	pthread_cond_init(&loop->promoted, NULL);
	pthread_cond_init(&loop->watcher_wake, NULL);
	pthread_cond_init(&loop->thread_ended, NULL);
	loop->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	loop->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	loop->wake = (struct loop_source){.fd = loop->wake_fd, .ready = drain_wake};
	r = loop->epoll_fd < 0 || loop->wake_fd < 0 ? -errno
						    : loop_watch(loop, &loop->wake, EPOLLIN);
	if (r < 0) {
		loop_free(loop);
		return r;
	}
	*ret = loop;
	return 0;
}

/* Once nobody leads, nor will. */
static void end_watcher(struct loop *loop)
{
	pthread_mutex_lock(&loop->lock);
	atomic_store(&loop->over, true);
	pthread_cond_signal(&loop->watcher_wake);
	pthread_mutex_unlock(&loop->lock);
	pthread_join(loop->watcher, NULL);
	loop->started = false;
}

void loop_free(struct loop *loop)
{
	if (!loop)
		return;
	if (loop->started)
		end_watcher(loop);
	close_fd(&loop->epoll_fd);
	close_fd(&loop->wake_fd);
	pthread_cond_destroy(&loop->thread_ended);
	pthread_cond_destroy(&loop->watcher_wake);
	pthread_cond_destroy(&loop->promoted);
	pthread_mutex_destroy(&loop->lock);
	free(loop);
}

void loop_set_thread_start(struct loop *loop, void (*start)(void *arg), void *arg)
{
	loop->thread_start = start;
	loop->thread_start_arg = arg;
}

void loop_stop(struct loop *loop)
{
	atomic_store(&loop->stop, true);
	eventfd_write(loop->wake_fd, 1);
	pthread_mutex_lock(&loop->lock);
	pthread_cond_broadcast(&loop->promoted);
	pthread_mutex_unlock(&loop->lock);
}

uint64_t loop_handled(const struct loop *loop)
{
	return loop->handled;
}

bool loop_stopping(struct loop *loop)
{
	return atomic_load(&loop->stop);
}

int loop_watch(struct loop *loop, struct loop_source *source, uint32_t events)
{
	struct epoll_event event = {.events = events, .data.ptr = source};

	return epoll_ctl(loop->epoll_fd, EPOLL_CTL_ADD, source->fd, &event) < 0 ? -errno : 0;
}

int loop_rewatch(struct loop *loop, struct loop_source *source, uint32_t events)
{
	struct epoll_event event = {.events = events, .data.ptr = source};

	return epoll_ctl(loop->epoll_fd, EPOLL_CTL_MOD, source->fd, &event) < 0 ? -errno : 0;
}

void loop_unwatch(struct loop *loop, struct loop_source *source)
{
	epoll_ctl(loop->epoll_fd, EPOLL_CTL_DEL, source->fd, NULL);
	for (int i = loop->batch_at; i < loop->batch_len; i++)
		if (loop->batch[i].data.ptr == source)
			loop->batch[i].data.ptr = NULL;
}

void loop_timer_set(struct loop *loop, struct loop_timer *timer, uint64_t due_usec)
{
	struct list *at;

	loop_timer_cancel(loop, timer);
	timer->due_usec = due_usec;
	timer->armed = true;
	list_for_each(at, &loop->timers) if (list_entry(at, struct loop_timer, link)->due_usec >
					     due_usec) break;
	list_add_tail(at, &timer->link);
}

void loop_timer_cancel(struct loop *loop, struct loop_timer *timer)
{
	(void)loop;
	if (timer->armed)
		list_remove(&timer->link);
	timer->armed = false;
}

/* Ends early when the baton was given to another thread meanwhile. */
static void fire_timers(struct loop *loop)
{
	while (leads && !list_empty(&loop->timers)) {
		struct loop_timer *timer = list_entry(loop->timers.next, struct loop_timer, link);

		if (timer->due_usec > clock_monotonic_usec())
			break;
		loop_timer_cancel(loop, timer);
		loop->handled++;
		timer->fire(timer);
	}
}

static int wait_msec(struct loop *loop)
{
	uint64_t now, due;

	if (list_empty(&loop->timers))
		return -1;
	now = clock_monotonic_usec();
	due = list_entry(loop->timers.next, struct loop_timer, link)->due_usec;
	if (due <= now)
		return 0;
	due = (due - now + USEC_PER_MSEC - 1) / USEC_PER_MSEC;
	return due > 3600000 ? 3600000 : (int)due;
}

/* Runs handlers until the loop stops or the baton was given to another thread meanwhile. Who is out at the
 * stop may wait for what only handlers give. */
static void lead(struct loop *loop)
{
	while (!atomic_load(&loop->stop) || atomic_load(&loop->out)) {
		struct epoll_event *event;
		struct loop_source *source;

		if (loop->batch_at >= loop->batch_len) {
			fire_timers(loop);
			if (!leads)
				return;
			loop->batch_at = 0;
			loop->batch_len =
				epoll_wait(loop->epoll_fd, loop->batch, BATCH, wait_msec(loop));
			continue;
		}
		event = &loop->batch[loop->batch_at++];
		source = event->data.ptr;
		loop->handled++;
		if (source)
			source->ready(source, event->events);
		if (!leads)
			return;
	}
}

void loop_lend(struct loop *loop)
{
	is_out = !atomic_load(&loop->stop);
	atomic_fetch_add(&loop->out, is_out);
	atomic_fetch_add_explicit(&loop->loans, 1, memory_order_relaxed);
	atomic_store(&loop->baton, LENT);
	if (atomic_load(&loop->watching))
		return;
	pthread_mutex_lock(&loop->lock);
	atomic_store(&loop->watching, true);
	pthread_cond_signal(&loop->watcher_wake);
	pthread_mutex_unlock(&loop->lock);
}

bool loop_reclaim(struct loop *loop)
{
	int lent = LENT;

	atomic_fetch_sub(&loop->out, is_out);
	if (is_out && atomic_load(&loop->stop))
		eventfd_write(loop->wake_fd, 1);
	is_out = false;
	leads = atomic_compare_exchange_strong(&loop->baton, &lent, HELD);
	return leads;
}

bool loop_leads(void)
{
	return leads;
}

/* Makes another thread the leader if one can be had, of at most max_threads. */
static void promote(struct loop *loop, unsigned max_threads)
{
	int lent = LENT;
	pthread_t thread;
	bool can;

	pthread_mutex_lock(&loop->lock);
	can = loop->idle > loop->promotions || loop->threads < max_threads;
	if (can && atomic_compare_exchange_strong(&loop->baton, &lent, HELD)) {
		loop->promotions++;
		if (loop->idle >= loop->promotions) {
			pthread_cond_signal(&loop->promoted);
		} else if (pthread_create(&thread, NULL, thread_main, loop) == 0) {
			pthread_detach(thread);
			loop->threads++;
		} else {
			loop->promotions--;
			atomic_store(&loop->baton, LENT);
		}
	}
	pthread_mutex_unlock(&loop->lock);
}

/* Waits for a promotion. False: there is none, and the loop stops. */
static bool follow(struct loop *loop)
{
	pthread_mutex_lock(&loop->lock);
	loop->idle++;
	while (!loop->promotions && !atomic_load(&loop->stop))
		pthread_cond_wait(&loop->promoted, &loop->lock);
	loop->idle--;
	leads = loop->promotions;
	if (leads)
		loop->promotions--;
	pthread_mutex_unlock(&loop->lock);
	return leads;
}

/* Counts the calling thread out, if it must end or there are more than there should be. */
static bool leave(struct loop *loop, bool must)
{
	bool leaves;

	pthread_mutex_lock(&loop->lock);
	leaves = must || loop->threads > loop->max_threads;
	if (leaves) {
		loop->threads--;
		pthread_cond_broadcast(&loop->thread_ended);
	}
	pthread_mutex_unlock(&loop->lock);
	return leaves;
}

static void *thread_main(void *arg)
{
	struct loop *loop = arg;

	turn_ask_for_short();
	if (loop->thread_start)
		loop->thread_start(loop->thread_start_arg);
	do {
		if (!follow(loop)) {
			leave(loop, true);
			return NULL;
		}
		lead(loop);
	} while (!leave(loop, false));
	return NULL;
}

static void watcher_sleep(struct loop *loop)
{
	pthread_mutex_lock(&loop->lock);
	atomic_store(&loop->watching, false);
	while (!atomic_load(&loop->watching) && atomic_load(&loop->baton) != LENT &&
		!atomic_load(&loop->over))
		pthread_cond_wait(&loop->watcher_wake, &loop->lock);
	atomic_store(&loop->watching, true);
	pthread_mutex_unlock(&loop->lock);
}

/* Looks once a tick whether the same loan is still out. */
static void *watcher_main(void *arg)
{
	struct loop *loop = arg;
	const struct timespec tick = {.tv_nsec = TICK_NSEC};
	unsigned before = atomic_load(&loop->loans), quiet = 0, late = 0;

	while (!atomic_load(&loop->over)) {
		unsigned loans;

		if (quiet >= QUIET_TICKS)
			watcher_sleep(loop);
		nanosleep(&tick, NULL);
		loans = atomic_load(&loop->loans);
		quiet = loans == before && atomic_load(&loop->baton) == HELD ? quiet + 1 : 0;
		late = loans == before && atomic_load(&loop->baton) == LENT ? late + 1 : 0;
		if (late)
			promote(loop, late < STUCK_TICKS ? loop->max_threads : STUCK_THREADS_MAX);
		before = loans;
	}
	return NULL;
}

int loop_start(struct loop *loop)
{
	int r = loop->started ? 0 : pthread_create(&loop->watcher, NULL, watcher_main, loop);

	loop->started |= r == 0;
	return -r;
}

int loop_run(struct loop *loop, unsigned max_threads)
{
	int r = loop_start(loop);

	if (r < 0)
		return r;
	pthread_mutex_lock(&loop->lock);
	loop->max_threads = max_threads;
	loop->threads = 1;
	pthread_mutex_unlock(&loop->lock);
	turn_ask_for_short();
	if (loop->thread_start)
		loop->thread_start(loop->thread_start_arg);
	leads = true;
	do
		lead(loop);
	while (follow(loop));
	pthread_mutex_lock(&loop->lock);
	while (loop->threads > 1)
		pthread_cond_wait(&loop->thread_ended, &loop->lock);
	pthread_mutex_unlock(&loop->lock);
	end_watcher(loop);
	return 0;
}
