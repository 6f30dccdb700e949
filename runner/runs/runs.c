// The collection of runs: opening, finding, keeping within limits, and the sandbox's events.
#include "runner/runs/run_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/stat.h>

#include "common/clock.h"
#include "common/scope.h"
#include "common/waiters.h"

static int add_record(struct runs *runs, uint32_t number, const char *id, struct run **ret)
{
	struct run *run = calloc(1, sizeof(*run));
	struct run **bucket = &runs->buckets[number % RUN_BUCKETS];

	if (!run)
		return -ENOMEM;
	run->id = strdup(id);
	if (!run->id) {
		free(run);
		return -ENOMEM;
	}
	run->runs = runs;
	run->number = number;
	run->result_size = -1;
	run->pipes[0].pipe.source.fd = run->pipes[1].pipe.source.fd = run->in.fd = -1;
	list_init(&run->grown);
	list_init(&run->ended);
	list_init(&run->in_ready);
	run_output_init(&run->output, runs->dir_fd, number, runs->config.output_bytes);
	run->output.loop = runs->config.loop;
	run->output.slow_until_usec = &runs->slow_until_usec;
	run->output.written = run_on_written;
	list_add_tail(&runs->all, &run->link);
	run->next_in_bucket = *bucket;
	*bucket = run;
	runs->count++;
	*ret = run;
	return 0;
}

/* Kept when the newest record goes away, so that its number is not given again after a restart. */
static void save_next(const struct run *run)
{
	struct runs *runs = run->runs;
	char text[48];

	if (run->number + 1 != runs->next_number && strtoul(run->id, NULL, 10) + 1 != runs->next_id)
		return;
	snprintf(text, sizeof(text), "%" PRIu32 " %" PRIu32, runs->next_number, runs->next_id);
	run_store_set(runs->store, "next", text);
}

int run_new(struct runs *runs, const char *id, struct run **ret)
{
	char number[16];
	int r;

	if (!id) {
		snprintf(number, sizeof(number), "%" PRIu32, runs->next_id);
		id = number;
	} else if (runs_find(runs, id)) {
		return -EEXIST;
	}
	r = add_record(runs, runs->next_number, id, ret);
	if (r < 0)
		return r;
	runs->next_number++;
	if (id == number)
		runs->next_id++;
	return 0;
}

void run_set_reserved(struct run *run, bool reserved)
{
	run->runs->reserved += reserved - run->reserved;
	run->reserved = reserved;
}

static void remove_record(struct run *run)
{
	struct runs *runs = run->runs;
	struct run **at = &runs->buckets[run->number % RUN_BUCKETS];

	run_set_reserved(run, false);
	while (*at != run)
		at = &(*at)->next_in_bucket;
	*at = run->next_in_bucket;
	list_remove(&run->link);
	runs->count--;
	if (runs->last == run) {
		struct list *item;

		runs->last = NULL;
		list_for_each(
			item, &runs->all) if (list_entry(item, struct run, link)->status != RUN_NEW)
			runs->last = list_entry(item, struct run, link);
	}
}

static void release(struct run *run)
{
	run_pipes_close(run);
	run_stdin_shut(run);
	loop_timer_cancel(run->runs->config.loop, &run->timeout);
	loop_timer_cancel(run->runs->config.loop, &run->kill_later);
	waiters_wake(&run->grown);
	waiters_wake(&run->ended);
	waiters_wake(&run->in_ready);
	run_output_free(&run->output);
	free(run->cmd);
	free(run->id);
	free(run->cwd);
	free(run->user);
	free(run);
}

static uint64_t bytes_kept(const struct run *run)
{
	return run->output.kept[RUN_STDOUT] + run->output.kept[RUN_STDERR];
}

void run_free(struct run *run)
{
	struct runs *runs = run->runs;

	if (run->in_sandbox)
		sandbox_forget(runs->config.sandbox, run->number);
	runs->kept_at_most -= bytes_kept(run);
	runs->unsaved -= run->unsaved;
	save_next(run);
	run_output_remove(&run->output);
	run_store_delete(runs->store, run->number);
	remove_record(run);
	release(run);
}

static void set_mixed(struct run_output *o, uint64_t mixed)
{
	o->mixed = mixed != 0;
	if (mixed < 2)
		return;
	o->mix_base = (mixed - 2) >> 1;
	o->mix_first = (mixed - 2) & 1 ? RUN_STDERR : RUN_STDOUT;
}

int run_reserve(struct runs *runs, const char *name, struct run **ret, struct fail *f)
{
	int r;

	if (!run_request_name_ok(name))
		return fail_set(f, -EINVAL,
			"a run's name is letters, digits and ._- (at most %d, first a letter or "
			"digit, not only digits, not \"last\")",
			RUN_NAME_MAX);
	if (runs->reserved >= RUN_RESERVED_MAX && !runs_find(runs, name))
		return fail_set(f, -ENOSPC,
			"there are %d runs already that have a name and were not started; start "
			"some, or remove their directories",
			RUN_RESERVED_MAX);
	r = run_new(runs, name, ret);
	if (r < 0)
		return fail_errno(f, r, "a run \"%s\" cannot be made", name);
	run_set_reserved(*ret, true);
	r = run_save_reserved(*ret);
	if (r < 0) {
		run_free(*ret);
		return fail_errno(f, r, "a run \"%s\" cannot be kept", name);
	}
	return 0;
}

static void count_bytes(struct runs *runs)
{
	struct list *item;

	runs->kept_at_most = 0;
	list_for_each(item, &runs->all) runs->kept_at_most +=
		bytes_kept(list_entry(item, struct run, link));
}

void runs_prune(struct runs *runs)
{
	struct list *item, *spare;

	if (runs->kept_at_most > RUN_KEEP_BYTES)
		count_bytes(runs);
	list_for_each_safe(item, spare, &runs->all)
	{
		struct run *run = list_entry(item, struct run, link);

		if (runs->count - runs->reserved <= RUN_KEEP_COUNT &&
			runs->kept_at_most <= RUN_KEEP_BYTES)
			break;
		if (!run_is_over(run) || run->in_sandbox || run == runs->last)
			continue;
		run_free(run);
	}
}

static int load_row(const struct run_row *row, void *arg)
{
	struct runs *runs = arg;
	struct run *run;
	int r = add_record(runs, row->number, row->id, &run);

	if (r < 0)
		return r;
	run->cwd = strdup(row->cwd);
	run->user = strdup(row->user);
	if (!run->cwd || !run->user)
		return -ENOMEM;
	run->in_index = true;
	run->cmd_len = row->cmd_len;
	run->status = row->status == RUN_RUNNING ? RUN_LOST : row->status;
	run->exit_code = row->exit_code;
	run->signal = row->signal;
	run->timed_out = row->timed_out & 1;
	run->limit = (enum run_limit)(row->timed_out >> RUN_ROW_LIMIT_SHIFT);
	run->started_usec = row->started_usec;
	run->ended_usec = row->ended_usec;
	run->duration_usec =
		row->ended_usec > row->started_usec ? row->ended_usec - row->started_usec : 0;
	run->output.settled = true;
	run->output.dropped = row->dropped;
	set_mixed(&run->output, row->mixed);
	/* Of a run that was going the row may tell an earlier moment: recover_lost() looks. */
	if (row->status != RUN_RUNNING)
		memcpy(run->output.total, row->total, sizeof(run->output.total));
	memset(run->output.made, true, sizeof(run->output.made));
	memcpy(run->output.kept, row->kept, sizeof(run->output.kept));
	memcpy(run->output.stored, row->kept, sizeof(run->output.stored));
	if (run->status != RUN_NEW)
		runs->last = run;
	run_set_reserved(run, run->status == RUN_NEW);
	runs->next_number = row->number + 1;
	if (row->id[strspn(row->id, "0123456789")] == '\0' &&
		strtoul(row->id, NULL, 10) >= runs->next_id)
		runs->next_id = (uint32_t)strtoul(row->id, NULL, 10) + 1;
	return 0;
}

static uint64_t size_of(struct runs *runs, uint32_t number, const char *suffix)
{
	char name[32];
	struct stat st;

	snprintf(name, sizeof(name), "%" PRIu32 ".%s", number, suffix);
	return fstatat(runs->dir_fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0 ? 0 : (uint64_t)st.st_size;
}

/* A run that was going when the daemon died: its output is what the files hold. */
static void recover_lost(struct run *run)
{
	struct run_output *o = &run->output;

	o->kept[RUN_STDOUT] = o->total[0] = size_of(run->runs, run->number, "out");
	o->kept[RUN_STDERR] = o->total[1] = size_of(run->runs, run->number, "err");
	o->kept[RUN_OUTPUT] = size_of(run->runs, run->number, "mix");
	o->mixed = o->mixed || o->kept[RUN_OUTPUT];
	if (o->kept[RUN_OUTPUT] < o->mix_base)
		o->kept[RUN_OUTPUT] = o->mix_base;
	if (!o->mixed)
		o->kept[RUN_OUTPUT] = o->kept[RUN_STDOUT] + o->kept[RUN_STDERR];
	memcpy(o->stored, o->kept, sizeof(o->stored));
	runs_log(run->runs, "lost %s: it ran when the daemon died", run->id);
	run_save(run);
}

static void recover(struct runs *runs)
{
	struct list *item;

	list_for_each(item, &runs->all)
	{
		struct run *run = list_entry(item, struct run, link);

		if (run->status == RUN_LOST && !run->ended_usec && !run->output.total[0] &&
			!run->output.total[1])
			recover_lost(run);
	}
}

static void load_next(struct runs *runs)
{
	char *text auto_free = NULL;
	uint32_t number, id;

	if (run_store_get(runs->store, "next", &text) < 0 ||
		sscanf(text, "%" SCNu32 " %" SCNu32, &number, &id) != 2)
		return;
	if (number > runs->next_number)
		runs->next_number = number;
	if (id > runs->next_id)
		runs->next_id = id;
}

static void on_link(struct loop_source *source, uint32_t events)
{
	struct runs *runs = container_of(source, struct runs, link);
	struct sandbox_event event;
	struct list *item, *spare;
	int r;

	(void)events;
	while ((r = sandbox_next_event(runs->config.sandbox, &event)) > 0) {
		struct run *run = runs_at(runs, event.id);

		if (run)
			run_on_event(run, &event);
		else if (runs->config.hooks.event)
			runs->config.hooks.event(runs->config.hooks.arg, &event);
	}
	if (r == 0)
		return;
	loop_unwatch(runs->config.loop, source);
	runs->sandbox_alive = false;
	runs_log(runs, "the sandbox has died: no command can run until it is mounted again");
	list_for_each_safe(item, spare, &runs->all)
		run_on_sandbox_death(list_entry(item, struct run, link));
	if (runs->config.hooks.sandbox_died)
		runs->config.hooks.sandbox_died(runs->config.hooks.arg);
}

static int open_all(struct runs *runs, struct fail *f)
{
	int r;

	if (mkdirat(runs->config.state_fd, "runs", 0700) < 0 && errno != EEXIST)
		return fail_errno(f, -errno, "%s/runs", runs->config.state_path);
	runs->dir_fd = openat(
		runs->config.state_fd, "runs", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	runs->null_fd = open("/dev/null", O_WRONLY | O_CLOEXEC);
	if (runs->dir_fd < 0 || runs->null_fd < 0)
		return fail_errno(f, -errno, "%s/runs", runs->config.state_path);
	r = run_store_open(runs->config.state_path, runs->config.loop, &runs->store, f);
	if (r == 0)
		r = run_store_load(runs->store, load_row, runs);
	if (r < 0)
		return r;
	load_next(runs);
	recover(runs);
	count_bytes(runs);
	runs->link =
		(struct loop_source){.fd = sandbox_link_fd(runs->config.sandbox), .ready = on_link};
	r = loop_watch(runs->config.loop, &runs->link, EPOLLIN);
	return r < 0 ? fail_errno(f, r, "watching the sandbox") : 0;
}

int runs_open(const struct runs_config *config, struct runs **ret, struct fail *f)
{
	struct runs *runs = calloc(1, sizeof(*runs));
	int r;

	if (!runs)
		return -ENOMEM;
	runs->config = *config;
	runs->dir_fd = runs->null_fd = -1;
	runs->next_number = runs->next_id = 1;
	runs->sandbox_alive = true;
	list_init(&runs->all);
	r = open_all(runs, f);
	if (r == 0)
		r = runs_defaults_load(runs, f);
	if (r < 0) {
		runs_close(runs);
		return r;
	}
	*ret = runs;
	return 0;
}

void runs_close(struct runs *runs)
{
	if (!runs)
		return;
	while (!list_empty(&runs->all)) {
		struct run *run = list_entry(runs->all.next, struct run, link);

		if (run->status == RUN_RUNNING)
			run_on_sandbox_death(run);
		else if (run->unsaved)
			run_save(run);
		remove_record(run);
		release(run);
	}
	run_store_close(runs->store);
	close_fd(&runs->dir_fd);
	close_fd(&runs->null_fd);
	free(runs->cwd);
	free(runs->env);
	free(runs->user);
	free(runs->timeout);
	run_request_free_strings(&runs->env_pairs);
	free(runs);
}

unsigned runs_live_count(const struct runs *runs)
{
	return runs->live;
}

unsigned runs_count(const struct runs *runs)
{
	return runs->count;
}

uint64_t runs_total(const struct runs *runs)
{
	return runs->total;
}

struct list *runs_list(struct runs *runs)
{
	return &runs->all;
}

struct run *runs_find(struct runs *runs, const char *id)
{
	struct list *item;

	for (item = runs->all.prev; item != &runs->all; item = item->prev)
		if (!strcmp(list_entry(item, struct run, link)->id, id))
			return list_entry(item, struct run, link);
	return NULL;
}

struct run *runs_at(struct runs *runs, uint32_t number)
{
	struct run *run = runs->buckets[number % RUN_BUCKETS];

	while (run && run->number != number)
		run = run->next_in_bucket;
	return run;
}

struct run *runs_last(struct runs *runs)
{
	return runs->last;
}

bool runs_sandbox_alive(const struct runs *runs)
{
	return runs->sandbox_alive;
}
