// The framed protocol of kernels: what was written is read back, and nothing else is taken.
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "kernels/kernel_wire.h"

static void make(struct buf *to)
{
	size_t start = kernel_wire_begin(to, KERNEL_RESULT, 70000);

	kernel_wire_add(to, "@main", "1", 1);
	kernel_wire_add(to, "image/png", "\0\xff\n", 3);
	kernel_wire_add(to, "text/plain", "", 0);
	kernel_wire_end(to, start);
}

static void a_frame_is_read_back(void **state)
{
	struct buf data auto_buf = {0};
	struct kernel_frame frame;
	struct kernel_field field;

	(void)state;
	make(&data);
	make(&data);
	assert_int_equal(kernel_wire_frame(data.data, data.len, &frame), data.len / 2);
	assert_int_equal(frame.type, KERNEL_RESULT);
	assert_int_equal(frame.execution, 70000);
	assert_true(kernel_wire_find(&frame, "image/png", &field));
	assert_int_equal(field.len, 3);
	assert_memory_equal(field.value, "\0\xff\n", 3);
	assert_false(kernel_wire_find(&frame, "image", &field));
	assert_int_equal(kernel_wire_field(&frame, &field), 1);
	assert_true(kernel_wire_is(&field, "@main"));
	assert_int_equal(kernel_wire_field(&frame, &field), 1);
	assert_int_equal(kernel_wire_field(&frame, &field), 1);
	assert_int_equal(field.len, 0);
	assert_int_equal(kernel_wire_field(&frame, &field), 0);
}

static void a_part_of_a_frame_is_none_yet(void **state)
{
	struct buf data auto_buf = {0};
	struct kernel_frame frame;

	(void)state;
	make(&data);
	for (size_t len = 0; len < data.len; len++)
		assert_int_equal(kernel_wire_frame(data.data, len, &frame), 0);
}

static void what_is_no_frame_is_refused(void **state)
{
	struct buf data auto_buf = {0};
	struct kernel_frame frame;

	(void)state;
	make(&data);
	data.data[5] = 1;
	assert_int_equal(kernel_wire_frame(data.data, data.len, &frame), -EPROTO);
	data.data[5] = 0;
	memcpy(data.data, "\x01\x00\x00\x02", 4); /* one byte over 32 MiB */
	assert_int_equal(kernel_wire_frame(data.data, data.len, &frame), -EPROTO);
}

static void a_field_stays_within_its_frame(void **state)
{
	static const unsigned char payloads[][12] = {
		{1, 0, 0, 0, 0, 0, 0, 0}, /* a name of one byte that is not there */
		{0, 0, 0, 0, 5, 0, 0, 0, 'x'},
		{255, 255, 255, 255, 255, 255, 255, 255, 'x'}, /* sums that overflow 32 bits */
		{1, 2, 3},
	};
	static const size_t sizes[] = {8, 9, 9, 3};
	struct kernel_field field;

	(void)state;
	for (size_t i = 0; i < 4; i++) {
		struct kernel_frame frame = {.payload = payloads[i], .len = sizes[i]};

		assert_int_equal(kernel_wire_field(&frame, &field), -EPROTO);
		assert_false(kernel_wire_find(&frame, "x", &field));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_frame_is_read_back),
		cmocka_unit_test(a_part_of_a_frame_is_none_yet),
		cmocka_unit_test(what_is_no_frame_is_refused),
		cmocka_unit_test(a_field_stays_within_its_frame),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
