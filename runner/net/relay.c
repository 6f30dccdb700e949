// The relay's thread: its start and end, and what it and the leader tell each other.
#include "runner/net/relay_impl.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/scope.h"

#define CONNECTIONS_MAX 512
#define DESCRIPTORS_EACH 16 /* of the process's limit, for a connection that needs 2 to 6 */
#define SWEEP_USEC (10 * USEC_PER_SEC)

/* Smaller than PIPE_BUF: it goes through a pipe as a whole or not at all. */
struct report {
	char text[201];
};

static struct relay_note *next_note(struct relay *relay)
{
	struct relay_note *note = NULL;

	pthread_mutex_lock(&relay->lock);
	if (!list_empty(&relay->notes)) {
		note = list_entry(relay->notes.next, struct relay_note, link);
		list_remove(&note->link);
	}
	pthread_mutex_unlock(&relay->lock);
	return note;
}

static void on_notes(struct loop_source *source, uint32_t events)
{
	struct relay *relay = container_of(source, struct relay, wake);
	struct relay_note *note;
	eventfd_t value;

	(void)events;
	eventfd_read(source->fd, &value);
	while ((note = next_note(relay)))
		note->act(relay, note);
}

static void on_reports(struct loop_source *source, uint32_t events)
{
	struct relay *relay = container_of(source, struct relay, reports);
	struct report report;

	(void)events;
	if (read(source->fd, &report, sizeof(report)) == sizeof(report) && relay->config.reported)
		relay->config.reported(relay->config.arg, report.text);
}

static void on_sweep(struct loop_timer *timer)
{
	struct relay *relay = container_of(timer, struct relay, sweep);

	relay_pair_sweep(relay);
	loop_timer_set(relay->own, timer, clock_monotonic_usec() + SWEEP_USEC);
}

static void *thread_main(void *arg)
{
	struct relay *relay = arg;

	relay->entered = relay->config.enter ? relay->config.enter(relay->config.arg) : 0;
	sem_post(&relay->started);
	if (relay->entered == 0) {
		relay->sweep.fire = on_sweep;
		on_sweep(&relay->sweep);
		loop_run(relay->own, 1);
	}
	return NULL;
}

static unsigned connections_max(void)
{
	struct rlimit limit = {.rlim_cur = 1024};

	getrlimit(RLIMIT_NOFILE, &limit);
	return limit.rlim_cur / DESCRIPTORS_EACH < CONNECTIONS_MAX
		       ? (unsigned)limit.rlim_cur / DESCRIPTORS_EACH
		       : CONNECTIONS_MAX;
}

static int open_all(struct relay *relay)
{
	int r = loop_new(&relay->own);

	if (r < 0)
		return r;
	relay->wake = (struct loop_source){
		.fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK), .ready = on_notes};
	if (relay->wake.fd < 0 || pipe2(relay->report_fds, O_CLOEXEC | O_NONBLOCK) < 0)
		return -errno;
	r = loop_watch(relay->own, &relay->wake, EPOLLIN);
	if (r < 0)
		return r;
	relay->reports = (struct loop_source){.fd = relay->report_fds[0], .ready = on_reports};
	r = loop_watch(relay->config.loop, &relay->reports, EPOLLIN);
	relay->reports_watched = r == 0;
	return r;
}

static int start(struct relay *relay)
{
	int r = open_all(relay);

	if (r == 0)
		r = -pthread_create(&relay->thread, NULL, thread_main, relay);
	if (r < 0)
		return r;
	relay->has_thread = true;
	while (sem_wait(&relay->started) < 0)
		;
	return relay->entered;
}

int relay_new(const struct relay_config *config, struct relay **ret)
{
	struct relay *relay = calloc(1, sizeof(*relay));
	int r;

	if (!relay)
		return -ENOMEM;
	relay->config = *config;
	relay->wake.fd = -1;
	relay->report_fds[0] = relay->report_fds[1] = -1;
	relay->connections_max = connections_max();
	list_init(&relay->pairs);
	list_init(&relay->notes);
	pthread_mutex_init(&relay->lock, NULL);
	sem_init(&relay->started, 0, 0);
	r = start(relay);
	if (r < 0) {
		relay_free(relay);
		return r;
	}
	*ret = relay;
	return 0;
}

void relay_stop(struct relay *relay)
{
	if (!relay || !relay->has_thread)
		return;
	loop_stop(relay->own);
	pthread_join(relay->thread, NULL);
	relay->has_thread = false;
	on_notes(&relay->wake, EPOLLIN);
}

void relay_free(struct relay *relay)
{
	if (!relay)
		return;
	relay_stop(relay);
	relay_pair_end_all(relay);
	while (relay->pipes_len) {
		struct relay_pipe *pipe = &relay->pipes[--relay->pipes_len];

		close(pipe->read_fd);
		close(pipe->write_fd);
	}
	if (relay->reports_watched)
		loop_unwatch(relay->config.loop, &relay->reports);
	close_fd(&relay->report_fds[0]);
	close_fd(&relay->report_fds[1]);
	close_fd(&relay->wake.fd);
	loop_free(relay->own);
	pthread_mutex_destroy(&relay->lock);
	sem_destroy(&relay->started);
	free(relay);
}

void relay_post(struct relay *relay, struct relay_note *note)
{
	pthread_mutex_lock(&relay->lock);
	list_add_tail(&relay->notes, &note->link);
	pthread_mutex_unlock(&relay->lock);
	eventfd_write(relay->wake.fd, 1);
}

void relay_report(struct relay *relay, const char *format, ...)
{
	struct report report = {0};
	va_list args;

	va_start(args, format);
	vsnprintf(report.text, sizeof(report.text), format, args);
	va_end(args);
	if (write(relay->report_fds[1], &report, sizeof(report)) < 0)
		return;
}

unsigned relay_connections(const struct relay *relay)
{
	return relay ? atomic_load(&relay->connections) : 0;
}

struct loop *relay_loop(const struct relay *relay)
{
	return relay->own;
}

bool relay_has_room(struct relay *relay)
{
	return atomic_load(&relay->connections) < relay->connections_max || relay_pair_evict(relay);
}

int relay_accept(struct relay *relay, int listener_fd)
{
	// cppcheck-suppress nullPointer
	auto_close int fd = accept4(listener_fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

	if (fd < 0)
		return errno == EMFILE || errno == ENFILE || errno == ENOMEM || errno == ENOBUFS
			       ? -EMFILE
			       : -EAGAIN;
	if (relay_has_room(relay))
		return take_fd(&fd);
	relay_report(relay, "a connection was turned away: there are %u already",
		relay->connections_max);
	return -EAGAIN;
}
