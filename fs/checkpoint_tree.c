// checkpoints/N/tree/: the content of an archive as files, from a copy.
//
// The copy is made by the thread that looks it up, which has lent the baton, as for files/. It lies
// in the state directory, where no sandbox sees it, is made with all the checks of a restore, and
// is gone with the mount. The code of files/ serves it: no link in it leads out, nothing is opened
// but files and directories.
#include "fs/checkpoint_tree.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/scope.h"
#include "fs/checkpoint_jobs.h"
#include "fs/files/files.h"
#include "fs/mount.h"
#include "fs/synth/synth.h"
#include "runner/checkpoint/checkpoint.h"
#include "runner/checkpoint/checkpoint_row.h"
#include "runner/checkpoint/checkpoint_view.h"
#include "runner/checkpoint/extract.h"
#include "runner/checkpoint/store_dir.h"
#include "runner/checkpoint/tree_remove.h"

#define DIR_NAME "trees"
#define FDS_MAX 512

int checkpoint_tree_open(struct mount *m, struct fail *f)
{
	const struct sandbox_ids *ids = sandbox_ids(m->sandbox);
	struct files_config config = {
		.root_ino = FILES_TREES_ROOT,
		.ids_base = ids->base,
		.ids_len = ids->len,
		.owner_uid = m->uid,
		.owner_gid = m->gid,
		.generation = m->generation,
		.max_fds = FDS_MAX,
	};
	int r = tree_remove(m->state_fd, DIR_NAME);

	if (r == 0 && mkdirat(m->state_fd, DIR_NAME, 0700) < 0)
		r = -errno;
	if (r == 0)
		m->trees_fd = openat(
			m->state_fd, DIR_NAME, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (r == 0 && m->trees_fd < 0)
		r = -errno;
	if (r < 0)
		return fail_errno(f, r, "%s/" DIR_NAME, m->state_path);
	config.tree_fd = m->trees_fd;
	return files_new(&config, &m->trees, f);
}

void checkpoint_tree_close(struct mount *m)
{
	if (m->trees)
		files_free(m->trees);
	close_fd(&m->trees_fd);
	tree_remove(m->state_fd, DIR_NAME);
}

/* What the lookup needs of the leader's state, copied. */
struct look {
	const struct mount *m; /* what does not change */
	const char *store_path;
	struct store_row row; /* owned strings */
};

static int extract(const struct look *look, int dir_fd, struct fail *f)
{
	static const atomic_bool never;
	struct task task = {.cancelled = &never};
	const struct sandbox_ids *ids = sandbox_ids(look->m->sandbox);
	struct store *store auto_store = NULL;
	auto_close int archive_fd = -1;
	const struct extract_config config = {
		.task = &task,
		.dir_fd = dir_fd,
		.ids_base = ids->base,
		.ids_len = ids->len,
		.max_files = CHECKPOINT_FILES_MAX,
		.max_bytes = checkpoint_max_content(look->m->config->max_bytes),
	};
	int r = store_dir_open(look->store_path, false, STORE_DIR_PATIENT, &store, f);

	if (r == 0)
		r = checkpoint_row_open(&task, store, &look->row, &archive_fd, f);
	return r < 0 ? r : checkpoint_row_extract(&look->row, archive_fd, &config, f);
}

/* The copy gets its name when it is complete. */
static int make(const struct look *look, struct fail *f)
{
	int trees_fd = look->m->trees_fd;
	auto_close int dir_fd = -1;
	int r;

	tree_remove(trees_fd, "new");
	if (mkdirat(trees_fd, "new", 0700) < 0)
		return -errno;
	dir_fd = openat(trees_fd, "new", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	r = dir_fd < 0 ? -errno : extract(look, dir_fd, f);
	if (r == 0 && renameat(trees_fd, "new", trees_fd, look->row.sha256) < 0)
		r = -errno;
	if (r < 0)
		tree_remove(trees_fd, "new");
	return r;
}

static int need(const struct look *look, struct fail *f)
{
	static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	int r = 0;

	if (faccessat(look->m->trees_fd, look->row.sha256, F_OK, AT_SYMLINK_NOFOLLOW) == 0)
		return 0;
	pthread_mutex_lock(&lock);
	if (faccessat(look->m->trees_fd, look->row.sha256, F_OK, AT_SYMLINK_NOFOLLOW) < 0)
		r = make(look, f);
	pthread_mutex_unlock(&lock);
	return r;
}

static int copy_row(const struct store_row *from, struct store_row *to)
{
	*to = *from;
	to->project = strdup(from->project);
	to->path = strdup(from->path);
	return to->project && to->path ? 0 : -ENOMEM;
}

void checkpoint_tree_lookup(struct mount *m, fuse_req_t req, const struct synth_node *n)
{
	const struct store_row *found = checkpoint_view_find(m->view, n->object);
	struct look look = {.m = m, .store_path = m->store_path};
	struct fail f = {0};
	int r = found ? copy_row(found, &look.row) : -ENOENT;

	if (r < 0) {
		store_row_clear(&look.row);
		fuse_reply_err(req, -r);
		return;
	}
	loop_lend(m->loop);
	r = need(&look, &f);
	if (r == 0)
		files_lookup(m->trees, req, FILES_TREES_ROOT, look.row.sha256);
	if (loop_reclaim(m->loop) && r < 0)
		mount_failed(m, "checkpoints", r, &f);
	if (r < 0)
		fuse_reply_err(req, -r);
	store_row_clear(&look.row);
}
