// Names of nodes: several of one, links, replacements, renames.
#include "tests/unit/node_tree.h"

static unsigned depth_of_link(uint64_t id)
{
	auto_place struct node_place place = {0};

	assert_int_equal(node_table_place(table, id, &place), 0);
	return place.depth;
}

static void rename_known(uint64_t dir, const char *name, uint64_t newdir, const char *newname,
	const char *path, const char *newpath, unsigned flags)
{
	node_table_rename_begin(table);
	assert_int_equal(renameat2(tree, path, tree, newpath, flags), 0);
	node_table_rename_end(table, true, dir, name, newdir, newname, flags & RENAME_EXCHANGE);
}

static void test_hard_links_are_one_node_by_any_name(void **state)
{
	uint64_t id;

	(void)state;
	make_file("a");
	assert_int_equal(linkat(tree, "a", tree, "b", 0), 0);
	id = enter_top("a");
	assert_int_equal(enter_top("b"), id);
	assert_int_equal(unlinkat(tree, "b", 0), 0);
	expect_at(id, "a");
	node_table_unname(table, ROOT_ID, "b");
	expect_at(id, "a");
}

static void test_many_names_keep_the_newest(void **state)
{
	char name[16];
	uint64_t id = 0;

	(void)state;
	make_file("n0");
	for (unsigned i = 0; i < 50; i++) {
		snprintf(name, sizeof(name), "n%u", i);
		if (i)
			assert_int_equal(linkat(tree, "n0", tree, name, 0), 0);
		id = enter_top(name);
	}
	for (unsigned i = 0; i < 49; i++) {
		snprintf(name, sizeof(name), "n%u", i);
		assert_int_equal(unlinkat(tree, name, 0), 0);
	}
	expect_at(id, "n49");
	node_table_forget(table, id, 50);
	expect_at(id, "n49");
	assert_int_equal(count_nodes(), 2);
}

static void test_each_name_of_a_link_is_a_node(void **state)
{
	uint64_t dir, a, b;

	(void)state;
	make_dir("d");
	assert_int_equal(symlinkat("x", tree, "a"), 0);
	assert_int_equal(linkat(tree, "a", tree, "d/b", 0), 0);
	dir = enter_top("d");
	a = enter_top("a");
	b = enter(dir, "b", "d/b");
	assert_int_not_equal(a, b);
	assert_int_equal(enter_top("a"), a);
	assert_int_equal(depth_of_link(a), 0);
	assert_int_equal(depth_of_link(b), 1);
}

static void test_replaced_file_is_another_node(void **state)
{
	uint64_t old, new;

	(void)state;
	make_file("a");
	make_file("b");
	old = enter_top("a");
	assert_int_equal(renameat(tree, "b", tree, "a"), 0);
	assert_int_equal(use_error(old), -ESTALE);
	new = enter_top("a");
	assert_int_not_equal(old, new);
	expect_at(new, "a");
	assert_int_equal(use_error(old), -ESTALE);
}

/* Inode numbers are given out again; the time of birth tells. */
static void test_reused_inode_number_is_another_node(void **state)
{
	struct node_found found;
	uint64_t old, new;
	unsigned depth;

	(void)state;
	make_file("a");
	found = (struct node_found){.key = key_at("a"), .fd = -1};
	found.key.born_nsec = 1;
	assert_int_equal(node_table_enter(table, ROOT_ID, "old", &found, &old, &depth), 0);
	found.key.born_nsec = 2;
	assert_int_equal(node_table_enter(table, ROOT_ID, "new", &found, &new, &depth), 0);
	assert_int_not_equal(old, new);
	found.key.born_nsec = 0;
	assert_int_equal(node_table_enter(table, ROOT_ID, "new", &found, &old, &depth), 0);
	assert_int_equal(old, new);
}

static void test_renames_are_followed(void **state)
{
	uint64_t d, e, file, link;

	(void)state;
	make_dir("d");
	make_dir("e");
	make_file("d/f");
	assert_int_equal(symlinkat("x", tree, "d/l"), 0);
	d = enter_top("d");
	e = enter_top("e");
	file = enter(d, "f", "d/f");
	link = enter(d, "l", "d/l");
	rename_known(ROOT_ID, "d", e, "d2", "d", "e/d2", 0);
	expect_at(file, "e/d2/f");
	assert_int_equal(depth_of_link(link), 2);
	rename_known(d, "l", ROOT_ID, "l2", "e/d2/l", "l2", 0);
	assert_int_equal(depth_of_link(link), 0);
	expect_at(link, "l2");
	assert_int_equal(node_table_child(table, d, "l"), 0);
	assert_int_equal(node_table_child(table, e, "d2"), d);
}

static void test_rename_over_and_exchange(void **state)
{
	uint64_t a, b, d;

	(void)state;
	make_file("a");
	make_file("b");
	make_dir("d");
	a = enter_top("a");
	b = enter_top("b");
	d = enter_top("d");
	rename_known(ROOT_ID, "a", ROOT_ID, "d", "a", "d", RENAME_EXCHANGE);
	expect_at(a, "d");
	expect_at(d, "a");
	rename_known(ROOT_ID, "d", ROOT_ID, "b", "d", "b", 0);
	expect_at(a, "b");
	assert_int_equal(use_error(b), -ESTALE);
	node_table_rename_begin(table);
	node_table_rename_end(table, false, ROOT_ID, "b", ROOT_ID, "zz", false);
	expect_at(a, "b");
}

/* Changed about from inside, so that what is known makes a circle. */
static void test_circles_are_refused(void **state)
{
	uint64_t a, b, id;

	(void)state;
	make_dir("a");
	make_dir("a/b");
	a = enter_top("a");
	b = enter(a, "b", "a/b");
	assert_int_equal(renameat(tree, "a/b", tree, "b"), 0);
	assert_int_equal(renameat(tree, "a", tree, "b/a"), 0);
	assert_int_equal(try_enter(b, "a", "b/a", &id), -ESTALE);
	assert_int_equal(enter_top("b"), b);
	assert_int_equal(enter(b, "a", "b/a"), a);
	expect_at(a, "b/a");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		WITH_TABLE(test_hard_links_are_one_node_by_any_name),
		WITH_TABLE(test_many_names_keep_the_newest),
		WITH_TABLE(test_each_name_of_a_link_is_a_node),
		WITH_TABLE(test_replaced_file_is_another_node),
		WITH_TABLE(test_reused_inode_number_is_another_node),
		WITH_TABLE(test_renames_are_followed),
		WITH_TABLE(test_rename_over_and_exchange),
		WITH_TABLE(test_circles_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
