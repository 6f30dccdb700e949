// What the kernel was told of nodes.
#include "tests/unit/node_tree.h"

static void test_stamps(void **state)
{
	struct node_stamp stamp = {.mtime_nsec = 1, .ctime_nsec = 2, .size = 3};
	uint64_t id;

	(void)state;
	make_file("a");
	id = enter_top("a");
	assert_false(node_table_stamp(table, id, &stamp));
	assert_true(node_table_stamp(table, id, &stamp));
	stamp.size = 4;
	assert_false(node_table_stamp(table, id, &stamp));
	assert_false(node_table_stamp(table, id, NULL));
	assert_false(node_table_stamp(table, id, &stamp));
	assert_true(node_table_stamp(table, id, &stamp));
	assert_false(node_table_stamp(table, 999, &stamp));
}

static void test_promises(void **state)
{
	uint64_t ids[3], oldest, taken[4];
	static const char *const names[] = {"a", "b", "c"};

	(void)state;
	for (int i = 0; i < 3; i++) {
		make_file(names[i]);
		ids[i] = enter_top(names[i]);
	}
	assert_true(node_table_promise(table, ids[0], 2, &oldest));
	assert_true(node_table_promise(table, ids[0], 2, &oldest));
	assert_true(node_table_promise(table, ids[1], 2, &oldest));
	assert_int_equal(oldest, 0);
	assert_true(node_table_promise(table, ids[2], 2, &oldest));
	assert_int_equal(oldest, ids[0]);
	assert_false(node_table_unpromise(table, ids[0]));
	assert_true(node_table_unpromise(table, ids[1]));
	assert_true(node_table_promise(table, ids[0], 2, &oldest));
	node_table_forget(table, ids[2], 1);
	assert_int_equal(node_table_take_promised(table, taken, 4), 1);
	assert_int_equal(taken[0], ids[0]);
	assert_int_equal(node_table_take_promised(table, taken, 4), 0);
	assert_false(node_table_promise(table, ids[2], 2, &oldest));
}

static void test_missed(void **state)
{
	uint64_t ids[3], oldest, taken[4];
	static const char *const names[] = {"a", "b", "c"};

	(void)state;
	for (int i = 0; i < 3; i++) {
		make_file(names[i]);
		ids[i] = enter_top(names[i]);
		assert_true(node_table_miss(table, ids[i]));
	}
	assert_true(node_table_miss(table, ids[0]));
	assert_true(node_table_promise(table, ids[0], 3, &oldest));
	assert_true(node_table_unpromise(table, ids[0]));
	node_table_forget(table, ids[1], 1);
	assert_false(node_table_miss(table, ids[1]));
	assert_int_equal(node_table_count_missed(table), 2);
	assert_int_equal(node_table_take_missed(table, taken, 1), 1);
	assert_int_equal(taken[0], ids[0]);
	assert_int_equal(node_table_take_missed(table, taken, 4), 1);
	assert_int_equal(taken[0], ids[2]);
	assert_int_equal(node_table_take_missed(table, taken, 4), 0);
	assert_false(node_table_miss(table, 999));
}

static void test_names(void **state)
{
	struct node_stamp stamp = {.mtime_nsec = 1, .ctime_nsec = 2};
	uint64_t id;

	(void)state;
	make_dir("d");
	id = enter_top("d");
	assert_false(node_table_names_old(table, id, &stamp));
	node_table_names_told(table, id, &stamp);
	assert_false(node_table_names_old(table, id, &stamp));
	stamp.ctime_nsec = 3;
	assert_true(node_table_names_old(table, id, &stamp));
	assert_false(node_table_names_old(table, id, &stamp));
	node_table_names_told(table, 999, &stamp);
	assert_false(node_table_names_old(table, 999, &stamp));
}

static void test_tokens(void **state)
{
	uint64_t id;

	(void)state;
	make_file("f");
	id = enter_top("f");
	assert_false(node_table_token(table, id, 7));
	assert_true(node_table_token(table, id, 7));
	assert_false(node_table_token(table, id, 0));
	assert_false(node_table_token(table, id, 0));
	assert_false(node_table_token(table, id, 7));
}

static void test_no_promise_while_it_is_mapped(void **state)
{
	struct node_handle *handle;
	uint64_t id, oldest;

	(void)state;
	make_file("f");
	id = enter_top("f");
	handle = attach(id, "f");
	node_table_handle_maps(table, handle);
	assert_false(node_table_promise(table, id, 2, &oldest));
	node_table_detach(table, handle);
	assert_true(node_table_promise(table, id, 2, &oldest));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		WITH_TABLE(test_stamps),
		WITH_TABLE(test_promises),
		WITH_TABLE(test_missed),
		WITH_TABLE(test_names),
		WITH_TABLE(test_tokens),
		WITH_TABLE(test_no_promise_while_it_is_mapped),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
