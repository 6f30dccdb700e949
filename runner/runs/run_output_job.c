// The thread that writes what is much of a run's output, one piece of all streams after the other.
#include "runner/runs/run_output_impl.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/job.h"
#include "common/scope.h"

#define DIRECT_MAX 65536 /* bytes of a stream that are written without a thread in any case */
/* Through a thread a flood takes twice the processor time, as its bytes change the processor. The
 * kernel holds up who writes too much for moments at first, and then for up to 200 ms. */
#define SLOW_USEC 4000
#define SLOW_FOR_USEC (10 * USEC_PER_SEC)
#define SMALL 16384 /* a piece of so few bytes is not part of a flood */

struct part {
	struct buf data; /* owned; nobody changes it while the thread works */
	int fd; /* owned; -1: nothing to write */
	off_t at;
	size_t written;
	int err;
};

struct run_output_job {
	struct job job;
	struct run_output *output; /* borrowed; waits for the job before it goes */
	struct part parts[3];
};

bool run_output_job_takes(const struct run_output *o, enum run_stream stream)
{
	if (!o->loop || o->refused[stream])
		return false;
	return o->memory[stream].len || run_output_job_len(o, stream) ||
	       (o->stored[stream] >= DIRECT_MAX && clock_monotonic_usec() < *o->slow_until_usec);
}

void run_output_note_write(const struct run_output *o, uint64_t begun_usec)
{
	uint64_t now = o->loop ? clock_monotonic_usec() : 0;

	if (o->loop && now - begun_usec >= SLOW_USEC && *o->slow_until_usec < now + SLOW_FOR_USEC)
		*o->slow_until_usec = now + SLOW_FOR_USEC;
}

size_t run_output_job_len(const struct run_output *o, enum run_stream stream)
{
	return o->job ? o->job->parts[stream].data.len : 0;
}

void run_output_job_read(
	const struct run_output *o, enum run_stream stream, void *data, size_t len, uint64_t off)
{
	memcpy(data, o->job->parts[stream].data.data + off, len);
}

static void write_part(struct part *p)
{
	while (p->fd >= 0 && !p->err && p->written < p->data.len) {
		ssize_t n = pwrite(p->fd, p->data.data + p->written, p->data.len - p->written,
			p->at + (off_t)p->written);

		if (n > 0)
			p->written += (size_t)n;
		else if (n == 0 || errno != EINTR)
			p->err = n == 0 ? -EIO : -errno;
	}
}

static int work(struct job *job)
{
	struct run_output_job *j = container_of(job, struct run_output_job, job);

	for (int i = 0; i < 3; i++)
		write_part(&j->parts[i]);
	return 0;
}

/* What the disk refused comes before what has come meanwhile, and a little of all is kept. */
static void take_back(struct run_output *o, enum run_stream stream, const struct part *p)
{
	struct buf all = {0};
	size_t lost;

	o->refused[stream] = true;
	buf_add(&all, p->data.data + p->written, p->data.len - p->written);
	buf_add(&all, buf_text(&o->memory[stream]), o->memory[stream].len);
	lost = p->data.len - p->written + o->memory[stream].len - all.len;
	if (all.len > RUN_OUTPUT_MEMORY_MAX) {
		lost += all.len - RUN_OUTPUT_MEMORY_MAX;
		all.len = RUN_OUTPUT_MEMORY_MAX;
	}
	buf_clear(&o->memory[stream]);
	o->memory[stream] = all;
	o->kept[stream] -= lost;
	o->dropped = o->dropped || lost;
	if (!o->mixed)
		o->kept[RUN_OUTPUT] = o->kept[RUN_STDOUT] + o->kept[RUN_STDERR];
}

static void done(struct job *job)
{
	struct run_output_job *j = container_of(job, struct run_output_job, job);
	struct run_output *o = j->output;
	size_t written = 0;

	o->job = NULL;
	for (int i = 0; i < 3; i++) {
		struct part *p = &j->parts[i];

		o->stored[i] += p->written;
		written += p->written;
		if (p->err)
			take_back(o, (enum run_stream)i, p);
		close_fd(&p->fd);
		buf_clear(&o->spare[i]);
		buf_reset(&p->data);
		o->spare[i] = p->data;
	}
	free(j);
	run_output_job_start(o);
	/* While much comes the same memory is used again and again. */
	if (!o->job && (o->settled || written < SMALL))
		run_output_free_room(o);
	if (!o->job && o->settled)
		run_output_close(o);
	/* The last: whoever hears of it may free the output. */
	if (o->written)
		o->written(o);
}

/* Where there is no file to be had the part fails as a write would. */
static bool take_part(struct run_output *o, enum run_stream stream, struct part *p)
{
	if (o->refused[stream] || !o->memory[stream].len)
		return false;
	p->data = o->memory[stream];
	o->memory[stream] = o->spare[stream];
	o->spare[stream] = (struct buf){0};
	p->at = (off_t)o->stored[stream];
	o->made[stream] = true;
	p->fd = run_output_open_file(o, stream, O_CREAT);
	if (p->fd >= 0)
		p->fd = fcntl(p->fd, F_DUPFD_CLOEXEC, 3);
	if (p->fd < 0)
		p->err = -errno;
	return true;
}

void run_output_job_start(struct run_output *o)
{
	struct run_output_job *j;
	bool any = false;

	if (o->job || !o->loop)
		return;
	/* Without memory for it now, the next bytes or the end of the output try again. */
	j = calloc(1, sizeof(*j));
	if (!j)
		return;
	j->job = (struct job){.work = work, .done = done};
	j->output = o;
	for (int i = 0; i < 3; i++) {
		j->parts[i].fd = -1;
		any |= take_part(o, (enum run_stream)i, &j->parts[i]);
	}
	if (!any) {
		free(j);
		return;
	}
	o->job = j;
	if (job_start(&j->job, o->loop) < 0) {
		work(&j->job);
		done(&j->job);
	}
}

void run_output_job_finish(struct run_output *o)
{
	struct loop *loop = o->loop;
	void (*written)(struct run_output * o) = o->written;

	o->loop = NULL;
	o->written = NULL;
	if (o->job)
		job_finish(&o->job->job);
	o->loop = loop;
	o->written = written;
}

bool run_output_is_behind(const struct run_output *o)
{
	for (int i = 0; i < 3; i++)
		if (!o->refused[i] && o->memory[i].len >= RUN_OUTPUT_BEHIND)
			return o->job != NULL;
	return false;
}

void run_output_mark(const struct run_output *o, struct run_output_mark *ret)
{
	memcpy(ret->kept, o->kept, sizeof(ret->kept));
}

bool run_output_is_stored(const struct run_output *o, const struct run_output_mark *mark)
{
	if (!o->job)
		return true;
	for (int i = 0; i < (o->mixed ? 3 : 2); i++)
		if (!o->refused[i] && o->stored[i] < mark->kept[i])
			return false;
	return true;
}
