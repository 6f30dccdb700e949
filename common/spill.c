// Bytes in memory while they are few, in a file once they are many.
#include "common/spill.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/scope.h"

void spill_init(struct spill *s, struct spill_dir *dir)
{
	*s = (struct spill){.dir = dir, .fd = -1};
}

static void forget_memory(struct spill *s)
{
	s->dir->held -= s->memory.len;
	buf_clear(&s->memory);
}

static int open_file(struct spill *s, int flags)
{
	char name[32];

	if (s->fd >= 0)
		return 0;
	snprintf(name, sizeof(name), "%" PRIu64, s->file);
	s->fd = openat(s->dir->fd, name, O_RDWR | O_CLOEXEC | O_NOFOLLOW | flags, 0600);
	return s->fd < 0 ? -errno : 0;
}

static void remove_file(struct spill *s)
{
	char name[32];

	close_fd(&s->fd);
	snprintf(name, sizeof(name), "%" PRIu64, s->file);
	unlinkat(s->dir->fd, name, 0);
	s->file = 0;
}

static int write_at(int fd, const char *data, size_t len, uint64_t off)
{
	while (len) {
		ssize_t n = pwrite(fd, data, len, (off_t)off);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n < 0 ? -errno : -EIO;
		data += n;
		len -= (size_t)n;
		off += (uint64_t)n;
	}
	return 0;
}

/* Moves what is in memory to a new file. */
static int spill_over(struct spill *s)
{
	int r;

	s->file = ++s->dir->next;
	r = open_file(s, O_CREAT | O_TRUNC);
	if (r == 0)
		r = write_at(s->fd, s->memory.data, s->memory.len, 0);
	if (r < 0)
		remove_file(s);
	else
		forget_memory(s);
	return r;
}

static int hold(struct spill *s, const void *data, size_t len)
{
	int r = buf_add(&s->memory, data, len);

	s->memory.error = 0;
	if (r == 0) {
		s->dir->held += len;
		s->size += len;
	}
	return r;
}

int spill_add(struct spill *s, const void *data, size_t len)
{
	int r;

	if (!s->file && spill_may_hold(s->dir, s->memory.len, len) && hold(s, data, len) == 0)
		return 0;
	r = s->file ? open_file(s, 0) : spill_over(s);
	if (r == 0)
		r = write_at(s->fd, data, len, s->size);
	if (r == 0)
		s->size += len;
	return r;
}

ssize_t spill_read(struct spill *s, void *data, size_t len, uint64_t off)
{
	bool was_open = s->fd >= 0;
	ssize_t n;
	int r;

	if (off >= s->size)
		return 0;
	if (len > s->size - off)
		len = (size_t)(s->size - off);
	if (!s->file) {
		memcpy(data, s->memory.data + off, len);
		return (ssize_t)len;
	}
	r = open_file(s, 0);
	if (r < 0)
		return r;
	n = pread(s->fd, data, len, (off_t)off);
	n = n < 0 ? -errno : n;
	if (!was_open)
		close_fd(&s->fd);
	return n;
}

int spill_read_all(struct spill *s, struct buf *ret)
{
	uint64_t off = 0;
	int r = buf_reserve(ret, (size_t)s->size);

	while (r == 0 && off < s->size) {
		ssize_t n = spill_read(s, ret->data + ret->len, (size_t)(s->size - off), off);

		if (n == -EINTR)
			continue;
		if (n <= 0)
			return n < 0 ? (int)n : -EIO;
		ret->len += (size_t)n;
		ret->data[ret->len] = '\0';
		off += (uint64_t)n;
	}
	return r;
}

void spill_settle(struct spill *s)
{
	char *less;

	close_fd(&s->fd);
	less = s->memory.data ? realloc(s->memory.data, s->memory.len + 1) : NULL;
	if (less) {
		s->memory.data = less;
		s->memory.size = s->memory.len + 1;
	}
}

void spill_clear(struct spill *s)
{
	if (s->file)
		remove_file(s);
	forget_memory(s);
	s->size = 0;
}
