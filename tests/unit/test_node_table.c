// Node ids, names and descriptors of files/: over a real directory, without a mount.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "common/scope.h"
#include "fs/node_table.h"

#define MAX_FDS 8
#define MAX_IDLE 4
#define ROOT_ID 2 /* any will do */

static char folder[64];
static int tree = -1;
static struct node_table *table;

static struct node_key key_at(const char *path)
{
	struct node_key key = {0};
	struct statx sx;

	assert_int_equal(statx(tree, path, AT_SYMLINK_NOFOLLOW | AT_EMPTY_PATH,
				 STATX_BASIC_STATS | STATX_BTIME, &sx),
		0);
	key.dev = makedev(sx.stx_dev_major, sx.stx_dev_minor);
	key.ino = sx.stx_ino;
	key.type = sx.stx_mode & S_IFMT;
	if (sx.stx_mask & STATX_BTIME)
		key.born_nsec = sx.stx_btime.tv_sec * 1000000000LL + sx.stx_btime.tv_nsec;
	return key;
}

static int make_table(void **state)
{
	struct node_key root;

	(void)state;
	snprintf(folder, sizeof(folder), "/tmp/test_node_table.XXXXXX");
	if (!mkdtemp(folder))
		return -1;
	tree = open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC);
	root = key_at("");
	return node_table_new(tree, &root, ROOT_ID, MAX_FDS, MAX_IDLE, &table);
}

static int remove_entry(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)st;
	(void)type;
	(void)ftw;
	return remove(path);
}

static int remove_table(void **state)
{
	(void)state;
	node_table_free(table);
	close(tree);
	return nftw(folder, remove_entry, 8, FTW_DEPTH | FTW_PHYS);
}

static void make_file(const char *path)
{
	auto_close int fd = openat(tree, path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);

	assert_true(fd >= 0);
}

static void make_dir(const char *path)
{
	assert_int_equal(mkdirat(tree, path, 0755), 0);
}

static int try_enter(uint64_t parent, const char *name, const char *path, uint64_t *ret)
{
	struct node_found found = {.key = key_at(path), .fd = -1};
	unsigned depth;

	return node_table_enter(table, parent, name, &found, ret, &depth);
}

/* Looks up name in parent; path is where that is in the tree. */
static uint64_t enter(uint64_t parent, const char *name, const char *path)
{
	uint64_t id;

	assert_int_equal(try_enter(parent, name, path, &id), 0);
	return id;
}

static uint64_t enter_top(const char *name)
{
	return enter(ROOT_ID, name, name);
}

/* Whether using the node gives the inode that is at path. */
static void expect_at(uint64_t id, const char *path)
{
	auto_use struct node_use use = {0};
	struct stat a, b;

	assert_int_equal(node_table_use(table, id, &use), 0);
	assert_int_equal(fstat(use.fd, &a), 0);
	assert_int_equal(fstatat(tree, path, &b, AT_SYMLINK_NOFOLLOW), 0);
	assert_int_equal(a.st_ino, b.st_ino);
}

static int use_error(uint64_t id)
{
	auto_use struct node_use use = {0};

	return node_table_use(table, id, &use);
}

static unsigned depth_of_link(uint64_t id)
{
	auto_place struct node_place place = {0};

	assert_int_equal(node_table_place(table, id, &place), 0);
	return place.depth;
}

static uint64_t count_nodes(void)
{
	uint64_t nodes, fds;

	node_table_counts(table, &nodes, &fds);
	return nodes;
}

static uint64_t count_fds(void)
{
	uint64_t nodes, fds;

	node_table_counts(table, &nodes, &fds);
	return fds;
}

static void rename_known(uint64_t dir, const char *name, uint64_t newdir, const char *newname,
	const char *path, const char *newpath, unsigned flags)
{
	node_table_rename_begin(table);
	assert_int_equal(renameat2(tree, path, tree, newpath, flags), 0);
	node_table_rename_end(table, true, dir, name, newdir, newname, flags & RENAME_EXCHANGE);
}

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
	node_table_unname(table, ROOT_ID, "a", false);
	node_table_forget(table, id, 1);
	assert_int_equal(use_error(id), -ESTALE);
	enter_and_forget("b", &id);
	node_table_unname(table, ROOT_ID, "b", false);
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
	node_table_unname(table, dir, "f", false);
	node_table_unname(table, ROOT_ID, "d", false);
	assert_int_equal(count_nodes(), 2);
	node_table_forget(table, file, 1);
	assert_int_equal(count_nodes(), 1);
	assert_int_equal(count_fds(), 0);
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
	node_table_unname(table, ROOT_ID, "b", false);
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
	node_table_unname(table, ROOT_ID, "a", false);
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
		node_table_unname(table, ROOT_ID, "d", true);
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

#define WITH_TABLE(test) cmocka_unit_test_setup_teardown(test, make_table, remove_table)

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

static struct node_handle *attach(uint64_t id, const char *path)
{
	struct node_handle *handle;
	int fd = openat(tree, path, O_RDWR | O_CLOEXEC);

	assert_int_equal(node_table_attach(table, id, fd, &handle), 0);
	return handle;
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
		WITH_TABLE(test_one_inode_one_id),
		WITH_TABLE(test_forgotten_nodes_are_found_again),
		WITH_TABLE(test_forgotten_nodes_are_bounded),
		WITH_TABLE(test_forgotten_depths_are_bounded),
		WITH_TABLE(test_forgotten_without_a_name_are_freed),
		WITH_TABLE(test_forgotten_number_is_used_again),
		WITH_TABLE(test_forgets_that_make_no_sense),
		WITH_TABLE(test_parents_stay_for_their_children),
		WITH_TABLE(test_hard_links_are_one_node_by_any_name),
		WITH_TABLE(test_many_names_keep_the_newest),
		WITH_TABLE(test_each_name_of_a_link_is_a_node),
		WITH_TABLE(test_replaced_file_is_another_node),
		WITH_TABLE(test_reused_inode_number_is_another_node),
		WITH_TABLE(test_renames_are_followed),
		WITH_TABLE(test_rename_over_and_exchange),
		WITH_TABLE(test_circles_are_refused),
		WITH_TABLE(test_descriptors_stay_within_the_bound),
		WITH_TABLE(test_files_are_not_kept_open),
		WITH_TABLE(test_looked_up_file_survives_replacement),
		WITH_TABLE(test_open_file_serves_after_unlink),
		WITH_TABLE(test_removed_directory_stays_open_while_known),
		WITH_TABLE(test_deep_trees_are_opened_step_by_step),
		WITH_TABLE(test_stamps),
		WITH_TABLE(test_promises),
		WITH_TABLE(test_missed),
		WITH_TABLE(test_names),
		WITH_TABLE(test_tokens),
		WITH_TABLE(test_all_handles_of_a_node_are_served_alike),
		WITH_TABLE(test_no_promise_while_it_is_mapped),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
