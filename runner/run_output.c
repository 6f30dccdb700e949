// What a run writes, in files.
#include "runner/run_output.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "common/scope.h"

#define MEMORY_MAX 65536 /* bytes of a stream kept in memory when the disk is full */

static const char *const suffixes[] = {"out", "err", "mix"};

void run_output_init(struct run_output *o, int dir_fd, uint32_t number, uint64_t limit_bytes)
{
	*o = (struct run_output){
		.dir_fd = dir_fd, .number = number, .limit_bytes = limit_bytes, .fd = {-1, -1, -1}};
}

void run_output_close(struct run_output *o)
{
	for (int i = 0; i < 3; i++)
		close_fd(&o->fd[i]);
}

void run_output_free(struct run_output *o)
{
	run_output_close(o);
	for (int i = 0; i < 3; i++) {
		if (o->spill)
			o->spill->held -= o->memory[i].len;
		buf_clear(&o->memory[i]);
	}
}

void run_output_settle(struct run_output *o)
{
	run_output_close(o);
	o->settled = true;
}

static void file_name(const struct run_output *o, enum run_stream stream, char *ret, size_t size)
{
	snprintf(ret, size, "%u.%s", o->number, suffixes[stream]);
}

void run_output_remove(struct run_output *o)
{
	char name[32];

	run_output_free(o);
	for (int i = 0; i < 3; i++) {
		if (!o->made[i])
			continue;
		file_name(o, i, name, sizeof(name));
		unlinkat(o->dir_fd, name, 0);
	}
}

static int open_file(struct run_output *o, enum run_stream stream, int flags)
{
	char name[32];

	if (o->fd[stream] >= 0)
		return o->fd[stream];
	file_name(o, stream, name, sizeof(name));
	o->fd[stream] = openat(o->dir_fd, name, O_RDWR | O_CLOEXEC | O_NOFOLLOW | flags, 0600);
	return o->fd[stream] < 0 ? -errno : o->fd[stream];
}

/* Writes what the disk takes; *data and *len are then what is left. */
static int write_file(struct run_output *o, enum run_stream stream, const char **data, size_t *len)
{
	int fd = open_file(o, stream, O_CREAT);

	o->made[stream] = true;
	if (fd < 0)
		return fd;
	while (*len) {
		ssize_t n = pwrite(fd, *data, *len, (off_t)o->stored[stream]);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n < 0 ? -errno : -EIO;
		*data += n;
		*len -= (size_t)n;
		o->stored[stream] += (uint64_t)n;
		o->kept[stream] += (uint64_t)n;
	}
	return 0;
}

static int hold(struct run_output *o, enum run_stream stream, const char *data, size_t len)
{
	int r = buf_add(&o->memory[stream], data, len);

	if (r < 0)
		return r;
	o->kept[stream] += len;
	if (o->spill)
		o->spill->held += len;
	return 0;
}

/* What was small moves from memory to the file. What is there because the disk was full stays, so
 * that nothing overtakes it. */
static int spill_over(struct run_output *o, enum run_stream stream)
{
	struct buf *memory = &o->memory[stream];
	const char *data = memory->data;
	size_t len = memory->len;
	int r;

	if (!o->spill || o->stored[stream])
		return -ENOSPC;
	o->kept[stream] = 0;
	r = write_file(o, stream, &data, &len);
	o->spill->held -= memory->len - len;
	memory->len = len;
	if (len)
		memmove(memory->data, data, len);
	else
		buf_clear(memory);
	o->kept[stream] += len;
	return r;
}

/* A command that fills the disk should still be able to say so: when the disk takes no more, a
 * little is kept in memory, as long as the daemon lives. */
static int write_at(struct run_output *o, enum run_stream stream, const char *data, size_t len)
{
	size_t has = o->memory[stream].len;
	int r;

	if (o->spill && !o->stored[stream] && spill_may_hold(o->spill, has, len))
		return hold(o, stream, data, len);
	r = has ? spill_over(o, stream) : 0;
	if (r == 0)
		r = write_file(o, stream, &data, &len);
	if (r != -ENOSPC && r != -EDQUOT)
		return r;
	return o->memory[stream].len + len > MEMORY_MAX ? r : hold(o, stream, data, len);
}

/* Gives `output` a file of its own, which begins with what the one stream has so far. */
static int begin_mix(struct run_output *o, enum run_stream first)
{
	char block[16384];
	uint64_t off = 0;

	o->kept[RUN_OUTPUT] = o->stored[RUN_OUTPUT] = 0;
	o->mixed = true;
	while (off < o->kept[first]) {
		ssize_t n = run_output_read(o, first, block, sizeof(block), off);
		int r;

		if (n <= 0)
			return n < 0 ? (int)n : -EIO;
		r = write_at(o, RUN_OUTPUT, block, (size_t)n);
		if (r < 0)
			return r;
		off += (uint64_t)n;
	}
	return 0;
}

void run_output_drop(struct run_output *o, enum run_stream stream, uint64_t len)
{
	o->total[stream] += len;
	o->dropped = o->dropped || len;
}

bool run_output_full(const struct run_output *o, enum run_stream stream)
{
	return o->kept[stream] >= o->limit_bytes;
}

static int keep(struct run_output *o, enum run_stream stream, const char *data, size_t len)
{
	enum run_stream other = stream == RUN_STDOUT ? RUN_STDERR : RUN_STDOUT;
	int r = 0;

	if (!o->mixed && o->kept[other])
		r = begin_mix(o, other);
	if (r == 0)
		r = write_at(o, stream, data, len);
	if (r == 0 && o->mixed)
		r = write_at(o, RUN_OUTPUT, data, len);
	if (!o->mixed)
		o->kept[RUN_OUTPUT] = o->kept[stream];
	return r;
}

int run_output_add(struct run_output *o, enum run_stream stream, const void *data, size_t len)
{
	uint64_t room = run_output_full(o, stream) ? 0 : o->limit_bytes - o->kept[stream];
	size_t part = len < room ? len : (size_t)room;
	int r = part ? keep(o, stream, data, part) : 0;

	o->total[stream] += len;
	if (part < len || r < 0)
		o->dropped = true;
	return r;
}

ssize_t run_output_read(
	struct run_output *o, enum run_stream stream, void *data, size_t len, uint64_t off)
{
	ssize_t n;
	int fd;

	if (off >= o->kept[stream])
		return 0;
	if (len > o->kept[stream] - off)
		len = (size_t)(o->kept[stream] - off);
	if (stream == RUN_OUTPUT && !o->mixed)
		stream = o->kept[RUN_STDOUT] ? RUN_STDOUT : RUN_STDERR;
	if (off >= o->stored[stream]) {
		memcpy(data, o->memory[stream].data + (off - o->stored[stream]), len);
		return (ssize_t)len;
	}
	if (len > o->stored[stream] - off)
		len = (size_t)(o->stored[stream] - off);
	fd = open_file(o, stream, 0);
	if (fd < 0)
		return fd;
	n = pread(fd, data, len, (off_t)off);
	n = n < 0 ? -errno : n;
	if (o->settled)
		close_fd(&o->fd[stream]);
	return n;
}
