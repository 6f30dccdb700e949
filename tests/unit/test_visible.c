// Foreign bytes as they can be shown.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/scope.h"
#include "common/visible.h"

static void shows(const char *text, const char *want)
{
	auto_buf struct buf to = {0};

	assert_int_equal(visible_add(&to, text), 0);
	assert_string_equal(buf_text(&to), want);
}

static void test_plain(void **state)
{
	(void)state;
	shows("", "");
	shows("plain, with blanks", "plain, with blanks");
	shows("\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80", "\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80");
}

static void test_controls(void **state)
{
	(void)state;
	shows("a\nb\x1b[2J\x7f\t", "a\\x0ab\\x1b[2J\\x7f\\x09");
	shows("\xc2\x9b"
	      "2J\xc2\xa0",
		"\\xc2\\x9b2J\xc2\xa0");
}

static void test_broken(void **state)
{
	(void)state;
	shows("\xff\xfe", "\\xff\\xfe");
	shows("a\xc3", "a\\xc3");
	shows("\xe2\x82x", "\\xe2\\x82x");
	shows("\xc0\x80\xed\xa0\x80", "\\xc0\\x80\\xed\\xa0\\x80");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_plain),
		cmocka_unit_test(test_controls),
		cmocka_unit_test(test_broken),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
