// What the tests of the table of nodes share: a table over a real directory, without a mount.
#pragma once

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
#include "fs/files/node_table.h"

#define MAX_FDS 8
#define MAX_IDLE 4
#define ROOT_ID 2 /* any will do */

static char folder[64];
static int tree = -1;
static struct node_table *table;

static inline struct node_key key_at(const char *path)
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

static inline int make_table(void **state)
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

static inline int remove_entry(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)st;
	(void)type;
	(void)ftw;
	return remove(path);
}

static inline int remove_table(void **state)
{
	(void)state;
	node_table_free(table);
	close(tree);
	return nftw(folder, remove_entry, 8, FTW_DEPTH | FTW_PHYS);
}

static inline void make_file(const char *path)
{
	auto_close int fd = openat(tree, path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);

	assert_true(fd >= 0);
}

static inline void make_dir(const char *path)
{
	assert_int_equal(mkdirat(tree, path, 0755), 0);
}

static inline int try_enter(uint64_t parent, const char *name, const char *path, uint64_t *ret)
{
	struct node_found found = {.key = key_at(path), .fd = -1};
	unsigned depth;

	return node_table_enter(table, parent, name, &found, ret, &depth);
}

/* Looks up name in parent; path is where that is in the tree. */
static inline uint64_t enter(uint64_t parent, const char *name, const char *path)
{
	uint64_t id;

	assert_int_equal(try_enter(parent, name, path, &id), 0);
	return id;
}

static inline uint64_t enter_top(const char *name)
{
	return enter(ROOT_ID, name, name);
}

/* Whether using the node gives the inode that is at path. */
static inline void expect_at(uint64_t id, const char *path)
{
	auto_use struct node_use use = {0};
	struct stat a, b;

	assert_int_equal(node_table_use(table, id, &use), 0);
	assert_int_equal(fstat(use.fd, &a), 0);
	assert_int_equal(fstatat(tree, path, &b, AT_SYMLINK_NOFOLLOW), 0);
	assert_int_equal(a.st_ino, b.st_ino);
}

static inline int use_error(uint64_t id)
{
	auto_use struct node_use use = {0};

	return node_table_use(table, id, &use);
}

static inline uint64_t count_nodes(void)
{
	uint64_t nodes, fds;

	node_table_counts(table, &nodes, &fds);
	return nodes;
}

static inline uint64_t count_fds(void)
{
	uint64_t nodes, fds;

	node_table_counts(table, &nodes, &fds);
	return fds;
}

static inline struct node_handle *attach(uint64_t id, const char *path)
{
	struct node_handle *handle;
	int fd = openat(tree, path, O_RDWR | O_CLOEXEC);

	assert_int_equal(node_table_attach(table, id, fd, &handle), 0);
	return handle;
}

#define WITH_TABLE(test) cmocka_unit_test_setup_teardown(test, make_table, remove_table)
