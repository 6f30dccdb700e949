// What a run writes, in files.
#include "runner/runs/run_output_impl.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/scope.h"

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
	run_output_flush(o);
	run_output_close(o);
	for (int i = 0; i < 3; i++) {
		if (o->spill)
			o->spill->held -= o->memory[i].len;
		buf_clear(&o->memory[i]);
		buf_clear(&o->spare[i]);
	}
}

void run_output_free_room(struct run_output *o)
{
	for (int i = 0; i < 3; i++) {
		if (!o->memory[i].len)
			buf_clear(&o->memory[i]);
		buf_clear(&o->spare[i]);
	}
}

void run_output_settle(struct run_output *o)
{
	run_output_close(o);
	o->settled = true;
	run_output_free_room(o);
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

int run_output_open_file(struct run_output *o, enum run_stream stream, int flags)
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
	uint64_t begun_usec = clock_monotonic_usec();
	int fd = run_output_open_file(o, stream, O_CREAT);

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
	run_output_note_write(o, begun_usec);
	return 0;
}

/* Where the file of a stream begins: that of `output` has nothing before its base. */
static uint64_t start_of(const struct run_output *o, enum run_stream stream)
{
	return stream == RUN_OUTPUT ? o->mix_base : 0;
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

	if (!o->spill || o->stored[stream] > start_of(o, stream))
		return -ENOSPC;
	o->kept[stream] = start_of(o, stream);
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

/* A command that fills the disk should still be able to say so, and one that could not start because
 * the disk fails: when it takes no more, a little is kept in memory, as long as the daemon lives. */
static int write_at(struct run_output *o, enum run_stream stream, const char *data, size_t len)
{
	size_t has = o->memory[stream].len;
	int r;

	if (o->spill && o->stored[stream] == start_of(o, stream) &&
		spill_may_hold(o->spill, has, len))
		return hold(o, stream, data, len);
	if (run_output_job_takes(o, stream)) {
		r = hold(o, stream, data, len);
		run_output_job_start(o);
		return r;
	}
	r = has ? spill_over(o, stream) : 0;
	if (r == 0)
		r = write_file(o, stream, &data, &len);
	if (r == 0)
		return 0;
	o->refused[stream] = true;
	return o->memory[stream].len + len > RUN_OUTPUT_MEMORY_MAX ? r : hold(o, stream, data, len);
}

/* Writes without the thread what waits for it; what the disk refuses stays in memory. */
void run_output_flush(struct run_output *o)
{
	run_output_job_finish(o);
	for (int i = 0; o->loop && i < 3; i++) {
		struct buf waits = o->memory[i];
		const char *data = waits.data;
		size_t len = waits.len;

		if (o->refused[i] || !len)
			continue;
		o->memory[i] = (struct buf){0};
		o->kept[i] -= len;
		o->refused[i] = write_file(o, (enum run_stream)i, &data, &len) < 0;
		if (o->refused[i] && write_at(o, (enum run_stream)i, data, len) < 0)
			o->dropped = true;
		buf_clear(&waits);
	}
	if (!o->mixed)
		o->kept[RUN_OUTPUT] = o->kept[RUN_STDOUT] + o->kept[RUN_STDERR];
}

bool run_output_begin_mix(struct run_output *o, enum run_stream stream)
{
	enum run_stream other = stream == RUN_STDOUT ? RUN_STDERR : RUN_STDOUT;

	if (o->mixed || !o->kept[other])
		return false;
	o->mixed = true;
	o->mix_first = other;
	o->mix_base = o->kept[RUN_OUTPUT] = o->stored[RUN_OUTPUT] = o->kept[other];
	return true;
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
	int r;

	run_output_begin_mix(o, stream);
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

/* Behind the file comes what the thread is writing, and then what waits. */
static ssize_t read_memory(
	const struct run_output *o, enum run_stream stream, void *data, size_t len, uint64_t off)
{
	size_t going = run_output_job_len(o, stream);

	if (off >= going) {
		memcpy(data, o->memory[stream].data + (off - going), len);
		return (ssize_t)len;
	}
	if (len > going - off)
		len = (size_t)(going - off);
	run_output_job_read(o, stream, data, len, off);
	return (ssize_t)len;
}

/* As much as lies in one place. */
static ssize_t read_some(
	struct run_output *o, enum run_stream stream, void *data, size_t len, uint64_t off)
{
	ssize_t n;
	int fd;

	if (off >= o->kept[stream])
		return 0;
	if (len > o->kept[stream] - off)
		len = (size_t)(o->kept[stream] - off);
	if (stream == RUN_OUTPUT && !o->mixed) {
		stream = o->kept[RUN_STDOUT] ? RUN_STDOUT : RUN_STDERR;
	} else if (stream == RUN_OUTPUT && off < o->mix_base) {
		stream = o->mix_first;
		if (len > o->mix_base - off)
			len = (size_t)(o->mix_base - off);
	}
	if (off >= o->stored[stream])
		return read_memory(o, stream, data, len, off - o->stored[stream]);
	if (len > o->stored[stream] - off)
		len = (size_t)(o->stored[stream] - off);
	fd = run_output_open_file(o, stream, 0);
	if (fd < 0)
		return fd;
	n = pread(fd, data, len, (off_t)off);
	n = n < 0 ? -errno : n;
	if (o->settled)
		close_fd(&o->fd[stream]);
	return n;
}

ssize_t run_output_read(
	struct run_output *o, enum run_stream stream, void *data, size_t len, uint64_t off)
{
	size_t got = 0;

	while (got < len) {
		ssize_t n = read_some(o, stream, (char *)data + got, len - got, off + got);

		if (n < 0 && !got)
			return n;
		if (n <= 0)
			break;
		got += (size_t)n;
	}
	return (ssize_t)got;
}
