// The index of a store in SQLite.
#include "runner/checkpoint/store_index.h"

#include <errno.h>
#include <inttypes.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>

#include "common/buf.h"
#include "common/scope.h"
#include "common/sqlite_errno.h"

enum { HEAD, NEXT, NUMBERED, INSERT, KEEP, REMOVE, NAMES, LIST, LIST_ALL, VERSION, STATEMENTS };

#define COLUMNS "number, sha256, etag, size, persisted, files, bytes, project, path"

static const char *const statement_text[STATEMENTS] = {
	[HEAD] =
		"SELECT " COLUMNS " FROM checkpoints WHERE project=?1 ORDER BY number DESC LIMIT 1",
	[NEXT] = "INSERT INTO projects(name, last) VALUES(?1, 1) "
		 "ON CONFLICT(name) DO UPDATE SET last=last+1",
	[NUMBERED] = "SELECT last FROM projects WHERE name=?1",
	[INSERT] = "INSERT INTO checkpoints(" COLUMNS ") VALUES(?1,?2,?3,?4,?5,?6,?7,?8,?9)",
	[KEEP] = "DELETE FROM checkpoints WHERE project=?1 AND number NOT IN "
		 "(SELECT number FROM checkpoints WHERE project=?1 ORDER BY number DESC LIMIT ?2)",
	[REMOVE] = "DELETE FROM checkpoints WHERE project=?1 AND number=?2",
	[NAMES] = "SELECT 1 FROM checkpoints WHERE sha256=?1 LIMIT 1",
	[LIST] = "SELECT " COLUMNS " FROM checkpoints WHERE project=?1 ORDER BY number",
	[LIST_ALL] = "SELECT " COLUMNS " FROM checkpoints ORDER BY project, number",
	[VERSION] = "PRAGMA data_version",
};

/* A version's step from the one before; the first makes the tables. */
static const char *const migrations[] = {
	"CREATE TABLE projects(name TEXT PRIMARY KEY, last INTEGER NOT NULL) WITHOUT ROWID;"
	"CREATE TABLE checkpoints("
	" project TEXT NOT NULL REFERENCES projects(name),"
	" number INTEGER NOT NULL, sha256 TEXT NOT NULL, etag TEXT NOT NULL,"
	" size INTEGER NOT NULL, persisted INTEGER NOT NULL, files INTEGER NOT NULL,"
	" bytes INTEGER NOT NULL, path BLOB NOT NULL,"
	" PRIMARY KEY(project, number)) WITHOUT ROWID;"
	"CREATE INDEX checkpoints_sha256 ON checkpoints(sha256);",
};

struct store_index {
	sqlite3 *db;
	sqlite3_stmt *statements[STATEMENTS];
};

static int failed(const struct store_index *ix, int rc, struct fail *f)
{
	int r = sqlite_errno(rc);

	return r < 0 ? fail_set(f, r, "the store's index.db: %s",
			       ix->db ? sqlite3_errmsg(ix->db) : sqlite3_errstr(rc))
		     : 0;
}

static int run(struct store_index *ix, const char *sql, struct fail *f)
{
	return failed(ix, sqlite3_exec(ix->db, sql, NULL, NULL, NULL), f);
}

static int read_version(struct store_index *ix, size_t *ret, struct fail *f)
{
	sqlite3_stmt *s = NULL;
	int rc = sqlite3_prepare_v2(ix->db, "PRAGMA user_version", -1, &s, NULL);

	if (rc == SQLITE_OK)
		rc = sqlite3_step(s);
	*ret = rc == SQLITE_ROW ? (size_t)sqlite3_column_int(s, 0) : 0;
	sqlite3_finalize(s);
	return failed(ix, rc, f);
}

/* Under the write lock, since two may open a new store at once. */
static int migrate(struct store_index *ix, struct fail *f)
{
	size_t version;
	int r = run(ix, "BEGIN IMMEDIATE", f);

	if (r == 0)
		r = read_version(ix, &version, f);
	for (; r == 0 && version < ARRAY_LEN(migrations); version++) {
		char set[40];

		snprintf(set, sizeof(set), "PRAGMA user_version=%zu", version + 1);
		r = run(ix, migrations[version], f);
		if (r == 0)
			r = run(ix, set, f);
	}
	if (r == 0)
		r = run(ix, "COMMIT", f);
	if (r < 0)
		run(ix, "ROLLBACK", NULL);
	return r;
}

static int prepare(struct store_index *ix, unsigned busy_msec, struct fail *f)
{
	size_t version;
	int r;

	sqlite3_busy_timeout(ix->db, (int)busy_msec);
	/* FULL: what was reported as persisted survives a power cut. */
	r = run(ix,
		"PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL; PRAGMA foreign_keys=ON;"
		"PRAGMA cache_size=-256;",
		f);
	if (r == 0)
		r = read_version(ix, &version, f);
	if (r == 0 && version > ARRAY_LEN(migrations))
		r = fail_set(f, -EPROTO,
			"the store is of version %zu, this sandpit knows %zu: use a newer sandpit",
			version, ARRAY_LEN(migrations));
	if (r == 0 && version < ARRAY_LEN(migrations))
		r = migrate(ix, f);
	for (int i = 0; r == 0 && i < STATEMENTS; i++)
		r = failed(ix,
			sqlite3_prepare_v3(
				ix->db, statement_text[i], -1, 0, &ix->statements[i], NULL),
			f);
	return r;
}

int store_index_open(
	const char *dir_path, unsigned busy_msec, struct store_index **ret, struct fail *f)
{
	struct store_index *ix = calloc(1, sizeof(*ix));
	struct buf path auto_buf = {0};
	int r;

	if (!ix || buf_printf(&path, "%s/index.db", dir_path) < 0) {
		free(ix);
		return -ENOMEM;
	}
	r = failed(ix,
		sqlite3_open_v2(buf_text(&path), &ix->db,
			SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX |
				SQLITE_OPEN_NOFOLLOW,
			NULL),
		f);
	if (r == 0)
		r = prepare(ix, busy_msec, f);
	if (r < 0) {
		store_index_close(ix);
		return r;
	}
	*ret = ix;
	return 0;
}

void store_index_close(struct store_index *ix)
{
	if (!ix)
		return;
	for (int i = 0; i < STATEMENTS; i++)
		sqlite3_finalize(ix->statements[i]);
	sqlite3_close(ix->db);
	free(ix);
}

void store_row_clear(struct store_row *row)
{
	free(row->project);
	free(row->path);
	*row = (struct store_row){0};
}

static void copy_text(char *to, size_t size, sqlite3_stmt *s, int column)
{
	const char *text = (const char *)sqlite3_column_text(s, column);

	snprintf(to, size, "%s", text ? text : "");
}

/* The row's own strings are the statement's. */
static void borrow_row(sqlite3_stmt *s, struct store_row *ret)
{
	const char *project, *path;

	*ret = (struct store_row){
		.number = (uint32_t)sqlite3_column_int64(s, 0),
		.size = (uint64_t)sqlite3_column_int64(s, 3),
		.persisted_usec = (uint64_t)sqlite3_column_int64(s, 4),
		.files = (uint64_t)sqlite3_column_int64(s, 5),
		.bytes = (uint64_t)sqlite3_column_int64(s, 6),
	};
	copy_text(ret->sha256, sizeof(ret->sha256), s, 1);
	copy_text(ret->etag, sizeof(ret->etag), s, 2);
	project = (const char *)sqlite3_column_text(s, 7);
	path = (const char *)sqlite3_column_text(s, 8);
	ret->project = (char *)(project ? project : "");
	ret->path = (char *)(path ? path : "");
}

static int own_row(sqlite3_stmt *s, struct store_row *ret)
{
	borrow_row(s, ret);
	ret->project = strdup(ret->project);
	ret->path = strdup(ret->path);
	if (ret->project && ret->path)
		return 0;
	store_row_clear(ret);
	return -ENOMEM;
}

int store_index_head(
	struct store_index *ix, const char *project, struct store_row *ret, struct fail *f)
{
	sqlite3_stmt *s = ix->statements[HEAD];
	int rc, r;

	sqlite3_bind_text(s, 1, project, -1, SQLITE_STATIC);
	rc = sqlite3_step(s);
	if (rc == SQLITE_ROW)
		r = own_row(s, ret);
	else
		r = rc == SQLITE_DONE ? -ENOENT : failed(ix, rc, f);
	sqlite3_reset(s);
	return r;
}

/* Runs a statement that gives no rows. */
static int finish(struct store_index *ix, int which, struct fail *f)
{
	int rc = sqlite3_step(ix->statements[which]);
	int r = failed(ix, rc, f);

	sqlite3_reset(ix->statements[which]);
	sqlite3_clear_bindings(ix->statements[which]);
	return r;
}

static int next_number(struct store_index *ix, struct store_row *row, struct fail *f)
{
	sqlite3_stmt *s = ix->statements[NUMBERED];
	int rc, r;

	sqlite3_bind_text(ix->statements[NEXT], 1, row->project, -1, SQLITE_STATIC);
	r = finish(ix, NEXT, f);
	if (r < 0)
		return r;
	sqlite3_bind_text(s, 1, row->project, -1, SQLITE_STATIC);
	rc = sqlite3_step(s);
	row->number = rc == SQLITE_ROW ? (uint32_t)sqlite3_column_int64(s, 0) : 0;
	sqlite3_reset(s);
	snprintf(row->etag, sizeof(row->etag), "%" PRIu32 "-%.16s", row->number, row->sha256);
	return failed(ix, rc, f);
}

static int insert(struct store_index *ix, const struct store_row *row, struct fail *f)
{
	sqlite3_stmt *s = ix->statements[INSERT];

	sqlite3_bind_int64(s, 1, row->number);
	sqlite3_bind_text(s, 2, row->sha256, -1, SQLITE_STATIC);
	sqlite3_bind_text(s, 3, row->etag, -1, SQLITE_STATIC);
	sqlite3_bind_int64(s, 4, (sqlite3_int64)row->size);
	sqlite3_bind_int64(s, 5, (sqlite3_int64)row->persisted_usec);
	sqlite3_bind_int64(s, 6, (sqlite3_int64)row->files);
	sqlite3_bind_int64(s, 7, (sqlite3_int64)row->bytes);
	sqlite3_bind_text(s, 8, row->project, -1, SQLITE_STATIC);
	sqlite3_bind_blob(s, 9, row->path, (int)strlen(row->path), SQLITE_STATIC);
	return finish(ix, INSERT, f);
}

static int check_head(struct store_index *ix, const char *project, const char *etag, struct fail *f)
{
	struct store_row head auto_row = {0};
	int r = store_index_head(ix, project, &head, f);

	if (r == -ENOENT)
		return -ESTALE;
	return r == 0 && strcmp(head.etag, etag) != 0 ? -ESTALE : r;
}

static int add(struct store_index *ix, const char *etag, uint64_t keep, struct store_row *row,
	struct fail *f)
{
	int r = etag ? check_head(ix, row->project, etag, f) : 0;

	if (r == 0)
		r = next_number(ix, row, f);
	if (r == 0)
		r = insert(ix, row, f);
	if (r < 0)
		return r;
	sqlite3_bind_text(ix->statements[KEEP], 1, row->project, -1, SQLITE_STATIC);
	sqlite3_bind_int64(ix->statements[KEEP], 2, (sqlite3_int64)keep);
	return finish(ix, KEEP, f);
}

int store_index_add(struct store_index *ix, const char *etag, uint64_t keep, struct store_row *row,
	struct fail *f)
{
	int r = run(ix, "BEGIN IMMEDIATE", f);

	if (r < 0)
		return r;
	r = add(ix, etag, keep, row, f);
	if (r == 0)
		r = run(ix, "COMMIT", f);
	if (r < 0)
		run(ix, "ROLLBACK", NULL);
	return r;
}

int store_index_list(struct store_index *ix, const char *project,
	int (*each)(void *arg, const struct store_row *row), void *arg, struct fail *f)
{
	sqlite3_stmt *s = ix->statements[project ? LIST : LIST_ALL];
	int rc = SQLITE_DONE, r = 0;

	if (project)
		sqlite3_bind_text(s, 1, project, -1, SQLITE_STATIC);
	while (r == 0 && (rc = sqlite3_step(s)) == SQLITE_ROW) {
		struct store_row row;

		borrow_row(s, &row);
		r = each(arg, &row);
	}
	if (r == 0)
		r = failed(ix, rc, f);
	sqlite3_reset(s);
	return r;
}

int store_index_remove(struct store_index *ix, const char *project, uint32_t number, struct fail *f)
{
	int r;

	sqlite3_bind_text(ix->statements[REMOVE], 1, project, -1, SQLITE_STATIC);
	sqlite3_bind_int64(ix->statements[REMOVE], 2, number);
	r = finish(ix, REMOVE, f);
	return r == 0 && sqlite3_changes(ix->db) == 0 ? -ENOENT : r;
}

int store_index_version(struct store_index *ix, uint32_t *ret)
{
	sqlite3_stmt *s = ix->statements[VERSION];
	int rc = sqlite3_step(s);

	*ret = rc == SQLITE_ROW ? (uint32_t)sqlite3_column_int64(s, 0) : 0;
	sqlite3_reset(s);
	return sqlite_errno(rc);
}

int store_index_names(struct store_index *ix, const char *sha256, struct fail *f)
{
	sqlite3_stmt *s = ix->statements[NAMES];
	int rc, r;

	sqlite3_bind_text(s, 1, sha256, -1, SQLITE_STATIC);
	rc = sqlite3_step(s);
	r = rc == SQLITE_ROW ? 1 : failed(ix, rc, f);
	sqlite3_reset(s);
	return r;
}
