// A client of a mounted sandbox's `checkpoint`, by its files alone.
#include "cmd/checkpoint_client.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/json_in.h"
#include "common/scope.h"

#define LOOK_MSEC 100
#define TICKS_A_LINE 5 /* where there is no terminal, a line so often */
#define BAR_WIDTH 24
#define CLEAR_LINE "\r\033[K"

/* The request, written by a thread of its own while this one looks at the progress. */
struct ask {
	int fd; /* owned by the caller */
	const struct buf *request; /* borrowed */
	pthread_mutex_t lock;
	pthread_cond_t ended_changed;
	bool ended; /* under lock */
	int result; /* under lock */
};

struct progress {
	char state[32];
	uint64_t files, bytes;
};

static void *write_request(void *arg)
{
	struct ask *ask = arg;
	ssize_t n = write(ask->fd, ask->request->data, ask->request->len);
	int result = n < 0 ? -errno : 0;

	pthread_mutex_lock(&ask->lock);
	ask->result = result;
	ask->ended = true;
	pthread_cond_broadcast(&ask->ended_changed);
	pthread_mutex_unlock(&ask->lock);
	return NULL;
}

static int read_all(int fd, struct buf *to)
{
	char part[4096];
	ssize_t n;
	off_t off = 0;

	while ((n = pread(fd, part, sizeof(part), off)) > 0) {
		if (buf_add(to, part, (size_t)n) < 0)
			return -ENOMEM;
		off += n;
	}
	return n < 0 ? -errno : 0;
}

static int take_progress(const char *key, const struct json_object *value, void *arg)
{
	struct progress *p = arg;
	size_t len;

	if (!strcmp(key, "state") && json_in_type(value) == JSON_IN_STRING)
		snprintf(p->state, sizeof(p->state), "%s", json_in_string(value, &len));
	else if (!strcmp(key, "files") && json_in_type(value) == JSON_IN_NUMBER)
		p->files = (uint64_t)json_in_number(value);
	else if (!strcmp(key, "bytes") && json_in_type(value) == JSON_IN_NUMBER)
		p->bytes = (uint64_t)json_in_number(value);
	return 0;
}

static bool look(const char *path, struct progress *ret)
{
	struct json_object *object auto_call(json_in_free) = NULL;
	struct buf text auto_buf = {0};
	auto_close int fd = open(path, O_RDONLY | O_CLOEXEC);

	*ret = (struct progress){0};
	if (fd < 0 || read_all(fd, &text) < 0 || buf_text(&text)[0] != '{' ||
		json_in_parse(text.data, text.len, &object, NULL) < 0)
		return false;
	json_in_each(object, take_progress, ret);
	return *ret->state;
}

/* How much there is in all is not known before the end: the bar moves to and fro. */
static void show(const struct progress *p, unsigned tick, uint64_t began_usec)
{
	uint64_t usec = clock_monotonic_usec() - began_usec;
	double rate = usec ? (double)p->bytes / (double)usec : 0;
	char bar[BAR_WIDTH + 1];
	unsigned at = tick % (2 * (BAR_WIDTH - 4));

	memset(bar, ' ', BAR_WIDTH);
	bar[BAR_WIDTH] = '\0';
	if (at > BAR_WIDTH - 4)
		at = 2 * (BAR_WIDTH - 4) - at;
	memcpy(bar + at, "<==>", 4);
	fprintf(stderr, CLEAR_LINE "%s [%s] %" PRIu64 " files, %.1f MB, %.1f MB/s", p->state, bar,
		p->files, (double)p->bytes / 1e6, rate);
	fflush(stderr);
}

/* Waits for the end of the request, at most a moment. */
static bool wait_moment(struct ask *ask)
{
	struct timespec end;
	bool ended;

	clock_gettime(CLOCK_REALTIME, &end);
	end.tv_nsec += LOOK_MSEC * 1000000L;
	if (end.tv_nsec >= 1000000000L) {
		end.tv_sec++;
		end.tv_nsec -= 1000000000L;
	}
	pthread_mutex_lock(&ask->lock);
	if (!ask->ended)
		pthread_cond_timedwait(&ask->ended_changed, &ask->lock, &end);
	ended = ask->ended;
	pthread_mutex_unlock(&ask->lock);
	return ended;
}

static void watch(struct ask *ask, const char *path)
{
	uint64_t began_usec = clock_monotonic_usec();
	struct progress p;

	bool terminal = isatty(STDERR_FILENO);

	for (unsigned tick = 1; !wait_moment(ask); tick++) {
		if (!terminal && tick % TICKS_A_LINE)
			continue;
		if (!look(path, &p))
			continue;
		if (terminal)
			show(&p, tick, began_usec);
		else
			fprintf(stderr, "%s: %" PRIu64 " files, %.1f MB\n", p.state, p.files,
				(double)p.bytes / 1e6);
	}
	if (terminal)
		fputs(CLEAR_LINE, stderr);
}

static int take_message(const char *key, const struct json_object *value, void *arg)
{
	struct buf *words = arg;
	size_t len;

	if (!strcmp(key, "error") && json_in_type(value) == JSON_IN_OBJECT)
		return json_in_each(value, take_message, arg);
	if (strcmp(key, "code") != 0 && strcmp(key, "message") != 0)
		return 0;
	buf_add_str(words, words->len ? ": " : "");
	buf_add_str(words, json_in_string(value, &len));
	return 0;
}

/* The answer on the handle says why. */
static int refused(const char *dir, int err, const struct buf *answer, struct fail *f)
{
	struct json_object *object auto_call(json_in_free) = NULL;
	struct buf words auto_buf = {0};

	if (answer->len && json_in_parse(answer->data, answer->len, &object, NULL) == 0)
		json_in_each(object, take_message, &words);
	return words.len ? fail_set(f, err, "%s", words.data) : fail_errno(f, err, "%s", dir);
}

int checkpoint_client_ask(
	const char *dir, const struct buf *request, struct buf *ret, struct fail *f)
{
	struct buf path auto_buf = {0};
	struct ask ask = {.request = request,
		.lock = PTHREAD_MUTEX_INITIALIZER,
		.ended_changed = PTHREAD_COND_INITIALIZER};
	auto_close int fd = -1;
	pthread_t thread;
	int r;

	if (buf_printf(&path, "%s/checkpoint", dir) < 0)
		return -ENOMEM;
	fd = ask.fd = open(path.data, O_RDWR | O_CLOEXEC);
	if (fd < 0 && (errno == ENOENT || errno == ENOTDIR))
		return fail_set(f, -errno, "%s: no sandbox is mounted there", dir);
	if (fd < 0)
		return fail_errno(f, -errno, "%s", dir);
	r = -pthread_create(&thread, NULL, write_request, &ask);
	if (r < 0)
		return fail_errno(f, r, "starting a thread");
	watch(&ask, path.data);
	pthread_join(thread, NULL);
	r = read_all(fd, ret);
	return ask.result < 0 ? refused(dir, ask.result, ret, f) : r;
}
