// Requests to persist, restore or plan: each runs in a thread of its own.
#include "fs/checkpoint_jobs.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/clock.h"
#include "common/job.h"
#include "common/json_out.h"
#include "common/scope.h"
#include "common/waiters.h"
#include "fs/files/files_cache.h"
#include "fs/mount.h"
#include "runner/checkpoint/checkpoint.h"
#include "runner/checkpoint/checkpoint_view.h"
#include "runner/checkpoint/store_dir.h"
#include "runner/checkpoint/tree_remove.h"

#define KEPT 16 /* answers, for handles that read them late */

struct checkpoint_jobs {
	struct mount *m; /* borrowed */
	char *project; /* owned */
	struct checkpoint_env env;
	struct list all; /* of struct request.link, oldest first */
	uint32_t last_id;
};

enum request_state { WAITING, RUNNING, OVER };

struct request {
	struct job job;
	struct list link;
	struct checkpoint_jobs *jobs; /* borrowed */
	uint32_t id; /* 0: nobody asked, a collect */
	enum request_state state;
	bool disowned; /* its writer was interrupted, and /error says so */
	struct checkpoint_request asked;
	struct task task;
	struct buf answer;
	struct fail why;
	char *sha256; /* owned; of a collect: whose tree goes */
	int error;
	struct list ended;
};

static struct request *request_of(struct list *item)
{
	return list_entry(item, struct request, link);
}

static struct request *find(struct checkpoint_jobs *jobs, uint32_t id)
{
	struct list *item;

	list_for_each(item, &jobs->all)
	{
		if (id && request_of(item)->id == id)
			return request_of(item);
	}
	return NULL;
}

static void free_request(struct request *r)
{
	list_remove(&r->link);
	checkpoint_request_clear(&r->asked);
	buf_clear(&r->answer);
	free(r->sha256);
	free(r);
}

static struct request *new_request(struct checkpoint_jobs *jobs)
{
	struct request *r = calloc(1, sizeof(*r));

	if (!r)
		return NULL;
	r->jobs = jobs;
	r->task.cancelled = &r->job.cancelled;
	list_init(&r->ended);
	list_add_tail(&jobs->all, &r->link);
	return r;
}

/* Old answers go, but never the newest of each kind. */
static void forget_old(struct checkpoint_jobs *jobs)
{
	struct list *item, *spare;
	unsigned over = 0;

	list_for_each(item, &jobs->all)
	{
		over += request_of(item)->state == OVER;
	}
	list_for_each_safe(item, spare, &jobs->all)
	{
		if (over > KEPT && request_of(item)->state == OVER) {
			free_request(request_of(item));
			over--;
		}
	}
}

int checkpoint_jobs_new(struct mount *m, struct checkpoint_jobs **ret)
{
	const struct sandbox_ids *ids = sandbox_ids(m->sandbox);
	struct checkpoint_jobs *jobs = calloc(1, sizeof(*jobs));

	if (!jobs)
		return -ENOMEM;
	list_init(&jobs->all);
	jobs->m = m;
	jobs->project = strdup(m->config->project ? m->config->project : m->name);
	if (!jobs->project) {
		checkpoint_jobs_free(jobs);
		return -ENOMEM;
	}
	jobs->env = (struct checkpoint_env){
		.sandbox = m->sandbox,
		.tree_fd = sandbox_tree_fd(m->sandbox),
		.ids_base = ids->base,
		.ids_len = ids->len,
		.store_path = m->store_path,
		.project = jobs->project,
		.max_bytes = m->config->max_bytes,
		.keep = m->config->keep,
	};
	*ret = jobs;
	return 0;
}

void checkpoint_jobs_stop(struct checkpoint_jobs *jobs)
{
	struct list *item, *spare;

	if (!jobs)
		return;
	list_for_each(item, &jobs->all)
	{
		job_cancel(&request_of(item)->job);
	}
	list_for_each_safe(item, spare, &jobs->all)
	{
		if (request_of(item)->state == RUNNING)
			job_finish(&request_of(item)->job);
	}
}

void checkpoint_jobs_free(struct checkpoint_jobs *jobs)
{
	if (!jobs)
		return;
	while (!list_empty(&jobs->all))
		free_request(request_of(jobs->all.next));
	free(jobs->project);
	free(jobs);
}

const char *checkpoint_jobs_project(const struct checkpoint_jobs *jobs)
{
	return jobs->project;
}

static int work(struct job *job)
{
	struct request *r = container_of(job, struct request, job);

	return checkpoint_run(&r->jobs->env, &r->asked, &r->task, &r->answer, &r->why);
}

/* One that was cancelled still holds the project's lock for a moment; the next waits for it. */
static bool must_wait(struct checkpoint_jobs *jobs)
{
	struct list *item;

	list_for_each(item, &jobs->all)
	{
		const struct request *r = request_of(item);

		if (r->state == RUNNING && r->id && job_cancelled(&r->job))
			return true;
	}
	return false;
}

static void done(struct job *job);

static void over(struct request *r, int error)
{
	struct mount *m = r->jobs->m;
	static const char *const what[] = {"persisted", "restored", "planned"};
	const struct store_row *rows;
	struct fail words;

	r->state = OVER;
	r->error = error;
	if (error < 0 && !r->disowned) {
		fail_set(&words, error, "%s: %s", task_code_name(r->task.code), r->why.text);
		m->failures++;
		mount_failed(m, r->asked.op == CHECKPOINT_PLAN ? "checkpoint.plan" : "checkpoint",
			error, &words);
	} else if (error == 0) {
		mount_log(m, "%s %s", what[r->asked.op], r->asked.path);
		/* The view keeps the index open: the last one to close it writes all of it back. */
		checkpoint_view_rows(m->view, &rows);
	}
	waiters_wake(&r->ended);
}

/* A restore changes files/ behind the kernel's back, as commands do. */
static void change_tree(struct request *r, bool begins)
{
	if (r->asked.op == CHECKPOINT_RESTORE)
		files_cache_busy(r->jobs->m->files, begins);
}

static int start(struct request *r)
{
	int err;

	r->state = RUNNING;
	r->task.timeout_sec = r->asked.timeout_sec;
	r->task.deadline_usec = clock_monotonic_usec() + r->asked.timeout_sec * USEC_PER_SEC;
	r->job.work = work;
	r->job.done = done;
	change_tree(r, true);
	err = job_start(&r->job, r->jobs->m->loop);
	if (err == 0)
		return 0;
	change_tree(r, false);
	r->task.code = TASK_FAILED_OPERATION;
	fail_errno(&r->why, err, "it cannot be started");
	checkpoint_error(r->task.code, &r->why, &r->answer);
	return err;
}

static void done(struct job *job)
{
	struct request *r = container_of(job, struct request, job);
	struct checkpoint_jobs *jobs = r->jobs;
	struct list *item, *spare;

	change_tree(r, false);
	over(r, job->result);
	if (must_wait(jobs))
		return;
	list_for_each_safe(item, spare, &jobs->all)
	{
		struct request *next = request_of(item);
		int err = 0;

		if (next->state == WAITING && job_cancelled(&next->job))
			err = -EINTR;
		else if (next->state == WAITING && !loop_stopping(jobs->m->loop))
			err = start(next);
		if (err < 0)
			over(next, err);
	}
}

static int refuse(struct request *r, int err, struct fail *f)
{
	r->state = OVER;
	r->error = err;
	r->why = *f;
	if (r->task.code == TASK_OK)
		r->task.code = err == -EINVAL  ? TASK_INVALID_ARGUMENT
			       : err == -EFBIG ? TASK_LIMIT_EXCEEDED
					       : TASK_FAILED_OPERATION;
	buf_reset(&r->answer);
	checkpoint_error(r->task.code, &r->why, &r->answer);
	return fail_set(f, err, "%s: %s", task_code_name(r->task.code), r->why.text);
}

static struct request *new_asked(struct checkpoint_jobs *jobs, uint32_t *ret_id)
{
	struct request *r = new_request(jobs);

	if (!r)
		return NULL;
	if (++jobs->last_id == 0)
		jobs->last_id = 1;
	*ret_id = r->id = jobs->last_id;
	return r;
}

void checkpoint_jobs_refuse(
	struct checkpoint_jobs *jobs, int err, bool plan, uint32_t *ret_id, struct fail *f)
{
	struct request *r = new_asked(jobs, ret_id);

	if (!r)
		return;
	r->asked.op = plan ? CHECKPOINT_PLAN : CHECKPOINT_PERSIST;
	refuse(r, err, f);
	forget_old(jobs);
}

int checkpoint_jobs_begin(struct checkpoint_jobs *jobs, const char *text, size_t len, bool plan,
	uint32_t *ret_id, struct fail *f)
{
	struct request *r = new_asked(jobs, ret_id);
	int err;

	if (!r)
		return -ENOMEM;
	err = checkpoint_request_parse(text, len, plan, &r->asked, f);
	if (err == 0)
		err = checkpoint_request_below(&r->asked, runs_cwd(jobs->m->runs));
	if (err == 0 && !must_wait(jobs))
		err = start(r);
	if (err < 0 && r->task.code)
		*f = r->why;
	err = err < 0 ? refuse(r, err, f) : 0;
	forget_old(jobs);
	return err;
}

void checkpoint_jobs_cancel(struct checkpoint_jobs *jobs, uint32_t id, struct fail *f)
{
	static const char *const what[] = {"persist", "restore", "plan"};
	struct request *r = find(jobs, id);

	if (!r || r->state == OVER)
		return;
	job_cancel(&r->job);
	r->disowned = true;
	fail_set(f, 0, "%s: %s %s is cancelled", task_code_name(TASK_FAILED_OPERATION),
		what[r->asked.op], r->asked.path);
}

struct list *checkpoint_jobs_ended(struct checkpoint_jobs *jobs, uint32_t id)
{
	struct request *r = find(jobs, id);

	return r && r->state != OVER ? &r->ended : NULL;
}

int checkpoint_jobs_error(struct checkpoint_jobs *jobs, uint32_t id)
{
	struct request *r = find(jobs, id);

	return r ? r->error : 0;
}

static int progress(const struct request *r, struct buf *ret)
{
	static const char *const states[] = {"persisting", "restoring", "planning"};
	struct json_out j;

	json_out_begin(&j, ret);
	json_out_object(&j, NULL);
	json_out_string(&j, "state", states[r->asked.op]);
	json_out_uint(&j, "files", atomic_load(&r->task.files));
	json_out_uint(&j, "bytes", atomic_load(&r->task.bytes));
	json_out_object_end(&j);
	return buf_add_char(ret, '\n');
}

static struct request *newest(struct checkpoint_jobs *jobs, bool plan)
{
	struct list *item;
	struct request *found = NULL;

	list_for_each(item, &jobs->all)
	{
		struct request *r = request_of(item);

		if (r->id && (r->asked.op == CHECKPOINT_PLAN) == plan)
			found = r;
	}
	return found;
}

int checkpoint_jobs_answer(struct checkpoint_jobs *jobs, uint32_t id, bool plan, struct buf *ret)
{
	struct request *r = id ? find(jobs, id) : newest(jobs, plan);

	if (!r)
		return id ? -ENOENT : -ENODATA;
	return r->state == OVER ? buf_add(ret, r->answer.data, r->answer.len) : progress(r, ret);
}

static int collect(struct job *job)
{
	struct request *r = container_of(job, struct request, job);
	struct store *store auto_store = NULL;
	int err = 0;

	if (r->sha256)
		err = tree_remove(r->jobs->m->trees_fd, r->sha256);
	if (err == 0)
		err = store_dir_open(
			r->jobs->m->store_path, false, STORE_DIR_PATIENT, &store, &r->why);
	if (err == -ENOENT)
		return 0;
	return err < 0 ? err : store->ops->collect(store, NULL, &r->why);
}

static void collected(struct job *job)
{
	struct request *r = container_of(job, struct request, job);

	if (job->result < 0 && *r->why.text)
		mount_log(r->jobs->m, "the checkpoint store could not be cleaned: %s", r->why.text);
	free_request(r);
}

void checkpoint_jobs_collect(struct checkpoint_jobs *jobs, const char *sha256)
{
	struct request *r = new_request(jobs);

	if (!r)
		return;
	r->sha256 = sha256 ? strdup(sha256) : NULL;
	r->state = RUNNING;
	r->job.work = collect;
	r->job.done = collected;
	if (job_start(&r->job, jobs->m->loop) < 0)
		free_request(r);
}
