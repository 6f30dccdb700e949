// Watches how much disk the sandbox takes.
//
// A walk over the tree tells it exactly, but takes its time. So the file system's free space, which
// costs nothing to ask for, is looked at often: the sandbox cannot have grown by more than that
// shrank, unless others made room meanwhile, for which there is a walk now and then.
#include "runner/limits/disk_guard.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

#include "common/clock.h"
#include "common/job.h"
#include "common/scope.h"

#define LOOK_USEC (100 * USEC_PER_MSEC)
#define OLD_USEC (2 * USEC_PER_SEC)
#define SETTLE_USEC (300 * USEC_PER_MSEC)
#define REST_FACTOR 10 /* at most this part of the time goes into walks that nothing asks for */

struct disk_guard {
	struct disk_guard_config config;
	struct loop_timer look;
	struct job job; /* the walk; its fields below are the thread's while it goes on */
	bool walking;
	struct disk_use found;

	bool measured;
	struct disk_use use;
	uint64_t free_bytes; /* when the walk began */
	uint64_t free_before;
	uint64_t began_usec, took_usec; /* the last walk */
	bool is_over;
	unsigned round;
	bool settled; /* the last walk saw nothing of what was ended */
	uint64_t acted_usec; /* when that was said last */
};

/* What is counted of items, too. */
static uint64_t free_space(const struct disk_guard *guard)
{
	struct statvfs fs;

	return fstatvfs(guard->config.state_fd, &fs) < 0
		       ? 0
		       : (uint64_t)fs.f_bfree * fs.f_frsize + (uint64_t)fs.f_ffree * DISK_USE_ITEM;
}

static int walk(struct job *job)
{
	struct disk_guard *guard = container_of(job, struct disk_guard, job);
	struct stat st;
	int r;

	guard->found = (struct disk_use){0};
	r = disk_use_add(guard->config.state_fd, "root", &job->cancelled, &guard->found);
	if (r == 0)
		r = disk_use_add(guard->config.state_fd, "layers", &job->cancelled, &guard->found);
	if (r == 0 && fstatat(guard->config.state_fd, "root", &st, 0) == 0)
		disk_use_add_nameless(
			guard->config.proc_fd, st.st_dev, &job->cancelled, &guard->found);
	return r;
}

/* What was ended takes a moment to end, and wrote while the last walk went on: growth counts from the
 * first walk on that saw none of this. */
static void judge(struct disk_guard *guard, uint64_t before)
{
	bool over = guard->config.limit_bytes && guard->use.bytes > guard->config.limit_bytes;
	bool settling = guard->is_over && guard->began_usec - guard->acted_usec < SETTLE_USEC;

	if (over && settling) {
		guard->settled = false;
	} else if (over && guard->is_over && !guard->settled) {
		guard->settled = true;
	} else if (over && (!guard->is_over || guard->use.bytes > before)) {
		guard->is_over = true;
		guard->settled = false;
		guard->acted_usec = clock_monotonic_usec();
		guard->config.over(guard->config.arg, &guard->use, ++guard->round);
	} else if (over) {
		guard->round = 0;
	} else if (guard->is_over) {
		guard->is_over = false;
		guard->round = 0;
		guard->config.under(guard->config.arg);
	}
}

static void walked(struct job *job)
{
	struct disk_guard *guard = container_of(job, struct disk_guard, job);
	uint64_t before = guard->use.bytes;

	guard->walking = false;
	guard->took_usec = clock_monotonic_usec() - guard->began_usec;
	/* A tree whose directories are moved about is measured by the next walk. */
	if (job->result < 0 || job_cancelled(job))
		return;
	guard->use = guard->found;
	guard->free_bytes = guard->free_before;
	guard->measured = true;
	judge(guard, before);
}

static void begin(struct disk_guard *guard)
{
	if (guard->walking)
		return;
	guard->free_before = free_space(guard);
	guard->began_usec = clock_monotonic_usec();
	guard->job = (struct job){.work = walk, .done = walked};
	guard->walking = job_start(&guard->job, guard->config.loop) == 0;
}

/* The most that the sandbox may take by now. */
static bool may_be_over(const struct disk_guard *guard)
{
	uint64_t free_now = free_space(guard), use = guard->use.bytes;

	if (free_now < guard->free_bytes)
		use += guard->free_bytes - free_now;
	return use > guard->config.limit_bytes;
}

static void on_look(struct loop_timer *timer)
{
	struct disk_guard *guard = container_of(timer, struct disk_guard, look);
	uint64_t now = clock_monotonic_usec(), age = now - guard->began_usec;

	if (!guard->measured || may_be_over(guard) ||
		(age > OLD_USEC && age > REST_FACTOR * guard->took_usec))
		begin(guard);
	loop_timer_set(guard->config.loop, timer, now + LOOK_USEC);
}

int disk_guard_new(const struct disk_guard_config *config, struct disk_guard **ret)
{
	struct disk_guard *guard = calloc(1, sizeof(*guard));

	if (!guard)
		return -ENOMEM;
	guard->config = *config;
	guard->look.fire = on_look;
	if (config->limit_bytes)
		loop_timer_set(config->loop, &guard->look, clock_monotonic_usec());
	*ret = guard;
	return 0;
}

void disk_guard_free(struct disk_guard *guard)
{
	if (!guard)
		return;
	loop_timer_cancel(guard->config.loop, &guard->look);
	if (guard->walking) {
		job_cancel(&guard->job);
		job_finish(&guard->job);
	}
	free(guard);
}

bool disk_guard_use(struct disk_guard *guard, struct disk_use *ret)
{
	uint64_t age = clock_monotonic_usec() - guard->began_usec;

	if (!guard->measured || (age > OLD_USEC && age > REST_FACTOR * guard->took_usec))
		begin(guard);
	*ret = guard->use;
	return guard->measured;
}
