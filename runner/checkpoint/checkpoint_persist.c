// Persist: a directory becomes the newest checkpoint of the project, or nothing changes.
#include "runner/checkpoint/checkpoint.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/clock.h"
#include "common/fault.h"
#include "common/json_out.h"
#include "common/scope.h"
#include "runner/checkpoint/archive_out.h"
#include "runner/checkpoint/checkpoint_row.h"
#include "runner/checkpoint/pack.h"
#include "runner/checkpoint/pack_names.h"
#include "runner/checkpoint/store_dir.h"
#include "runner/checkpoint/tree_target.h"

/* All that a persist holds; cleared whatever happens. */
struct persist {
	const struct checkpoint_env *env; /* borrowed, all three */
	const struct checkpoint_request *request;
	struct task *task;
	struct tree_target target;
	struct store *store; /* owned, all below */
	int lock_fd;
	struct store_spool spool;
	struct archive_out *out;
	struct pack_result packed;
	struct store_row row;
};

static void clear(struct persist *p)
{
	archive_out_free(p->out);
	if (p->store)
		p->store->ops->drop(p->store, &p->spool);
	close_fd(&p->lock_fd);
	store_close(&p->store);
	tree_target_clear(&p->target);
	pack_result_clear(&p->packed);
	store_row_clear(&p->row);
}

static int refuse_etag(struct persist *p, struct fail *f)
{
	return task_refuse(p->task, TASK_CONFLICT, f,
		"the newest checkpoint of project %s is not the one that if_match names (%.60s)",
		p->env->project, p->request->if_match);
}

/* Early, so that nothing is packed in vain; what counts is the check when it becomes the newest. */
static int check_etag(struct persist *p, struct fail *f)
{
	struct store_row head auto_row = {0};
	int r;

	if (!p->request->if_match)
		return 0;
	r = p->store->ops->head(p->store, p->env->project, &head, f);
	if (r == -ENOENT || (r == 0 && strcmp(head.etag, p->request->if_match) != 0))
		return refuse_etag(p, f);
	return r;
}

static int begin(struct persist *p, struct fail *f)
{
	int r = tree_target_find(p->task, p->env->tree_fd, p->request->path, false, &p->target, f);

	if (r == 0)
		r = store_dir_open(p->env->store_path, true, STORE_DIR_PATIENT, &p->store, f);
	if (r == 0)
		r = checkpoint_row_lock(p->task, p->store, p->env->project, &p->lock_fd, f);
	if (r == 0)
		r = p->store->ops->collect(p->store, NULL, f);
	if (r == 0)
		r = check_etag(p, f);
	if (r == 0)
		r = p->store->ops->spool(p->store, &p->spool, f);
	fault_point("persist.begun");
	return r;
}

static int pack(struct persist *p, struct fail *f)
{
	const struct checkpoint_env *env = p->env;
	const struct pack_config config = {
		.task = p->task,
		.dir_fd = tree_target_fd(&p->target),
		.ids_base = env->ids_base,
		.ids_len = env->ids_len,
		.exclude = &p->request->exclude,
		.max_files = CHECKPOINT_FILES_MAX,
		.max_content = checkpoint_max_content(env->max_bytes),
	};
	int r = archive_out_open(p->task, p->spool.fd, env->max_bytes, &p->out, f);

	if (r == 0)
		r = pack_directory(&config, p->out, &p->packed, f);
	if (r == 0) {
		r = archive_out_close(p->out, &p->row.size, p->row.sha256, f);
		if (p->task->code == TASK_LIMIT_EXCEEDED)
			pack_names_advise(&p->packed, f);
	}
	fault_point("persist.packed");
	return r;
}

static int publish(struct persist *p, struct fail *f)
{
	struct store *store = p->store;
	struct buf path auto_buf = {0};
	int r;

	tree_target_path(&p->target, &path);
	p->row.persisted_usec = clock_wall_usec();
	p->row.files = p->packed.files;
	p->row.bytes = p->packed.bytes;
	p->row.project = strdup(p->env->project);
	p->row.path = buf_take(&path);
	if (!p->row.project || !p->row.path)
		return -ENOMEM;
	r = task_check(p->task, f);
	if (r == 0)
		r = store->ops->put(store, &p->spool, p->row.sha256, f);
	if (r == 0)
		r = store->ops->compare_and_set(
			store, p->request->if_match, p->env->keep, &p->row, f);
	fault_point("persist.committed");
	store->ops->drop(store, &p->spool);
	return r == -ESTALE ? refuse_etag(p, f) : r;
}

static int answer(const struct persist *p, struct buf *ret)
{
	struct json_out j;

	json_out_begin(&j, ret);
	json_out_object(&j, NULL);
	checkpoint_row_json(&p->row, &j);
	json_out_uint(&j, "number", p->row.number);
	json_out_uint(&j, "files", p->row.files);
	json_out_uint(&j, "bytes", p->row.bytes);
	json_out_bytes(&j, "path", p->row.path, strlen(p->row.path));
	pack_names_json(&p->packed.skipped, "skipped", &j);
	pack_names_json(&p->packed.changed, "changed", &j);
	json_out_object_end(&j);
	return buf_add_char(ret, '\n');
}

int checkpoint_persist(const struct checkpoint_env *env, const struct checkpoint_request *request,
	struct task *t, struct buf *ret, struct fail *f)
{
	struct persist p auto_call(clear) = {.env = env,
		.request = request,
		.task = t,
		.lock_fd = -1,
		.spool = {.fd = -1, .guard_fd = -1}};
	struct store *store;
	int r = begin(&p, f);

	if (r == 0)
		r = pack(&p, f);
	store = p.store;
	if (r == 0)
		r = publish(&p, f);
	/* Older ones that fell out, or this one when it did not become the newest. */
	if (store) {
		store->ops->drop(store, &p.spool);
		store->ops->collect(store, NULL, NULL);
	}
	fault_point("persist.collected");
	return r < 0 ? r : answer(&p, ret);
}
