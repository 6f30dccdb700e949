// Ranges in subuid(5) files: names and numbers, sizes, broken lines.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "runner/idmap.h"

static void a_range_is_found_by_name_or_number(void **state)
{
	const char *text = "ann:100000:65536\n1002:300000:65536\n";
	uint32_t first = 0;

	(void)state;
	assert_true(idmap_find_range(text, "ann", 1001, 65536, &first));
	assert_int_equal(first, 100000);
	assert_true(idmap_find_range(text, "bob", 1002, 65536, &first));
	assert_int_equal(first, 300000);
	assert_true(idmap_find_range(text, NULL, 1002, 65536, &first));
	assert_false(idmap_find_range(text, "an", 1003, 65536, &first));
	assert_false(idmap_find_range(text, "anne", 1003, 65536, &first));
}

static void a_range_that_is_too_small_is_passed_over(void **state)
{
	uint32_t first = 0;

	(void)state;
	assert_true(idmap_find_range("a:100:5\na:200000:65536", "a", 1, 65535, &first));
	assert_int_equal(first, 200000);
	assert_false(idmap_find_range("a:100:5\n", "a", 1, 6, &first));
}

static void broken_lines_are_passed_over(void **state)
{
	static const char *const broken[] = {"", "\n", "a", "a:", "a::", "a:1", "a:x:9",
		"a:1:", "a:-1:9", "a:1:9x", "a:1 :9", "a:0:9", "a:4294967290:9",
		"a:99999999999999999999:9", ":1:9",
		"a:1:9999999999999999999999999999999999999999999999999999999999999999999999"};
	uint32_t first = 0;

	(void)state;
	for (size_t i = 0; i < sizeof(broken) / sizeof(broken[0]); i++)
		assert_false(idmap_find_range(broken[i], "a", 77, 9, &first));
	assert_true(idmap_find_range("a\na:\na:7:9", "a", 77, 9, &first));
	assert_int_equal(first, 7);
}

static void the_single_map_is_the_users_own(void **state)
{
	struct idmap m;

	(void)state;
	idmap_choose_single(&m);
	assert_true(m.single);
	assert_int_equal(m.len, 1);
	assert_int_equal(m.uid, geteuid());
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_range_is_found_by_name_or_number),
		cmocka_unit_test(a_range_that_is_too_small_is_passed_over),
		cmocka_unit_test(broken_lines_are_passed_over),
		cmocka_unit_test(the_single_map_is_the_users_own),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
