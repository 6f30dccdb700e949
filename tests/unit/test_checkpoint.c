// Persist, restore and plan on a directory of ordinary files, without a mount: requests, hostile
// and damaged archives, limits.
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "common/scope.h"
#include "runner/checkpoint/checkpoint.h"
#include "runner/checkpoint/checkpoint_row.h"
#include "runner/checkpoint/extract.h"
#include "runner/checkpoint/store_dir.h"
#include "runner/checkpoint/tree_remove.h"

struct place {
	char path[64];
	char store_path[96];
	int fd; /* of path */
	int tree_fd;
	struct checkpoint_env env;
};

static int set_up(void **state)
{
	struct place *p = calloc(1, sizeof(*p));

	snprintf(p->path, sizeof(p->path), "%s/test_checkpoint.XXXXXX",
		access("/tmp", W_OK) == 0 ? "/tmp" : ".");
	assert_non_null(mkdtemp(p->path));
	snprintf(p->store_path, sizeof(p->store_path), "%s/store", p->path);
	p->fd = open(p->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_int_equal(mkdirat(p->fd, "tree", 0755), 0);
	p->tree_fd = openat(p->fd, "tree", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	p->env = (struct checkpoint_env){.tree_fd = p->tree_fd,
		.ids_base = geteuid(),
		.ids_len = 1,
		.store_path = p->store_path,
		.project = "p",
		.max_bytes = 1 << 20,
		.keep = 2};
	*state = p;
	return 0;
}

static int tear_down(void **state)
{
	struct place *p = *state;

	close(p->tree_fd);
	assert_int_equal(tree_remove(p->fd, "tree"), 0);
	assert_int_equal(tree_remove(p->fd, "store"), 0);
	tree_remove(p->fd, "out");
	close(p->fd);
	assert_int_equal(rmdir(p->path), 0);
	free(p);
	return 0;
}

static void write_file(int dir_fd, const char *name, const void *data, size_t len)
{
	int fd = openat(dir_fd, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, data, len), len);
	close(fd);
}

/* Carries a request out; its answer in ret. */
static int ask(struct place *p, const char *text, struct buf *ret, enum task_code *code)
{
	static const atomic_bool never;
	struct checkpoint_request request auto_request = {0};
	struct task task = {.cancelled = &never};
	struct fail f = {0};
	int r = checkpoint_request_parse(text, strlen(text), !strncmp(text, "/", 1), &request, &f);

	assert_int_equal(r, 0);
	buf_reset(ret);
	r = checkpoint_run(&p->env, &request, &task, ret, &f);
	if (code)
		*code = task.code;
	return r;
}

static void test_round_trip(void **state)
{
	struct place *p = *state;
	struct buf answer auto_buf = {0};
	char text[16] = {0};
	struct stat st;

	assert_int_equal(mkdirat(p->tree_fd, "app", 0750), 0);
	write_file(p->tree_fd, "app/a", "content", 7);
	assert_int_equal(symlinkat("../../..", p->tree_fd, "app/link"), 0);
	assert_int_equal(ask(p, "persist /app", &answer, NULL), 0);
	assert_non_null(strstr(answer.data, "\"files\":2,\"bytes\":7"));
	assert_int_equal(ask(p, "restore /deep/er/app", &answer, NULL), 0);
	assert_int_equal(readlinkat(p->tree_fd, "deep/er/app/link", text, sizeof(text) - 1), 8);
	assert_string_equal(text, "../../..");
	assert_int_equal(fstatat(p->tree_fd, "deep/er/app", &st, 0), 0);
	assert_int_equal(st.st_mode & 07777, 0750);
	/* Over what is there, also a file in its place. */
	write_file(p->tree_fd, "deep/er/app/more", "x", 1);
	assert_int_equal(ask(p, "restore /deep/er/app", &answer, NULL), 0);
	assert_int_equal(faccessat(p->tree_fd, "deep/er/app/more", F_OK, 0), -1);
	assert_int_equal(ask(p, "/app", &answer, NULL), 0);
	assert_non_null(strstr(answer.data, "\"fits\":true"));
}

static void test_refusals(void **state)
{
	static const char *const paths[] = {"/", "/..", "/./", "/app/..", "/x", "/file", "/abs",
		"/up", "/abs/app", "/proc", "/loop"};
	struct place *p = *state;
	struct buf answer auto_buf = {0}, text auto_buf = {0};
	enum task_code code;

	assert_int_equal(mkdirat(p->tree_fd, "app", 0755), 0);
	assert_int_equal(mkdirat(p->tree_fd, "proc", 0755), 0);
	write_file(p->tree_fd, "file", "", 0);
	assert_int_equal(symlinkat("/", p->tree_fd, "abs"), 0);
	assert_int_equal(symlinkat("app/../..", p->tree_fd, "up"), 0);
	assert_int_equal(symlinkat("loop", p->tree_fd, "loop"), 0);
	for (size_t i = 0; i < ARRAY_LEN(paths); i++) {
		buf_reset(&text);
		buf_printf(&text, "persist %s", paths[i]);
		assert_int_equal(ask(p, text.data, &answer, &code), -EINVAL);
		assert_int_equal(code, TASK_INVALID_ARGUMENT);
		assert_non_null(strstr(answer.data, "SANDBOX_INVALID_ARGUMENT"));
	}
	p->env.max_bytes = 50;
	assert_int_equal(ask(p, "persist /app", &answer, &code), -EFBIG);
	assert_int_equal(code, TASK_LIMIT_EXCEEDED);
}

/* The newest archive's content and row. */
static void newest(struct place *p, struct store_row *ret, char **ret_data)
{
	struct store *store auto_store = NULL;
	auto_close int fd = -1;

	assert_int_equal(store_dir_open(p->store_path, false, STORE_DIR_PATIENT, &store, NULL), 0);
	assert_int_equal(store->ops->head(store, "p", ret, NULL), 0);
	assert_int_equal(store->ops->get(store, ret->sha256, &fd), 0);
	*ret_data = malloc(ret->size);
	assert_int_equal(pread(fd, *ret_data, ret->size, 0), ret->size);
}

/* Extracts bytes as an archive into a fresh directory. */
static int extract(struct place *p, const struct store_row *row, const char *data, size_t len,
	enum task_code *code)
{
	static const atomic_bool never;
	struct task task = {.cancelled = &never};
	struct extract_config config = {.task = &task,
		.ids_base = geteuid(),
		.ids_len = 1,
		.max_files = 1000,
		.max_bytes = 1 << 20};
	struct fail f = {0};
	int r;

	assert_int_equal(mkdirat(p->fd, "out", 0700), 0);
	write_file(p->fd, "archive", data, len);
	auto_close int dir_fd = openat(p->fd, "out", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	auto_close int fd = openat(p->fd, "archive", O_RDONLY | O_CLOEXEC);
	config.dir_fd = dir_fd;
	r = checkpoint_row_extract(row, fd, &config, &f);
	*code = task.code;
	assert_int_equal(unlinkat(p->fd, "archive", 0), 0);
	assert_int_equal(tree_remove(p->fd, "out"), 0);
	return r;
}

static void make_noise(char *to, size_t len)
{
	uint32_t x = 1;

	for (size_t i = 0; i < len; i++) {
		x = x * 1664525 + 1013904223;
		to[i] = (char)(x >> 24);
	}
}

/* However an archive is cut, and whichever bit is wrong, it is damage and never a crash or a success
 * with other content than was stored. */
static void test_damage(void **state)
{
	struct place *p = *state;
	struct buf answer auto_buf = {0};
	struct store_row row auto_row = {0};
	char *data auto_free = NULL;
	char noise[20000];
	enum task_code code;

	make_noise(noise, sizeof(noise));
	assert_int_equal(mkdirat(p->tree_fd, "app", 0755), 0);
	write_file(p->tree_fd, "app/noise", noise, sizeof(noise));
	write_file(p->tree_fd, "app/z", "", 0);
	assert_int_equal(ask(p, "persist /app", &answer, NULL), 0);
	newest(p, &row, &data);
	assert_int_equal(extract(p, &row, data, row.size, &code), 0);
	for (size_t len = 0; len < row.size; len += 512) {
		assert_int_equal(extract(p, &row, data, len, &code), -EBADMSG);
		assert_int_equal(code, TASK_DATA_CORRUPTED);
	}
	for (size_t at = 0; at < row.size; at += 97) {
		data[at] ^= 1 << (at % 8);
		extract(p, &row, data, row.size, &code);
		data[at] ^= 1 << (at % 8);
	}
}

/* One request, whether it is understood, and what it sets. */
static void test_requests(void **state)
{
	static const char *const good[] = {"persist /a", "restore a etag=x timeout=5",
		"persist \"a b\" exclude=x,y exclude=z if_match=q", "persist a\\ b",
		"{\"op\":\"persist\",\"path\":\"/a\",\"exclude\":[\"b\"],\"timeout\":7}",
		" {\"path\":\"/a\",\"op\":\"restore\",\"etag\":\"e\"}"};
	static const char *const bad[] = {"", "persist", "persist ''", "save /a", "persist /a b",
		"persist /a timeout=", "persist /a timeout=0", "persist /a timeout=99999999999",
		"restore /a exclude=b", "restore /a if_match=b", "persist /a etag=b",
		"persist /a exclude=b/c", "{", "[]", "{\"op\":\"persist\"}",
		"{\"op\":\"persist\",\"path\":1}", "{\"op\":\"plan\",\"path\":\"/a\"}",
		"{\"op\":\"persist\",\"path\":\"/a\",\"timeout\":1.5}",
		"{\"op\":\"persist\",\"path\":\"a\\u0000b\"}",
		"{\"op\":\"restore\",\"path\":\"/a\",\"exclude\":[]}"};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(good); i++) {
		struct checkpoint_request request auto_request = {0};

		assert_int_equal(
			checkpoint_request_parse(good[i], strlen(good[i]), false, &request, NULL),
			0);
	}
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		struct checkpoint_request request auto_request = {0};
		struct fail f = {0};

		assert_int_equal(
			checkpoint_request_parse(bad[i], strlen(bad[i]), false, &request, &f),
			-EINVAL);
		assert_true(*f.text);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_round_trip, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_refusals, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_damage, set_up, tear_down),
		cmocka_unit_test(test_requests),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
