// What is stored of one project, for those who list it.
#include "runner/checkpoint/checkpoint_view.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/scope.h"
#include "runner/checkpoint/store_dir.h"

struct checkpoint_view {
	const char *store_path, *project; /* borrowed */
	struct store *store; /* owned; NULL: not there yet */
	bool stale;
	uint32_t version;
	struct store_row *rows; /* owned */
	size_t len, room;
};

int checkpoint_view_new(const char *store_path, const char *project, struct checkpoint_view **ret)
{
	struct checkpoint_view *v = calloc(1, sizeof(*v));

	if (!v)
		return -ENOMEM;
	v->store_path = store_path;
	v->project = project;
	*ret = v;
	return 0;
}

static void forget(struct checkpoint_view *v)
{
	while (v->len)
		store_row_clear(&v->rows[--v->len]);
}

void checkpoint_view_free(struct checkpoint_view *v)
{
	if (!v)
		return;
	forget(v);
	free(v->rows);
	store_close(&v->store);
	free(v);
}

static int add_row(void *arg, const struct store_row *row)
{
	struct checkpoint_view *v = arg;
	size_t room = v->room ? 2 * v->room : 16;
	struct store_row *rows, *to;

	if (v->len == v->room) {
		rows = realloc(v->rows, room * sizeof(*rows));
		if (!rows)
			return -ENOMEM;
		v->rows = rows;
		v->room = room;
	}
	to = &v->rows[v->len];
	*to = *row;
	to->project = strdup(row->project);
	to->path = strdup(row->path);
	if (!to->project || !to->path) {
		store_row_clear(to);
		return -ENOMEM;
	}
	v->len++;
	return 0;
}

static void load(struct checkpoint_view *v)
{
	struct checkpoint_view old = *v;

	v->rows = NULL;
	v->len = v->room = 0;
	v->stale = v->store->ops->list(v->store, v->project, add_row, v, NULL) < 0;
	forget(&old);
	free(old.rows);
}

static void refresh(struct checkpoint_view *v)
{
	uint32_t version = v->version;

	if (!v->store) {
		if (store_dir_open(v->store_path, false, STORE_DIR_QUICK, &v->store, NULL) < 0)
			return;
		v->stale = true;
	}
	if (v->store->ops->version(v->store, &version) < 0)
		return;
	if (!v->stale && version == v->version)
		return;
	v->version = version;
	load(v);
}

size_t checkpoint_view_rows(struct checkpoint_view *v, const struct store_row **ret)
{
	refresh(v);
	*ret = v->rows;
	return v->len;
}

const struct store_row *checkpoint_view_find(struct checkpoint_view *v, uint32_t number)
{
	refresh(v);
	for (size_t i = 0; i < v->len; i++)
		if (v->rows[i].number == number)
			return &v->rows[i];
	return NULL;
}

ssize_t checkpoint_view_read(struct checkpoint_view *v, const struct store_row *row, void *data,
	size_t len, uint64_t off)
{
	auto_close int fd = -1;
	ssize_t n;
	int r = v->store->ops->get(v->store, row->sha256, &fd);

	if (r < 0)
		return r;
	n = pread(fd, data, len, (off_t)off);
	return n < 0 ? -errno : n;
}

int checkpoint_view_remove(struct checkpoint_view *v, uint32_t number, struct fail *f)
{
	if (!v->store)
		return -ENOENT;
	v->stale = true;
	return v->store->ops->remove(v->store, v->project, number, f);
}
