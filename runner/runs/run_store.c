// The index of runs in SQLite.
#include "runner/runs/run_store.h"

#include <errno.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>

#include "common/buf.h"
#include "common/job.h"
#include "common/scope.h"
#include "common/sqlite_errno.h"

#define SCHEMA_VERSION 1

enum { INSERT, UPDATE, UPDATE_CMD, DELETE, CMD, GET, SET, STATEMENTS };

static const char insert_text[] =
	"INSERT INTO runs(id, cwd, user, status, exit_code, signal, timed_out, dropped, mixed, "
	"started, ended, total0, total1, kept0, kept1, kept2, cmd, number) "
	"VALUES(?1,?2,?3,?4,?5,?6,?7,?8,?9,?10,?11,?12,?13,?14,?15,?16,?17,?18)";
/* The id never changes: naming it would write a page of its index, too. */
#define UPDATE_TEXT                                                                                \
	"UPDATE runs SET cwd=?2, user=?3, status=?4, exit_code=?5, signal=?6, timed_out=?7, "      \
	"dropped=?8, mixed=?9, started=?10, ended=?11, total0=?12, total1=?13, kept0=?14, "        \
	"kept1=?15, kept2=?16"
static const char set_text[] = "INSERT INTO settings(key, value) VALUES(?1, ?2) "
			       "ON CONFLICT(key) DO UPDATE SET value=excluded.value";

static const char *const statement_text[STATEMENTS] = {
	[INSERT] = insert_text,
	[UPDATE] = UPDATE_TEXT " WHERE number=?18",
	[UPDATE_CMD] = UPDATE_TEXT ", cmd=?17 WHERE number=?18",
	[DELETE] = "DELETE FROM runs WHERE number=?1",
	[CMD] = "SELECT cmd FROM runs WHERE number=?1",
	[GET] = "SELECT value FROM settings WHERE key=?1",
	[SET] = set_text,
};

/* How much is written ahead (pages of 4 KiB) before it is moved into the index: by a thread, since
 * that waits for the disk; by the leader only where a thread cannot keep up. */
#define AHEAD_PAGES 1000
#define AHEAD_PAGES_MAX 4000

struct run_store {
	sqlite3 *db;
	char *path; /* owned */
	struct loop *loop; /* borrowed */
	struct job job; /* moves what is written ahead */
	bool moving; /* the job is under way */
	int ahead; /* pages, after the last change */
	int next_move; /* at so many */
	sqlite3_stmt *statements[STATEMENTS];
};

/* Writing ahead keeps a crash or power cut from damaging the index; `synchronous` NORMAL may lose
 * the last rows in a power cut, as files written at that moment may be lost too. */
static const char schema[] =
	"PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL; PRAGMA cache_size=-512;"
	"BEGIN;"
	"CREATE TABLE IF NOT EXISTS runs(number INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE,"
	" cmd BLOB, cwd TEXT, user TEXT, status INTEGER, exit_code INTEGER, signal INTEGER,"
	" timed_out INTEGER, dropped INTEGER, mixed INTEGER, started INTEGER, ended INTEGER,"
	" total0 INTEGER, total1 INTEGER, kept0 INTEGER, kept1 INTEGER, kept2 INTEGER);"
	"CREATE TABLE IF NOT EXISTS settings(key TEXT PRIMARY KEY, value TEXT) WITHOUT ROWID;"
	"PRAGMA user_version=1;"
	"COMMIT;";

static int read_version(sqlite3 *db, int *ret)
{
	sqlite3_stmt *statement;
	int rc = sqlite3_prepare_v2(db, "PRAGMA user_version", -1, &statement, NULL);

	if (rc == SQLITE_OK)
		rc = sqlite3_step(statement);
	*ret = rc == SQLITE_ROW ? sqlite3_column_int(statement, 0) : 0;
	sqlite3_finalize(statement);
	return sqlite_errno(rc);
}

static int prepare(struct run_store *store, struct fail *f)
{
	int version, r = read_version(store->db, &version);

	if (r == 0 && version > SCHEMA_VERSION)
		return fail_set(f, -EPROTO,
			"its index is of version %d, this sandpit knows %d: use a newer sandpit",
			version, SCHEMA_VERSION);
	if (r == 0)
		r = sqlite_errno(sqlite3_exec(store->db, schema, NULL, NULL, NULL));
	for (int i = 0; r == 0 && i < STATEMENTS; i++)
		r = sqlite_errno(sqlite3_prepare_v3(store->db, statement_text[i], -1,
			SQLITE_PREPARE_PERSISTENT, &store->statements[i], NULL));
	if (r < 0)
		return fail_set(
			f, r, "its index sandpit.db cannot be used: %s", sqlite3_errmsg(store->db));
	return 0;
}

/* In a thread, with a connection of its own; the leader goes on writing meanwhile. A failure here
 * is met again by the leader, or tried again later. */
static int move(struct job *job)
{
	struct run_store *store = container_of(job, struct run_store, job);
	sqlite3 *db = NULL;

	/* A connection learns from its first read that there is something written ahead. */
	if (sqlite3_open_v2(store->path, &db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, NULL) ==
			SQLITE_OK &&
		sqlite3_exec(db, "SELECT count(*) FROM sqlite_schema", NULL, NULL, NULL) ==
			SQLITE_OK)
		sqlite3_wal_checkpoint_v2(db, NULL, SQLITE_CHECKPOINT_PASSIVE, NULL, NULL);
	sqlite3_close(db);
	return 0;
}

static void moved(struct job *job)
{
	container_of(job, struct run_store, job)->moving = false;
}

static int note_ahead(void *arg, sqlite3 *db, const char *name, int pages)
{
	struct run_store *store = arg;

	(void)db;
	(void)name;
	store->ahead = pages;
	return SQLITE_OK;
}

/* What came while a thread moved is moved the next time, and only then written over. */
static void move_ahead(struct run_store *store)
{
	if (store->ahead < AHEAD_PAGES)
		store->next_move = AHEAD_PAGES;
	if (store->moving || store->ahead < store->next_move)
		return;
	store->next_move = store->ahead + AHEAD_PAGES;
	store->job = (struct job){.work = move, .done = moved};
	store->moving = store->ahead < AHEAD_PAGES_MAX && job_start(&store->job, store->loop) == 0;
	if (!store->moving)
		sqlite3_wal_checkpoint_v2(store->db, NULL, SQLITE_CHECKPOINT_PASSIVE, NULL, NULL);
}

int run_store_open(
	const char *state_path, struct loop *loop, struct run_store **ret, struct fail *f)
{
	struct run_store *store = calloc(1, sizeof(*store));
	struct buf path auto_buf = {0};
	int r;

	if (!store || buf_printf(&path, "%s/sandpit.db", state_path) < 0) {
		free(store);
		return -ENOMEM;
	}
	store->loop = loop;
	store->next_move = AHEAD_PAGES;
	store->path = strdup(buf_text(&path));
	r = sqlite_errno(sqlite3_open_v2(buf_text(&path), &store->db,
		SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX |
			SQLITE_OPEN_NOFOLLOW,
		NULL));
	if (r < 0)
		fail_set(f, r, "its index sandpit.db cannot be opened: %s",
			store->db ? sqlite3_errmsg(store->db) : "out of memory");
	if (r == 0)
		r = store->path ? prepare(store, f) : -ENOMEM;
	if (r < 0) {
		run_store_close(store);
		return r;
	}
	sqlite3_wal_hook(store->db, note_ahead, store);
	*ret = store;
	return 0;
}

void run_store_close(struct run_store *store)
{
	if (!store)
		return;
	if (store->moving)
		job_finish(&store->job);
	for (int i = 0; i < STATEMENTS; i++)
		sqlite3_finalize(store->statements[i]);
	sqlite3_close(store->db);
	free(store->path);
	free(store);
}

/* Runs a bound statement that gives no rows, and makes it ready for the next time. */
static int finish(struct run_store *store, sqlite3_stmt *statement)
{
	int rc = sqlite3_step(statement);

	sqlite3_reset(statement);
	sqlite3_clear_bindings(statement);
	move_ahead(store);
	return sqlite_errno(rc);
}

static int write_row(struct run_store *store, sqlite3_stmt *s, const struct run_row *row)
{
	const sqlite3_int64 numbers[] = {row->status, row->exit_code, row->signal, row->timed_out,
		row->dropped, (sqlite3_int64)row->mixed, (sqlite3_int64)row->started_usec,
		(sqlite3_int64)row->ended_usec, (sqlite3_int64)row->total[0],
		(sqlite3_int64)row->total[1], (sqlite3_int64)row->kept[0],
		(sqlite3_int64)row->kept[1], (sqlite3_int64)row->kept[2]};

	sqlite3_bind_text(s, 1, row->id, -1, SQLITE_STATIC);
	sqlite3_bind_text(s, 2, row->cwd, -1, SQLITE_STATIC);
	sqlite3_bind_text(s, 3, row->user, -1, SQLITE_STATIC);
	for (size_t i = 0; i < ARRAY_LEN(numbers); i++)
		sqlite3_bind_int64(s, 4 + (int)i, numbers[i]);
	if (row->cmd)
		sqlite3_bind_blob64(s, 17, row->cmd, row->cmd_len, SQLITE_STATIC);
	sqlite3_bind_int64(s, 18, row->number);
	return finish(store, s);
}

int run_store_insert(struct run_store *store, const struct run_row *row)
{
	return write_row(store, store->statements[INSERT], row);
}

int run_store_update(struct run_store *store, const struct run_row *row)
{
	return write_row(store, store->statements[row->cmd ? UPDATE_CMD : UPDATE], row);
}

int run_store_delete(struct run_store *store, uint32_t number)
{
	sqlite3_bind_int64(store->statements[DELETE], 1, number);
	return finish(store, store->statements[DELETE]);
}

static const char *text_at(sqlite3_stmt *s, int column)
{
	const char *text = (const char *)sqlite3_column_text(s, column);

	return text ? text : "";
}

static void read_row(sqlite3_stmt *s, struct run_row *ret)
{
	*ret = (struct run_row){
		.number = (uint32_t)sqlite3_column_int64(s, 0),
		.id = text_at(s, 1),
		.cwd = text_at(s, 2),
		.user = text_at(s, 3),
		.status = sqlite3_column_int(s, 4),
		.exit_code = sqlite3_column_int(s, 5),
		.signal = sqlite3_column_int(s, 6),
		.timed_out = sqlite3_column_int(s, 7),
		.dropped = sqlite3_column_int(s, 8),
		.mixed = (uint64_t)sqlite3_column_int64(s, 9),
		.started_usec = (uint64_t)sqlite3_column_int64(s, 10),
		.ended_usec = (uint64_t)sqlite3_column_int64(s, 11),
		.total = {(uint64_t)sqlite3_column_int64(s, 12),
			(uint64_t)sqlite3_column_int64(s, 13)},
		.kept = {(uint64_t)sqlite3_column_int64(s, 14),
			(uint64_t)sqlite3_column_int64(s, 15),
			(uint64_t)sqlite3_column_int64(s, 16)},
		.cmd_len = (uint64_t)sqlite3_column_int64(s, 17),
	};
}

int run_store_load(
	struct run_store *store, int (*each)(const struct run_row *row, void *arg), void *arg)
{
	sqlite3_stmt *s;
	int r = 0;
	int rc = sqlite3_prepare_v2(store->db,
		"SELECT number, id, cwd, user, status, exit_code, signal, timed_out, dropped, mixed, "
		"started, ended, total0, total1, kept0, kept1, kept2, length(cmd) FROM runs "
		"ORDER BY number",
		-1, &s, NULL);

	if (rc != SQLITE_OK)
		return sqlite_errno(rc);
	while (r >= 0 && (rc = sqlite3_step(s)) == SQLITE_ROW) {
		struct run_row row;

		read_row(s, &row);
		r = each(&row, arg);
	}
	sqlite3_finalize(s);
	return r < 0 ? r : sqlite_errno(rc);
}

int run_store_cmd(struct run_store *store, uint32_t number, char **ret, uint64_t *ret_len)
{
	sqlite3_stmt *s = store->statements[CMD];
	int rc, r;

	sqlite3_bind_int64(s, 1, number);
	rc = sqlite3_step(s);
	r = rc == SQLITE_DONE ? -ENOENT : sqlite_errno(rc);
	if (r == 0) {
		const void *data = sqlite3_column_blob(s, 0);

		*ret_len = (uint64_t)sqlite3_column_bytes(s, 0);
		*ret = calloc(1, *ret_len + 1);
		if (*ret && *ret_len)
			memcpy(*ret, data, *ret_len);
		r = *ret ? 0 : -ENOMEM;
	}
	sqlite3_reset(s);
	return r;
}

int run_store_get(struct run_store *store, const char *key, char **ret)
{
	sqlite3_stmt *s = store->statements[GET];
	int rc, r;

	sqlite3_bind_text(s, 1, key, -1, SQLITE_STATIC);
	rc = sqlite3_step(s);
	r = rc == SQLITE_DONE ? -ENOENT : sqlite_errno(rc);
	if (r == 0) {
		*ret = strdup(text_at(s, 0));
		r = *ret ? 0 : -ENOMEM;
	}
	sqlite3_reset(s);
	return r;
}

int run_store_set(struct run_store *store, const char *key, const char *value)
{
	sqlite3_bind_text(store->statements[SET], 1, key, -1, SQLITE_STATIC);
	sqlite3_bind_text(store->statements[SET], 2, value, -1, SQLITE_STATIC);
	return finish(store, store->statements[SET]);
}
