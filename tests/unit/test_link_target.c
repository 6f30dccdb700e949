// What symbolic links read as: never out of the tree, and otherwise where they lead inside.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/scope.h"
#include "fs/files/link_target.h"

static char folder[] = "/tmp/test_link_target.XXXXXX";
static int tree = -1;

static void make_link(const char *target, const char *at)
{
	assert_int_equal(symlinkat(target, tree, at), 0);
}

/* The tree in which all links below are followed. */
static int make_tree(void **state)
{
	static const char *const dirs[] = {"p", "p/q", "p/q/r", "other", "other/deep"};

	(void)state;
	if (!mkdtemp(folder))
		return -1;
	tree = open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC);
	for (size_t i = 0; i < ARRAY_LEN(dirs); i++)
		assert_int_equal(mkdirat(tree, dirs[i], 0755), 0);
	close(openat(tree, "file", O_WRONLY | O_CREAT | O_CLOEXEC, 0644));
	make_link("/other/deep", "far");
	make_link("../../../../../other/deep", "p/up");
	make_link(".", "p/dot");
	make_link("loop", "loop");
	make_link("/", "p/root");
	return 0;
}

static int remove_entry(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)st;
	(void)type;
	(void)ftw;
	return remove(path);
}

static int remove_tree(void **state)
{
	(void)state;
	close(tree);
	return nftw(folder, remove_entry, 8, FTW_DEPTH | FTW_PHYS);
}

static int answer(const char *dir, const char *target, struct buf *ret)
{
	auto_close int dir_fd = openat(tree, dir, O_PATH | O_CLOEXEC);
	unsigned depth = strcmp(dir, ".") != 0;

	assert_true(dir_fd >= 0);
	for (const char *at = dir; *at; at++)
		depth += *at == '/';
	return link_target_answer(tree, dir_fd, depth, target, ret);
}

static void expect(const char *dir, const char *target, const char *wanted)
{
	auto_buf struct buf text = {0};

	assert_int_equal(answer(dir, target, &text), 0);
	assert_string_equal(buf_text(&text), wanted);
}

static void test_safe_targets_stay_as_they_are(void **state)
{
	static const char *const safe[] = {
		"a", "a/b//c/", "./a/.", "...", "..a/b", "a/..b", " ", "."};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(safe); i++)
		expect(".", safe[i], safe[i]);
	expect("p", "../file", "../file");
	expect("p/q", ".././../file", ".././../file");
	expect("p/q", "../..", "../..");
}

static void test_absolute_targets_become_relative(void **state)
{
	(void)state;
	expect(".", "/etc/shadow", "etc/shadow");
	expect("p/q", "/etc/shadow", "../../etc/shadow");
	expect("p/q", "//etc/./x/", "../../etc/x/");
	expect(".", "/", ".");
	expect("p", "/", "../");
	expect("p", "/..", "../");
	expect("p", "/../../etc", "../etc");
}

static void test_dots_stop_at_the_root(void **state)
{
	(void)state;
	expect(".", "..", ".");
	expect(".", "../../etc/shadow", "etc/shadow");
	expect("p", "../../../etc", "../etc");
	expect("p/q", "../../..", "../../");
}

/* A name before ".." may be a link to anywhere in the tree. */
static void test_dots_behind_names_are_followed(void **state)
{
	(void)state;
	expect("p", "q/../file", "file");
	expect("p", "q/r/../../x", "x");
	expect(".", "far/../file", "other/file");
	expect("p/q", "../../far/../file", "../../other/file");
	expect("p", "up/../file", "../other/file");
	expect("p", "dot/../../../etc", "../etc");
	expect("p/q", "../dot/dot/../file", "../../file");
	expect("p/q", "../root/../../etc", "../../etc");
	expect("p/q", "../root/p/../other", "../../other");
}

/* Whoever follows the answer fails as inside. */
static void test_what_cannot_be_followed_keeps_its_names(void **state)
{
	(void)state;
	expect("p", "missing/../../../etc", "missing/etc");
	expect(".", "file/../file", "file/file");
	expect("p", "q/missing/../x/", "q/missing/x/");
}

static void test_loops_and_long_names_are_errors(void **state)
{
	auto_buf struct buf text = {0};
	char *longest = malloc(PATH_MAX);

	(void)state;
	assert_int_equal(answer(".", "loop/..", &text), -ELOOP);
	memset(longest, 'n', PATH_MAX - 1);
	longest[PATH_MAX - 1] = '\0';
	expect(".", longest, longest);
	longest[0] = '/';
	expect(".", longest, longest + 1);
	buf_reset(&text);
	assert_int_equal(answer("p", longest, &text), -ENAMETOOLONG);
	free(longest);
}

static void test_at_most_forty_links(void **state)
{
	auto_buf struct buf text = {0};
	char name[16], target[16];

	(void)state;
	make_link("p", "chain0");
	for (unsigned i = 1; i < 42; i++) {
		snprintf(name, sizeof(name), "chain%u", i);
		snprintf(target, sizeof(target), "chain%u", i - 1);
		make_link(target, name);
	}
	expect(".", "chain39/../file", "file");
	assert_int_equal(answer(".", "chain40/../file", &text), -ELOOP);
}

/* Moved upwards after its depth was learnt: still not above the root. */
static void test_wrong_depth_does_not_lead_out(void **state)
{
	auto_close int dir = openat(tree, "p", O_PATH | O_CLOEXEC);
	auto_buf struct buf text = {0};

	(void)state;
	assert_int_equal(link_target_answer(tree, dir, 3, "../../../../p/../etc", &text), 0);
	assert_string_equal(buf_text(&text), "../../../etc");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_safe_targets_stay_as_they_are),
		cmocka_unit_test(test_absolute_targets_become_relative),
		cmocka_unit_test(test_dots_stop_at_the_root),
		cmocka_unit_test(test_dots_behind_names_are_followed),
		cmocka_unit_test(test_what_cannot_be_followed_keeps_its_names),
		cmocka_unit_test(test_loops_and_long_names_are_errors),
		cmocka_unit_test(test_at_most_forty_links),
		cmocka_unit_test(test_wrong_depth_does_not_lead_out),
	};

	return cmocka_run_group_tests(tests, make_tree, remove_tree);
}
