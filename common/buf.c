// A byte buffer that grows.
#include "common/buf.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define READ_BLOCK 8192

void buf_clear(struct buf *b)
{
	free(b->data);
	*b = (struct buf){0};
}

void buf_reset(struct buf *b)
{
	b->len = 0;
	b->error = 0;
	if (b->data)
		b->data[0] = '\0';
}

int buf_reserve(struct buf *b, size_t extra)
{
	size_t need = b->len + extra + 1;
	size_t size = b->size ? b->size : 64;
	char *data;

	if (b->error)
		return b->error;
	if (need <= b->size)
		return 0;
	if (need < extra)
		return b->error = -ENOMEM;
	while (size < need)
		size = size < ((size_t)1 << 62) ? size * 2 : need;
	data = realloc(b->data, size);
	if (!data)
		return b->error = -ENOMEM;
	b->data = data;
	b->size = size;
	b->data[b->len] = '\0';
	return 0;
}

int buf_add(struct buf *b, const void *data, size_t len)
{
	int r = buf_reserve(b, len);

	if (r < 0)
		return r;
	if (len)
		memcpy(b->data + b->len, data, len);
	b->len += len;
	b->data[b->len] = '\0';
	return 0;
}

int buf_add_str(struct buf *b, const char *text)
{
	return buf_add(b, text, strlen(text));
}

int buf_add_char(struct buf *b, char c)
{
	return buf_add(b, &c, 1);
}

int buf_vprintf(struct buf *b, const char *format, va_list args)
{
	va_list again;
	int len, r;

	va_copy(again, args);
	len = vsnprintf(NULL, 0, format, args);
	r = len < 0 ? -EINVAL : buf_reserve(b, (size_t)len);
	if (r == 0) {
		vsnprintf(b->data + b->len, (size_t)len + 1, format, again);
		b->len += (size_t)len;
	}
	va_end(again);
	return r;
}

int buf_printf(struct buf *b, const char *format, ...)
{
	va_list args;
	int r;

	va_start(args, format);
	r = buf_vprintf(b, format, args);
	va_end(args);
	return r;
}

int buf_read(struct buf *b, int fd, size_t max)
{
	while (b->len < max) {
		ssize_t n;

		if (buf_reserve(b, READ_BLOCK) < 0)
			return -ENOMEM;
		n = read(fd, b->data + b->len, READ_BLOCK);
		if (n <= 0)
			return n < 0 ? -errno : 0;
		b->len += (size_t)n;
		b->data[b->len] = '\0';
	}
	return 0;
}

const char *buf_text(const struct buf *b)
{
	return b->data ? b->data : "";
}

char *buf_take(struct buf *b)
{
	char *data;

	if (!b->data)
		buf_reserve(b, 0);
	data = b->error ? NULL : b->data;
	if (b->error)
		free(b->data);
	*b = (struct buf){0};
	return data;
}
