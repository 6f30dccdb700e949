// Messages of Jupyter kernels, as they should be and as they are.
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "kernels/jupyter/jupyter_message.h"
#include "kernels/kernel_wire.h"

#define PART(text)                                                                                 \
	{                                                                                          \
		text, sizeof(text) - 1                                                             \
	}

static int parse(const char *content, size_t len, struct jupyter_message *ret)
{
	const struct jupyter_part parts[] = {PART("kernel.1.stream.stdout"), PART("<IDS|MSG>"),
		PART("00"), PART("{\"msg_type\":\"display_data\"}"), PART("{\"msg_id\":\"p_1\"}"),
		PART("{}"), {content, len}, PART("buffer")};

	return jupyter_message_parse(parts, 8, NULL, NULL, ret);
}

static void a_message_is_found_behind_its_topic(void **state)
{
	static const char content[] = "{\"text\": \"a\\u0000b\"}";
	struct jupyter_message m;
	size_t len;

	(void)state;
	assert_int_equal(parse(content, strlen(content), &m), 0);
	assert_string_equal(m.type, "display_data");
	assert_string_equal(m.parent, "p_1");
	assert_memory_equal(jupyter_message_string(&m, "text", &len), "a\0b", 3);
	assert_int_equal(len, 3);
	assert_string_equal(jupyter_message_string(&m, "none", &len), "");
	jupyter_message_clear(&m);
}

static void bytes_that_are_not_utf8_are_replaced(void **state)
{
	static const char content[] = "{\"text\": \"a\xff\xfe\"}";
	struct jupyter_message m;
	size_t len;

	(void)state;
	assert_int_equal(parse(content, strlen(content), &m), 0);
	assert_string_equal(jupyter_message_string(&m, "text", &len), "a\xef\xbf\xbd\xef\xbf\xbd");
	jupyter_message_clear(&m);
}

static void what_is_no_message_is_refused(void **state)
{
	const struct jupyter_part few[] = {PART("<IDS|MSG>"), PART("00"), PART("{}")};
	struct jupyter_message m;

	(void)state;
	assert_int_equal(jupyter_message_parse(few, 3, NULL, NULL, &m), -EPROTO);
	assert_int_equal(jupyter_message_parse(few, 0, NULL, NULL, &m), -EPROTO);
	assert_int_equal(parse("{", 1, &m), -EPROTO);
	assert_int_equal(parse("", 0, &m), -EPROTO);
	assert_int_equal(parse("[1]", 3, &m), 0);
	assert_string_equal(jupyter_message_string(&m, "text", NULL), "");
	jupyter_message_clear(&m);
}

static bool never(void *arg, const struct jupyter_part *four, const struct jupyter_part *hex)
{
	(void)arg;
	assert_memory_equal(four[0].data, "{}", 2);
	assert_int_equal(hex->len, 2);
	return false;
}

static void a_wrong_signature_is_told(void **state)
{
	const struct jupyter_part parts[] = {
		PART("<IDS|MSG>"), PART("00"), PART("{}"), PART("{}"), PART("{}"), PART("{}")};
	struct jupyter_message m;

	(void)state;
	assert_int_equal(jupyter_message_parse(parts, 6, never, NULL, &m), -EBADMSG);
}

static void a_bundle_becomes_fields(void **state)
{
	static const char content[] =
		"{\"data\": {\"image/png\": \"iVBO\\nRw==\\n\", \"application/json\": {\"a\": [1, null]},"
		" \"text/plain\": \"t\", \"@main\": \"forged\", \"image/svg+xml\": \"<svg/>\"}}";
	struct jupyter_message m;
	struct buf data auto_buf = {0};
	struct kernel_frame frame;
	struct kernel_field field;
	size_t start = kernel_wire_begin(&data, KERNEL_RESULT, 1);

	(void)state;
	assert_int_equal(parse(content, strlen(content), &m), 0);
	jupyter_message_bundle(&m, &data);
	kernel_wire_end(&data, start);
	jupyter_message_clear(&m);
	assert_true(kernel_wire_frame(data.data, data.len, &frame) > 0);
	assert_true(kernel_wire_find(&frame, "image/png", &field));
	assert_int_equal(field.len, 4);
	assert_memory_equal(field.value, "\x89PNG", 4);
	assert_true(kernel_wire_find(&frame, "application/json", &field));
	assert_memory_equal(field.value, "{\"a\":[1,null]}", field.len);
	assert_true(kernel_wire_find(&frame, "image/svg+xml", &field));
	assert_false(kernel_wire_find(&frame, "@main", &field));
}

static void colours_are_taken_out(void **state)
{
	static const char text[] = "\033[0;31mred\033[0m \033 x\033[";
	struct buf plain auto_buf = {0};

	(void)state;
	jupyter_message_plain(text, strlen(text), &plain);
	assert_string_equal(buf_text(&plain), "red \033 x");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_message_is_found_behind_its_topic),
		cmocka_unit_test(bytes_that_are_not_utf8_are_replaced),
		cmocka_unit_test(what_is_no_message_is_refused),
		cmocka_unit_test(a_wrong_signature_is_told),
		cmocka_unit_test(a_bundle_becomes_fields),
		cmocka_unit_test(colours_are_taken_out),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
