// A byte buffer that grows: text and data of any length, always followed by a NUL.
#pragma once

#include <stdarg.h>
#include <stddef.h>

struct buf {
	char *data; /* owned; NULL while empty, else data[len] is NUL */
	size_t len;
	size_t size;
	int error; /* 0, or -ENOMEM once an append failed: later appends do nothing */
};

/* Frees what it holds and leaves an empty buffer. */
void buf_clear(struct buf *b);

/* Sets the length to 0 and keeps the memory. */
void buf_reset(struct buf *b);

/* Makes room for extra more bytes. 0 or -ENOMEM. */
int buf_reserve(struct buf *b, size_t extra);

/* Each returns 0 or -ENOMEM; the error also stays in b->error, so that a caller may append many
 * times and look once. */
int buf_add(struct buf *b, const void *data, size_t len);
int buf_add_str(struct buf *b, const char *text);
int buf_add_char(struct buf *b, char c);
int buf_printf(struct buf *b, const char *format, ...) __attribute__((format(printf, 2, 3)));
int buf_vprintf(struct buf *b, const char *format, va_list args)
	__attribute__((format(printf, 2, 0)));

/* Appends what is left to read of a descriptor; no more once the buffer has max bytes. 0, -ENOMEM, or -errno of
 * read(2). */
int buf_read(struct buf *b, int fd, size_t max);

/* The text, never NULL. Owned by the buffer. */
const char *buf_text(const struct buf *b);

/* Gives the memory away (NUL-terminated, to free()); NULL when memory ran out. */
char *buf_take(struct buf *b);

#define auto_buf __attribute__((cleanup(buf_clear)))
