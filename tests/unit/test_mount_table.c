// Reading mountinfo, its escapes, and which path lies below which.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/mount_point.h"
#include "common/mount_table.h"

static void test_escapes(void **state)
{
	static const char *const texts[] = {"", "/plain", "/a b", "/tab\tline\nback\\slash",
		"/\\040", "/\x7f\x01", "/k\xc3\xa4se\xff"};

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		auto_buf struct buf escaped = {0};

		buf_add_str(&escaped, "");
		mount_table_escape(&escaped, texts[i]);
		assert_null(strpbrk(escaped.data, " \t\n\x7f"));
		mount_table_unescape(escaped.data);
		assert_string_equal(escaped.data, texts[i]);
	}
}

static void test_broken_escapes(void **state)
{
	char text[] = "a\\04 \\9 \\777 \\";

	(void)state;
	mount_table_unescape(text);
	assert_string_equal(text, "a\\04 \\9 \\777 \\");
}

static void test_entries(void **state)
{
	static char lines[] =
		"36 35 98:0 /mnt1 /mnt\\0402 rw,noatime master:1 shared:7 - ext3 /dev/root rw\n"
		"half a line\n"
		"42 27 0:39 / /box rw,nosuid - fuse.sandpit a\\040b rw,user_id=1000,group_id=5\n"
		"43 27 0:40 / /last rw - tmpfs tmpfs rw";
	struct mount_table table = {.file = fmemopen(lines, strlen(lines), "r")};
	struct mount_entry entry;

	(void)state;
	assert_non_null(table.file);
	assert_int_equal(mount_table_next(&table, &entry), 1);
	assert_int_equal(entry.id, 36);
	assert_string_equal(entry.dir, "/mnt 2");
	assert_string_equal(entry.type, "ext3");
	assert_int_equal(entry.user, -1);
	assert_int_equal(mount_table_next(&table, &entry), 1);
	assert_string_equal(entry.dir, "/box");
	assert_string_equal(entry.type, MOUNT_TABLE_TYPE);
	assert_string_equal(entry.source, "a b");
	assert_int_equal(entry.user, 1000);
	assert_int_equal(mount_table_next(&table, &entry), 1);
	assert_int_equal(mount_table_next(&table, &entry), 0);
	mount_table_close(&table);
}

static void test_below(void **state)
{
	(void)state;
	assert_true(mount_point_is_below("/a", "/a"));
	assert_true(mount_point_is_below("/a/b", "/a"));
	assert_true(mount_point_is_below("/a", "/"));
	assert_false(mount_point_is_below("/ab", "/a"));
	assert_false(mount_point_is_below("/a", "/a/b"));
}

static void test_this_machine(void **state)
{
	struct mount_point point;
	struct fail f = {0};

	(void)state;
	assert_int_equal(mount_point_open("/proc/", &point, &f), 0);
	assert_string_equal(point.path, "/proc");
	assert_string_equal(point.type, "proc");
	assert_false(mount_point_is_sandbox(&point));
	assert_false(mount_point_is_dead(&point));
	mount_point_close(&point);
	assert_int_equal(mount_point_open("/proc/sys", &point, &f), 0);
	assert_string_equal(point.path, "/proc/sys");
	mount_point_close(&point);
	assert_true(mount_point_open("/proc/version", &point, &f) < 0);
	assert_string_equal(f.text, "/proc/version: Not a directory");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_escapes),
		cmocka_unit_test(test_broken_escapes),
		cmocka_unit_test(test_entries),
		cmocka_unit_test(test_below),
		cmocka_unit_test(test_this_machine),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
