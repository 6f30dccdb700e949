// Node ids: which inode has which, and how long.
#include "tests/unit/node_tree.h"

static void test_one_inode_one_id(void **state)
{
	uint64_t id;

	(void)state;
	make_file("a");
	id = enter_top("a");
	assert_true(id > ROOT_ID);
	assert_int_equal(enter_top("a"), id);
	node_table_forget(table, id, 1);
	expect_at(id, "a");
}

/* A file server's handle outlives the kernel's memory of the inode. */
static void test_forgotten_nodes_are_found_again(void **state)
{
	uint64_t dir, file;

	(void)state;
	make_dir("d");
	make_file("d/f");
	dir = enter_top("d");
	file = enter(dir, "f", "d/f");
	node_table_forget(table, dir, 1);
	node_table_forget(table, file, 1);
	expect_at(file, "d/f");
	assert_int_equal(node_table_again(table, file), 0);
	expect_at(file, "d/f");
	assert_int_equal(enter_top("d"), dir);
	assert_int_equal(enter(dir, "f", "d/f"), file);
}

static void enter_and_forget(const char *name, uint64_t *ret)
{
	make_file(name);
	*ret = enter_top(name);
	node_table_forget(table, *ret, 1);
}

static void test_forgotten_nodes_are_bounded(void **state)
{
	uint64_t ids[3 * MAX_IDLE];
	char name[16];

	(void)state;
	for (unsigned i = 0; i < ARRAY_LEN(ids); i++) {
		snprintf(name, sizeof(name), "f%u", i);
		enter_and_forget(name, &ids[i]);
		expect_at(ids[0], "f0"); /* the root is idle, too */
		if (i == 0)
			node_table_again(table, ids[0]);
	}
	assert_int_equal(count_nodes(), MAX_IDLE + 1);
	assert_int_equal(use_error(ids[1]), -ESTALE);
	assert_int_equal(use_error(ids[ARRAY_LEN(ids) - 1]), 0);
	assert_int_equal(enter_top("f1") > ids[ARRAY_LEN(ids) - 1], true);
}

/* What lies above a forgotten node counts, too, and goes with it. */
static void test_forgotten_depths_are_bounded(void **state)
{
	char path[64] = "d";
	uint64_t dir = ROOT_ID, ids[3 * MAX_IDLE];

	(void)state;
	for (unsigned i = 0; i < ARRAY_LEN(ids); i++) {
		make_dir(path);
		dir = ids[i] = enter(dir, "d", path);
		memcpy(path + 1 + 2 * i, "/d", 3);
	}
	for (unsigned i = 0; i < ARRAY_LEN(ids); i++)
		node_table_forget(table, ids[i], 1);
	assert_int_equal(count_nodes(), MAX_IDLE);
	assert_int_equal(use_error(ids[ARRAY_LEN(ids) - 1]), -ESTALE);
}

static void test_forgotten_without_a_name_are_freed(void **state)
{
	uint64_t id;

	(void)state;
	make_file("a");
	id = enter_top("a");
	node_table_unname(table, ROOT_ID, "a");
	node_table_forget(table, id, 1);
	assert_int_equal(use_error(id), -ESTALE);
	enter_and_forget("b", &id);
	node_table_unname(table, ROOT_ID, "b");
	assert_int_equal(count_nodes(), 1);
}

/* Without times of birth: a forgotten node's number under another name is another file. */
static void test_forgotten_number_is_used_again(void **state)
{
	struct node_found found = {.fd = -1};
	unsigned depth;
	uint64_t id, other;

	(void)state;
	make_file("a");
	found.key = key_at("a");
	found.key.born_nsec = 0;
	assert_int_equal(node_table_enter(table, ROOT_ID, "a", &found, &id, &depth), 0);
	node_table_forget(table, id, 1);
	assert_int_equal(renameat(tree, "a", tree, "b"), 0);
	assert_int_equal(node_table_enter(table, ROOT_ID, "b", &found, &other, &depth), 0);
	assert_true(other > id);
	assert_int_equal(use_error(id), -ESTALE);
	expect_at(other, "b");
}

static void test_forgets_that_make_no_sense(void **state)
{
	uint64_t id;

	(void)state;
	make_file("a");
	id = enter_top("a");
	node_table_forget(table, 12345, 1);
	node_table_forget(table, 0, UINT64_MAX);
	node_table_forget(table, id, UINT64_MAX);
	node_table_forget(table, id, UINT64_MAX);
	node_table_forget(table, ROOT_ID, 1000);
	expect_at(id, "a");
	expect_at(ROOT_ID, ".");
	assert_int_equal(try_enter(777, "a", "a", &id), -ESTALE);
	assert_int_equal(node_table_again(table, 777), -ESTALE);
}

/* A directory's record is needed as long as one below it is. */
static void test_parents_stay_for_their_children(void **state)
{
	uint64_t dir, file;

	(void)state;
	make_dir("d");
	make_file("d/f");
	dir = enter_top("d");
	file = enter(dir, "f", "d/f");
	node_table_forget(table, dir, 1);
	expect_at(file, "d/f");
	node_table_unname(table, dir, "f");
	node_table_unname(table, ROOT_ID, "d");
	assert_int_equal(count_nodes(), 2);
	node_table_forget(table, file, 1);
	assert_int_equal(count_nodes(), 1);
	assert_int_equal(count_fds(), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		WITH_TABLE(test_one_inode_one_id),
		WITH_TABLE(test_forgotten_nodes_are_found_again),
		WITH_TABLE(test_forgotten_nodes_are_bounded),
		WITH_TABLE(test_forgotten_depths_are_bounded),
		WITH_TABLE(test_forgotten_without_a_name_are_freed),
		WITH_TABLE(test_forgotten_number_is_used_again),
		WITH_TABLE(test_forgets_that_make_no_sense),
		WITH_TABLE(test_parents_stay_for_their_children),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
