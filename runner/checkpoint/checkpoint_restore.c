// Restore: a directory is replaced by what a checkpoint holds, in one step, or nothing changes.
//
// The new tree is put together in a directory of the tree's root that only its root user may enter,
// on the same mount as the target, and takes the target's name in one exchange.
#include "runner/checkpoint/checkpoint.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/fault.h"
#include "common/json_out.h"
#include "common/names.h"
#include "common/scope.h"
#include "runner/checkpoint/checkpoint_row.h"
#include "runner/checkpoint/extract.h"
#include "runner/checkpoint/store_dir.h"
#include "runner/checkpoint/tree_remove.h"
#include "runner/checkpoint/tree_target.h"
#include "runner/checkpoint/tree_walk.h"
#include "runner/sandbox.h"

#define STAGE ".sandpit-restore-"

struct restore {
	const struct checkpoint_env *env; /* borrowed, all three */
	const struct checkpoint_request *request;
	struct task *task;
	struct tree_target target;
	struct store *store; /* owned, all below */
	int lock_fd;
	int archive_fd;
	struct store_row row;
	char stage[sizeof(STAGE) + 16]; /* empty: there is none */
	int stage_fd;
};

static void clear(struct restore *r)
{
	close_fd(&r->stage_fd);
	if (*r->stage)
		tree_remove(r->env->tree_fd, r->stage);
	close_fd(&r->archive_fd);
	close_fd(&r->lock_fd);
	store_close(&r->store);
	tree_target_clear(&r->target);
	store_row_clear(&r->row);
}

static int take_row(void *arg, const struct store_row *row)
{
	struct restore *r = arg;

	if (strcmp(row->etag, r->request->etag) != 0)
		return 0;
	r->row = *row;
	r->row.project = strdup(row->project);
	r->row.path = strdup(row->path);
	return r->row.project && r->row.path ? 1 : -ENOMEM;
}

/* -ENOENT: there is none. */
static int find_row(struct restore *r, struct fail *f)
{
	struct store *store = r->store;
	int found;

	if (!r->request->etag)
		return store->ops->head(store, r->env->project, &r->row, f);
	found = store->ops->list(store, r->env->project, take_row, r, f);
	return found == 0 ? -ENOENT : found < 0 ? found : 0;
}

/* Once this is done the store is not needed any more: from here on what is made belongs to the
 * sandbox. */
static int fetch(struct restore *r, struct fail *f)
{
	int err = tree_target_find(r->task, r->env->tree_fd, r->request->path, true, &r->target, f);

	if (err == 0)
		err = store_dir_open(r->env->store_path, false, STORE_DIR_PATIENT, &r->store, f);
	if (err == 0)
		err = checkpoint_row_lock(r->task, r->store, r->env->project, &r->lock_fd, f);
	if (err == 0)
		err = find_row(r, f);
	if (err == 0)
		err = checkpoint_row_open(r->task, r->store, &r->row, &r->archive_fd, f);
	store_close(&r->store);
	fault_point("restore.fetched");
	return err;
}

static int make_stage(struct restore *r, struct fail *f)
{
	uint64_t number;

	if (getrandom(&number, sizeof(number), 0) != sizeof(number))
		return -EAGAIN;
	snprintf(r->stage, sizeof(r->stage), STAGE "%016" PRIx64, number);
	if (mkdirat(r->env->tree_fd, r->stage, 0700) < 0) {
		int err = -errno;

		*r->stage = '\0';
		return task_failed(r->task, err, f, "making a directory for the new tree");
	}
	r->stage_fd =
		openat(r->env->tree_fd, r->stage, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	fault_point("restore.staged");
	return r->stage_fd < 0 ? task_failed(r->task, -errno, f, "the new tree") : 0;
}

static int extract(struct restore *r, struct fail *f)
{
	const struct extract_config config = {
		.task = r->task,
		.dir_fd = r->stage_fd,
		.ids_base = r->env->ids_base,
		.ids_len = r->env->ids_len,
		.max_files = CHECKPOINT_FILES_MAX,
		.max_bytes = checkpoint_max_content(r->env->max_bytes),
	};
	int err = checkpoint_row_extract(&r->row, r->archive_fd, &config, f);

	if (err < 0)
		return err;
	fault_point("restore.extracted");
	if (syncfs(r->stage_fd) < 0)
		return task_failed(r->task, -errno, f, "writing the new tree to disk");
	fault_point("restore.synced");
	return task_check(r->task, f);
}

static int refuse_mount(void *arg, const struct tree_entry *entry, struct fail *f)
{
	struct restore *r = arg;

	if (!*entry->path || !(entry->sx.stx_attributes & STATX_ATTR_MOUNT_ROOT))
		return 0;
	return task_refuse(r->task, TASK_INVALID_ARGUMENT, f,
		"%s: %.200s in it belongs to the system's own part of the tree", r->request->path,
		entry->path);
}

/* A tree in which something is mounted cannot be replaced. */
static int check_mounts(struct restore *r, struct fail *f)
{
	static const struct tree_visitor visitor = {
		.visit = refuse_mount, .only_directories = true};
	int fd = tree_target_fd(&r->target);

	return fd < 0 ? 0 : tree_walk(r->task, fd, &visitor, r, f);
}

/* Whoever looks sees the old or the new tree. */
static int exchange(struct restore *r)
{
	int root = r->env->tree_fd, parent = tree_target_parent_fd(&r->target);
	const char *name = tree_target_name(&r->target);

	/* The name may come or go between the two. */
	for (int i = 0; i < 8; i++) {
		if (renameat2(root, r->stage, parent, name, RENAME_EXCHANGE) == 0)
			return 1;
		if (errno != ENOENT)
			return -errno;
		if (renameat2(root, r->stage, parent, name, RENAME_NOREPLACE) == 0)
			return 0;
		if (errno != EEXIST)
			return -errno;
	}
	return -EBUSY;
}

static void sync_dir(int fd)
{
	auto_close int opened = tree_walk_reopen(fd, O_RDONLY | O_DIRECTORY);

	if (opened >= 0)
		fsync(opened);
}

static int publish(struct restore *r, struct fail *f)
{
	int err = check_mounts(r, f);

	if (err == 0)
		err = tree_target_make_parents(r->task, &r->target, f);
	if (err < 0)
		return err;
	err = exchange(r);
	if (err == -EXDEV)
		return task_refuse(r->task, TASK_INVALID_ARGUMENT, f,
			"%s: it lies in a lower layer and cannot be replaced in one step",
			r->request->path);
	if (err < 0)
		return task_failed(r->task, err, f, "putting the new tree in place");
	fault_point("restore.exchanged");
	if (err == 0)
		*r->stage = '\0';
	sync_dir(tree_target_parent_fd(&r->target));
	sync_dir(r->env->tree_fd);
	fault_point("restore.done");
	return 0;
}

static int answer(const struct restore *r, struct buf *ret)
{
	struct json_out j;

	json_out_begin(&j, ret);
	json_out_object(&j, NULL);
	json_out_bool(&j, "restored", true);
	checkpoint_row_json(&r->row, &j);
	json_out_uint(&j, "number", r->row.number);
	json_out_uint(&j, "files", r->row.files);
	json_out_uint(&j, "bytes", r->row.bytes);
	json_out_object_end(&j);
	return buf_add_char(ret, '\n');
}

int checkpoint_restore(const struct checkpoint_env *env, const struct checkpoint_request *request,
	struct task *t, struct buf *ret, struct fail *f)
{
	struct restore restore auto_call(clear) = {.env = env,
		.request = request,
		.task = t,
		.lock_fd = -1,
		.archive_fd = -1,
		.stage_fd = -1};
	int r = fetch(&restore, f);

	if (r == -ENOENT)
		return buf_add_str(ret, "{\"restored\":false,\"reason\":\"not_found\"}\n");
	if (r == 0 && env->sandbox)
		r = sandbox_thread_start(env->sandbox);
	if (r == 0)
		r = make_stage(&restore, f);
	if (r == 0)
		r = extract(&restore, f);
	if (r == 0)
		r = publish(&restore, f);
	return r < 0 ? r : answer(&restore, ret);
}

int checkpoint_restore_clean(int tree_fd)
{
	DIR *dir auto_dir = names_open(tree_fd, ".");
	struct dirent *entry;
	int r = 0;

	if (!dir)
		return -errno;
	while ((entry = readdir(dir)))
		if (!strncmp(entry->d_name, STAGE, strlen(STAGE)))
			r = tree_remove(tree_fd, entry->d_name);
	return r;
}
