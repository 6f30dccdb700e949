// A client of a mounted sandbox, by its files alone.
#include "cmd/run_client.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "common/buf.h"
#include "common/json_in.h"
#include "common/scope.h"
#include "common/signal_name.h"

#define PART (128 * 1024)

int run_client_open(const char *dir, struct run_client *ret, struct fail *f)
{
	*ret = (struct run_client){.dir = dir,
		.lock = PTHREAD_MUTEX_INITIALIZER,
		.id_known = PTHREAD_COND_INITIALIZER,
		.dir_fd = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC)};
	return ret->dir_fd < 0 ? fail_errno(f, -errno, "%s", dir) : 0;
}

/* Opens out/ID/NAME. */
static int open_run_file(const struct run_client *client, const char *name, int flags)
{
	char path[sizeof(client->id) + 64];
	int fd;

	snprintf(path, sizeof(path), "out/%s/%s", client->id, name);
	fd = openat(client->dir_fd, path, flags | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

static int write_all(int fd, const char *data, size_t len)
{
	while (len) {
		ssize_t done = write(fd, data, len);

		if (done < 0 && errno == EAGAIN) {
			poll(&(struct pollfd){.fd = fd, .events = POLLOUT}, 1, -1);
			continue;
		}
		if (done < 0 && errno == EINTR)
			continue;
		if (done < 0)
			return -errno;
		data += done;
		len -= (size_t)done;
	}
	return 0;
}

/* Sends a line to out/ID/kill. That the run has ended meanwhile is no error. */
static void send_kill(const struct run_client *client, const char *line)
{
	auto_close int fd = open_run_file(client, "kill", O_WRONLY);

	if (fd >= 0)
		write_all(fd, line, strlen(line));
}

/* A request that is under way gets a moment to tell its id, so that its run is not left behind. */
static bool wait_for_id(struct run_client *client)
{
	struct timespec end;

	clock_gettime(CLOCK_REALTIME, &end);
	end.tv_sec += 2;
	while (!client->id[0]) {
		if (pthread_cond_timedwait(&client->id_known, &client->lock, &end) != 0)
			return false;
	}
	return true;
}

static void *forward_signals(void *arg)
{
	struct run_client *client = arg;
	sigset_t set;
	char line[32];
	int number;

	pthread_sigmask(SIG_BLOCK, NULL, &set);
	for (;;) {
		if (sigwait(&set, &number) != 0)
			continue;
		pthread_mutex_lock(&client->lock);
		if (!wait_for_id(client))
			_exit(128 + number);
		if (number == SIGINT && client->was_interrupted)
			number = SIGKILL;
		client->was_interrupted |= number == SIGINT;
		pthread_mutex_unlock(&client->lock);
		snprintf(line, sizeof(line), "%s\n", signal_name(number));
		send_kill(client, line);
	}
	return NULL;
}

static int start_thread(void *(*work)(void *arg), struct run_client *client)
{
	pthread_t thread;
	int r = pthread_create(&thread, NULL, work, client);

	if (r == 0)
		pthread_detach(thread);
	return -r;
}

int run_client_forward_signals(struct run_client *client)
{
	static const int numbers[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};
	struct sigaction old;
	sigset_t set;

	sigemptyset(&set);
	for (size_t i = 0; i < ARRAY_LEN(numbers); i++) {
		/* nohup and a shell's background jobs have them ignored: leave it so. */
		if (sigaction(numbers[i], NULL, &old) == 0 && old.sa_handler != SIG_IGN)
			sigaddset(&set, numbers[i]);
	}
	signal(SIGPIPE, SIG_IGN);
	pthread_sigmask(SIG_BLOCK, &set, NULL);
	return start_thread(forward_signals, client);
}

/* The whole of a file that ends. */
static int read_file(int fd, struct buf *to)
{
	char part[4096];
	ssize_t len;

	while ((len = pread(fd, part, sizeof(part), (off_t)to->len)) != 0) {
		if (len < 0 && errno == EINTR)
			continue;
		if (len < 0)
			return -errno;
		if (buf_add(to, part, (size_t)len) < 0)
			return -ENOMEM;
	}
	return 0;
}

/* The reason that the mount itself gives, from its `error` file. */
static int refused(const struct run_client *client, int err, struct fail *f)
{
	auto_close int fd = openat(client->dir_fd, "error", O_RDONLY | O_CLOEXEC);
	auto_buf struct buf words = {0};

	if (fd >= 0 && read_file(fd, &words) == 0 && words.len) {
		words.data[strcspn(words.data, "\n")] = '\0';
		return fail_set(f, err, "%s: %s", client->dir, words.data);
	}
	return fail_errno(f, err, "%s", client->dir);
}

static int take_id_member(const char *key, const struct json_object *value, void *arg)
{
	struct buf *to = arg;
	size_t len;
	const char *text;

	if (strcmp(key, "id") != 0 || json_in_type(value) != JSON_IN_STRING)
		return 0;
	text = json_in_string(value, &len);
	buf_reset(to);
	return buf_add(to, text, len) < 0 ? -ENOMEM : 1;
}

/* The answer is the id on a line of its own, or an object that has it. */
static int take_id(struct run_client *client, struct buf *answer, struct fail *f)
{
	auto_call(json_in_free) struct json_object *object = NULL;

	if (buf_text(answer)[0] == '{' &&
		json_in_parse(answer->data, answer->len, &object, NULL) == 0)
		json_in_each(object, take_id_member, answer);
	if (answer->data)
		answer->data[strcspn(answer->data, "\n")] = '\0';
	if (!answer->data || !answer->data[0] || strlen(answer->data) >= sizeof(client->id) ||
		strchr(answer->data, '/'))
		return fail_set(f, -EPROTO, "%s: the sandbox gave no id for the run", client->dir);
	pthread_mutex_lock(&client->lock);
	memcpy(client->id, answer->data, strlen(answer->data) + 1);
	pthread_cond_broadcast(&client->id_known);
	pthread_mutex_unlock(&client->lock);
	return 0;
}

int run_client_start(struct run_client *client, const char *request, size_t len, struct fail *f)
{
	auto_close int fd = openat(client->dir_fd, "ctl/run.json", O_RDWR | O_CLOEXEC);
	auto_buf struct buf answer = {0};
	int r = fd < 0 ? -errno : 0;

	if (r == -ENOENT || r == -ENOTDIR)
		return fail_set(f, r, "%s: no sandbox is mounted there", client->dir);
	if (r == 0)
		r = write_all(fd, request, len);
	if (r == 0)
		r = read_file(fd, &answer);
	if (r == -ENOTCONN || r == -EACCES)
		return fail_errno(f, r, "%s", client->dir);
	if (r < 0)
		return refused(client, r, f);
	return take_id(client, &answer, f);
}

static void *forward_stdin(void *arg)
{
	struct run_client *client = arg;
	auto_close int fd = open_run_file(client, "stdin", O_WRONLY);
	auto_free char *part = malloc(PART);

	if (fd < 0 || !part)
		return NULL;
	for (;;) {
		ssize_t len = read(STDIN_FILENO, part, PART);

		if (len < 0 && errno == EINTR)
			continue;
		if (len < 0 && errno == EAGAIN) {
			poll(&(struct pollfd){.fd = STDIN_FILENO, .events = POLLIN}, 1, -1);
			continue;
		}
		/* EPIPE: the command does not read any more. */
		if (len <= 0 || write_all(fd, part, (size_t)len) < 0)
			return NULL;
	}
}

int run_client_forward_stdin(struct run_client *client)
{
	return start_thread(forward_stdin, client);
}

static int output_failed(const struct run_client *client, int err, struct fail *f)
{
	if (err == -ENOTCONN || err == -ECONNABORTED || err == -ENODEV)
		return fail_set(
			f, err, "%s: the sandbox was stopped while the command ran", client->dir);
	return fail_errno(f, err, "%s: the output", client->dir);
}

/* One of the run's files that is copied to a descriptor of ours as it grows. */
struct stream {
	int from; /* owned */
	int to;
	off_t copied;
};

static int broken(const struct run_client *client, int err, struct fail *f)
{
	send_kill(client, "\n");
	return fail_errno(f, err, "standard output");
}

/* Copies what is there now; 0 at the present end, after having blocked where the file blocks. */
static int copy(const struct run_client *client, struct stream *stream, char *part, struct fail *f)
{
	for (;;) {
		ssize_t len = pread(stream->from, part, PART, stream->copied);
		int r;

		if (len < 0 && errno == EINTR)
			continue;
		if (len < 0)
			return output_failed(client, -errno, f);
		if (len == 0)
			return 0;
		r = write_all(stream->to, part, (size_t)len);
		if (r < 0 && stream->to == STDOUT_FILENO)
			return broken(client, r, f);
		stream->copied += len;
	}
}

/* Blocks until there is more output than was copied (1) or the run has ended (0). */
static int wait_for_more(const struct run_client *client, int live_fd, off_t copied, struct fail *f)
{
	ssize_t len;
	char byte;

	do
		len = pread(live_fd, &byte, 1, copied);
	while (len < 0 && errno == EINTR);
	return len < 0 ? output_failed(client, -errno, f) : (int)len;
}

/* Two targets: `live` only tells that something came. */
static int copy_both(const struct run_client *client, int live_fd, char *part, struct fail *f)
{
	auto_close int out_fd = open_run_file(client, "stdout", O_RDONLY);
	auto_close int err_fd = open_run_file(client, "stderr", O_RDONLY);
	struct stream out = {.from = out_fd, .to = STDOUT_FILENO};
	struct stream err = {.from = err_fd, .to = STDERR_FILENO};
	int more, r;

	if (out_fd < 0 || err_fd < 0)
		return output_failed(client, out_fd < 0 ? out_fd : err_fd, f);
	do {
		more = wait_for_more(client, live_fd, out.copied + err.copied, f);
		r = more < 0 ? more : copy(client, &out, part, f);
		if (r == 0)
			r = copy(client, &err, part, f);
	} while (r == 0 && more > 0);
	return r;
}

static bool is_same_target(void)
{
	struct stat out, err;

	return fstat(STDOUT_FILENO, &out) == 0 && fstat(STDERR_FILENO, &err) == 0 &&
	       out.st_dev == err.st_dev && out.st_ino == err.st_ino;
}

int run_client_copy_output(struct run_client *client, struct fail *f)
{
	auto_close int live_fd = open_run_file(client, "live", O_RDONLY);
	auto_free char *part = malloc(PART);
	struct stream live = {.from = live_fd, .to = STDOUT_FILENO};

	if (!part)
		return -ENOMEM;
	if (live_fd < 0)
		return output_failed(client, live_fd, f);
	/* On a terminal the order in which both streams' parts came is kept. */
	if (is_same_target())
		return copy(client, &live, part, f);
	return copy_both(client, live_fd, part, f);
}

int run_client_wait(struct run_client *client, int *ret, struct fail *f)
{
	auto_close int fd = open_run_file(client, "wait", O_RDONLY);
	auto_buf struct buf text = {0};
	char *end;
	long code;
	int r = fd < 0 ? fd : read_file(fd, &text);

	if (r < 0)
		return fail_errno(f, r, "%s: the exit code", client->dir);
	code = strtol(buf_text(&text), &end, 10);
	if (end == buf_text(&text) || code < 0 || code > 255)
		return fail_set(f, -EPROTO, "%s: how the command ended is not known", client->dir);
	*ret = (int)code;
	return 0;
}
