// The log: one line an event, in a file of the state directory that is kept short.
#pragma once

#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct event_log;

/* Opens STATE/log for appending. echo: lines go to standard error too. */
int event_log_open(int state_fd, bool echo, struct event_log **ret);
void event_log_close(struct event_log *log);

/* Adds a line with the time before it; control characters are shown as \xNN. */
void event_log_add(struct event_log *log, const char *format, va_list args)
	__attribute__((format(printf, 2, 0)));

uint64_t event_log_size(const struct event_log *log);
ssize_t event_log_read(const struct event_log *log, void *data, size_t len, uint64_t off);
