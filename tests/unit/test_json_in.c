// JSON that comes in parts: cut anywhere, and looked at no more often than it is worth.
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "common/buf.h"
#include "common/json_in.h"
#include "common/scope.h"

static int parsed(const char *text, size_t len)
{
	struct json_object *value auto_call(json_in_free) = NULL;

	return json_in_parse(text, len, &value, NULL);
}

static void cut(void **state)
{
	static const char text[] =
		"{\"k\xc3\xbc\":\"\xe2\x82\xac\xf0\x9f\x98\x80\",\"a\":[\"}\\\"\"]}";
	struct json_in_scan scan = {0};

	(void)state;
	for (size_t len = 0; len < sizeof(text) - 1; len++) {
		assert_int_equal(parsed(text, len), -EAGAIN);
		json_in_worth(&scan, text, len);
		assert_false(scan.closed);
	}
	assert_int_equal(parsed(text, sizeof(text) - 1), 0);
	assert_true(json_in_worth(&scan, text, sizeof(text) - 1));
	assert_true(scan.closed);
}

static void no_utf8(void **state)
{
	(void)state;
	assert_int_equal(parsed("{\"\xff", 3), -EINVAL);
	assert_int_equal(parsed("{\"\xc3\"", 4), -EINVAL);
	assert_int_equal(parsed("{\"\x80", 3), -EINVAL);
	assert_int_equal(parsed("{}\xc3", 3), -EINVAL);
	assert_int_equal(parsed("{\"\xc3", 3), -EAGAIN);
}

static void many_parts(void **state)
{
	struct buf text auto_buf = {0};
	struct json_in_scan scan = {0};
	unsigned worth = 0;

	(void)state;
	assert_int_equal(buf_add_str(&text, "[0"), 0);
	while (text.len < 1000000) {
		assert_int_equal(buf_add_str(&text, ",{},[1]"), 0);
		worth += json_in_worth(&scan, buf_text(&text), text.len) && text.len > 4096;
	}
	assert_in_range(worth, 5, 10);
	assert_int_equal(buf_add_str(&text, "]"), 0);
	assert_true(json_in_worth(&scan, buf_text(&text), text.len));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(cut),
		cmocka_unit_test(no_utf8),
		cmocka_unit_test(many_parts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
