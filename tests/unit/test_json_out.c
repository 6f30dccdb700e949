// JSON output: commas, escapes, bytes that are not UTF-8, base64.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "common/json_out.h"

static void nested(void **state)
{
	struct buf b auto_buf = {0};
	struct json_out j;

	(void)state;
	json_out_begin(&j, &b);
	json_out_object(&j, NULL);
	json_out_int(&j, "a", -1);
	json_out_array(&j, "b");
	json_out_bool(&j, NULL, true);
	json_out_null(&j, NULL);
	json_out_object(&j, NULL);
	json_out_object_end(&j);
	json_out_array_end(&j);
	json_out_raw(&j, "c", "[1]", 3);
	json_out_object_end(&j);
	assert_string_equal(buf_text(&b), "{\"a\":-1,\"b\":[true,null,{}],\"c\":[1]}");
}

static const char *text_of(struct buf *b, const char *data, size_t len, bool *ret_clean)
{
	struct json_out j;

	buf_reset(b);
	json_out_begin(&j, b);
	*ret_clean = json_out_bytes(&j, NULL, data, len);
	return buf_text(b);
}

static void wrong_bytes_become_replacements(void **state)
{
	struct buf b auto_buf = {0};
	bool clean;

	(void)state;
	assert_string_equal(
		text_of(&b, "a\"\\\n\x01\x7f", 6, &clean), "\"a\\\"\\\\\\n\\u0001\\u007f\"");
	assert_true(clean);
	assert_string_equal(
		text_of(&b, "\xc3\xa4\xf0\x9f\x98\x80", 6, &clean), "\"\xc3\xa4\xf0\x9f\x98\x80\"");
	assert_true(clean);
	assert_string_equal(text_of(&b, "x\xffy", 3, &clean), "\"x\xef\xbf\xbdy\"");
	assert_false(clean);
	/* A surrogate: three wrong bytes; a character cut short: one replacement. */
	assert_string_equal(
		text_of(&b, "\xed\xa0\x80", 3, &clean), "\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\"");
	assert_string_equal(text_of(&b, "\xf0\x9f\x98", 3, &clean), "\"\xef\xbf\xbd\"");
	assert_string_equal(text_of(&b, "\xc0\xaf", 2, &clean), "\"\xef\xbf\xbd\xef\xbf\xbd\"");
}

static void base64(void **state)
{
	static const char *const want[] = {
		"\"\"", "\"AA==\"", "\"AP8=\"", "\"AP8Q\"", "\"AP8Qgw==\""};
	struct buf b auto_buf = {0};

	(void)state;
	for (size_t len = 0; len < 5; len++) {
		struct json_out j;

		buf_reset(&b);
		json_out_begin(&j, &b);
		json_out_base64(&j, NULL, "\x00\xff\x10\x83", len);
		assert_string_equal(buf_text(&b), want[len]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nested),
		cmocka_unit_test(wrong_bytes_become_replacements),
		cmocka_unit_test(base64),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
