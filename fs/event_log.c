// The log.
#include "fs/event_log.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "common/buf.h"
#include "common/clock.h"
#include "common/scope.h"
#include "common/visible.h"

#define SIZE_MAX_BYTES (8 * 1024 * 1024)
#define SIZE_KEPT_BYTES (1024 * 1024) /* of the newest lines, when the file has grown too long */
#define LINE_MAX_BYTES 1024

struct event_log {
	int state_fd; /* borrowed */
	int fd; /* owned */
	bool echo;
	uint64_t size;
};

static int open_file(int state_fd, const char *name, int flags)
{
	int fd = openat(
		state_fd, name, O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW | flags, 0600);

	return fd < 0 ? -errno : fd;
}

int event_log_open(int state_fd, bool echo, struct event_log **ret)
{
	struct event_log *log = calloc(1, sizeof(*log));
	struct stat st;
	int r;

	if (!log)
		return -ENOMEM;
	log->state_fd = state_fd;
	log->echo = echo;
	log->fd = open_file(state_fd, "log", 0);
	r = log->fd < 0 ? log->fd : fstat(log->fd, &st) < 0 ? -errno : 0;
	if (r < 0) {
		event_log_close(log);
		return r;
	}
	log->size = (uint64_t)st.st_size;
	*ret = log;
	return 0;
}

void event_log_close(struct event_log *log)
{
	if (!log)
		return;
	close_fd(&log->fd);
	free(log);
}

/* Begins a new file with the newest whole lines of the old one. */
static void shorten(struct event_log *log)
{
	char *data auto_free = malloc(SIZE_KEPT_BYTES);
	int fd auto_close = open_file(log->state_fd, "log.new", O_TRUNC);
	const char *line;
	ssize_t n;

	if (!data || fd < 0)
		return;
	n = pread(log->fd, data, SIZE_KEPT_BYTES, (off_t)(log->size - SIZE_KEPT_BYTES));
	line = n > 0 ? memchr(data, '\n', (size_t)n) : NULL;
	if (!line || write(fd, line + 1, (size_t)(data + n - line - 1)) < 0 ||
		renameat(log->state_fd, "log.new", log->state_fd, "log") < 0)
		return;
	close_fd(&log->fd);
	log->fd = take_fd(&fd);
	log->size = (uint64_t)(data + n - line - 1);
}

void event_log_add(struct event_log *log, const char *format, va_list args)
{
	struct buf line auto_buf = {0};
	char text[LINE_MAX_BYTES], iso[CLOCK_ISO_LEN];
	ssize_t n;

	vsnprintf(text, sizeof(text), format, args);
	clock_iso(clock_wall_usec(), iso);
	buf_printf(&line, "%s ", iso);
	visible_add(&line, text);
	buf_add_char(&line, '\n');
	n = write(log->fd, buf_text(&line), line.len);
	if (n > 0)
		log->size += (uint64_t)n;
	if (log->echo)
		fputs(buf_text(&line), stderr);
	if (log->size > SIZE_MAX_BYTES)
		shorten(log);
}

uint64_t event_log_size(const struct event_log *log)
{
	return log->size;
}

ssize_t event_log_read(const struct event_log *log, void *data, size_t len, uint64_t off)
{
	ssize_t n = pread(log->fd, data, len, (off_t)off);

	return n < 0 ? -errno : n;
}
