// Descriptors of nodes: which are kept open, how nodes are found without one, open files.
#include "tests/unit/node_tree.h"

static void test_descriptors_stay_within_the_bound(void **state)
{
	uint64_t ids[100];
	char name[16];

	(void)state;
	for (unsigned i = 0; i < ARRAY_LEN(ids); i++) {
		snprintf(name, sizeof(name), "d%u", i);
		make_dir(name);
		ids[i] = enter_top(name);
		expect_at(ids[i], name);
		assert_true(count_fds() <= MAX_FDS + 1);
	}
	for (unsigned i = 0; i < ARRAY_LEN(ids); i++) {
		snprintf(name, sizeof(name), "d%u", i);
		expect_at(ids[i], name);
	}
	node_table_relieve(table);
	assert_true(count_fds() <= MAX_FDS / 2 + 1);
}

/* A file's descriptor would keep its disk space after it was removed. */
static void test_files_are_not_kept_open(void **state)
{
	uint64_t id;

	(void)state;
	make_file("a");
	id = enter_top("a");
	expect_at(id, "a");
	assert_int_equal(count_fds(), 0);
}

static void test_looked_up_file_survives_replacement(void **state)
{
	struct node_found found;
	unsigned depth;
	uint64_t id;

	(void)state;
	make_file("a");
	make_file("b");
	found = (struct node_found){
		.key = key_at("a"), .fd = openat(tree, "a", O_PATH | O_CLOEXEC)};
	assert_int_equal(node_table_enter(table, ROOT_ID, "a", &found, &id, &depth), 0);
	assert_int_equal(found.fd, -1);
	assert_int_equal(renameat(tree, "b", tree, "a"), 0);
	assert_int_equal(use_error(id), 0);
	node_table_forget(table, id, 1);
	assert_int_equal(count_fds(), 0);
}

static void test_open_file_serves_after_unlink(void **state)
{
	struct node_handle *handle;
	uint64_t id;

	(void)state;
	make_file("a");
	id = enter_top("a");
	assert_int_equal(
		node_table_attach(table, id, openat(tree, "a", O_RDWR | O_CLOEXEC), &handle), 0);
	assert_int_equal(unlinkat(tree, "a", 0), 0);
	node_table_unname(table, ROOT_ID, "a");
	assert_int_equal(use_error(id), 0);
	node_table_forget(table, id, 1);
	assert_int_equal(use_error(id), 0);
	{
		auto_use struct node_use use = {0};

		assert_int_equal(node_table_use(table, id, &use), 0);
		node_table_detach(table, handle);
		assert_int_equal(fcntl(use.fd, F_GETFD), FD_CLOEXEC);
	}
	assert_int_equal(use_error(id), -ESTALE);
	assert_int_equal(count_fds(), 0);
	assert_int_equal(node_table_attach(table, id, dup(tree), &handle), -ESTALE);
}

static void test_removed_directory_stays_open_while_known(void **state)
{
	uint64_t id;

	(void)state;
	make_dir("d");
	id = enter_top("d");
	{
		auto_use struct node_use use = {0};

		assert_int_equal(node_table_use(table, id, &use), 0);
		assert_int_equal(unlinkat(tree, "d", AT_REMOVEDIR), 0);
		node_table_unname(table, ROOT_ID, "d");
	}
	node_table_relieve(table);
	assert_int_equal(use_error(id), 0);
	node_table_forget(table, id, 1);
	assert_int_equal(count_fds(), 0);
}

static void test_deep_trees_are_opened_step_by_step(void **state)
{
	uint64_t id = ROOT_ID;
	auto_close int dir = dup(tree);
	struct node_found found;
	unsigned depth;

	(void)state;
	for (unsigned i = 0; i < 500; i++) {
		int next;

		assert_int_equal(mkdirat(dir, "d", 0755), 0);
		next = openat(dir, "d", O_PATH | O_CLOEXEC);
		close(dir);
		dir = next;
		found = (struct node_found){.fd = -1};
		{
			struct stat st;

			assert_int_equal(fstat(dir, &st), 0);
			found.key = (struct node_key){
				.dev = st.st_dev, .ino = st.st_ino, .type = S_IFDIR};
		}
		assert_int_equal(node_table_enter(table, id, "d", &found, &id, &depth), 0);
		assert_int_equal(depth, i);
	}
	assert_int_equal(use_error(id), 0);
	assert_true(count_fds() <= MAX_FDS + 1);
	for (; id > ROOT_ID; id--)
		node_table_forget(table, id, 1);
	assert_int_equal(count_nodes(), MAX_IDLE);
}

static void test_all_handles_of_a_node_are_served_alike(void **state)
{
	struct node_handle *a, *b;
	uint64_t id;

	(void)state;
	make_file("f");
	id = enter_top("f");
	a = attach(id, "f");
	b = attach(id, "f");
	assert_int_equal(node_table_back(table, a, 0), NODE_BACKING_WANTED);
	assert_int_equal(node_table_back(table, b, 0), NODE_BACKING_WANTED);
	assert_int_equal(node_table_back(table, a, 5), NODE_BACKING_HAS);
	assert_int_equal(node_table_back(table, b, 6), NODE_BACKING_HAS);
	assert_int_equal(b->backing_id, 5);
	assert_int_equal(node_table_detach(table, a), 0);
	a = attach(id, "f");
	assert_int_equal(node_table_back(table, a, 0), NODE_BACKING_HAS);
	assert_int_equal(node_table_detach(table, b), 0);
	assert_int_equal(node_table_detach(table, a), 5);

	a = attach(id, "f");
	b = attach(id, "f");
	assert_int_equal(node_table_back(table, a, -1), NODE_BACKING_NONE);
	assert_int_equal(node_table_back(table, b, 0), NODE_BACKING_NONE);
	assert_int_equal(node_table_detach(table, a), 0);
	assert_int_equal(node_table_detach(table, b), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		WITH_TABLE(test_descriptors_stay_within_the_bound),
		WITH_TABLE(test_files_are_not_kept_open),
		WITH_TABLE(test_looked_up_file_survives_replacement),
		WITH_TABLE(test_open_file_serves_after_unlink),
		WITH_TABLE(test_removed_directory_stays_open_while_known),
		WITH_TABLE(test_deep_trees_are_opened_step_by_step),
		WITH_TABLE(test_all_handles_of_a_node_are_served_alike),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
