// Control groups of version 2, on a directory with files as the kernel has them: what is written
// for limits, and what is read of use. Version 1 is tested by real ones (limits.bats).
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "common/scope.h"
#include "runner/limits/cgroup_impl.h"

static const char *const names[] = {"cgroup.procs", "cgroup.controllers", "cgroup.type",
	"cgroup.subtree_control", "memory.max", "memory.swap.max", "memory.oom.group", "pids.max",
	"cpu.max", "memory.events", "pids.events", "pids.events.local", "memory.current",
	"pids.current", "cpu.stat"};

static char folder[] = "/tmp/test_cgroup.XXXXXX";
static int top = -1;

static void put(int dir_fd, const char *name, const char *text)
{
	auto_close int fd = openat(dir_fd, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
}

static void holds(int dir_fd, const char *name, const char *wanted)
{
	char text[256];
	auto_close int fd = openat(dir_fd, name, O_RDONLY | O_CLOEXEC);
	ssize_t n = read(fd, text, sizeof(text) - 1);

	assert_true(n >= 0);
	text[n] = '\0';
	assert_string_equal(text, wanted);
}

static int make(const char *dir)
{
	if (*dir)
		mkdirat(top, dir, 0755);
	int fd = openat(top, *dir ? dir : ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	assert_true(fd >= 0);
	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		put(fd, names[i], "");
	return fd;
}

static void empty(const char *dir)
{
	char path[64];

	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		snprintf(path, sizeof(path), "%s%s%s", dir, *dir ? "/" : "", names[i]);
		unlinkat(top, path, 0);
	}
	if (*dir)
		unlinkat(top, dir, AT_REMOVEDIR);
}

static int set_up(void **state)
{
	(void)state;
	if (!mkdtemp(folder))
		return -1;
	top = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return top < 0 ? -1 : 0;
}

static int tear_down(void **state)
{
	(void)state;
	empty("run-7");
	empty("all");
	empty("");
	close(top);
	return rmdir(folder);
}

static void test_run(void **state)
{
	const struct sandbox_limits limits = {.memory_bytes = 1 << 20, .pids = 5, .cpus = 0.5};
	auto_close int run_fd = make("run-7");
	auto_close int leaf_fd = make("all");
	struct cgroup c = {
		.v2 = true, .parts = {{-1, top}}, .has = {true, true, true}, .leaf_fd = leaf_fd};
	struct cgroup_run *run = NULL;
	uint64_t oom_kills = 10, refused = 20;
	struct fail f = {0};
	int fds[CGROUP_RUN_FDS];

	(void)state;
	assert_int_equal(cgroup_run_new(&c, 7, &limits, &run, &f), 0);
	holds(run_fd, "memory.max", "1048576");
	holds(run_fd, "memory.swap.max", "0");
	holds(run_fd, "pids.max", "5");
	holds(run_fd, "cpu.max", "50000 100000");
	assert_int_equal(cgroup_run_fds(run, fds), 1);
	assert_int_equal(write(fds[0], "0", 1), 1);
	holds(run_fd, "cgroup.procs", "0");
	put(run_fd, "memory.events", "low 0\nmax 7\noom 2\noom_kill 3\noom_group_kill 0\n");
	put(run_fd, "pids.events", "max 4\n");
	assert_true(cgroup_run_add_oom_kills(run, &oom_kills));
	assert_true(cgroup_run_add_pids(run, &refused));
	assert_int_equal(oom_kills, 13);
	assert_int_equal(refused, 24);
	cgroup_run_free(run);
}

static void test_run_without_leaf(void **state)
{
	const struct sandbox_limits limits = {.pids = 5};
	const struct sandbox_limits all = {.memory_bytes = 1 << 20, .pids = 5, .cpus = 1};
	const struct cgroup c = {
		.v2 = true, .parts = {{-1, top}}, .has = {true, true, true}, .leaf_fd = -1};
	struct cgroup_run *run = NULL;
	struct fail f = {0};

	(void)state;
	assert_int_equal(cgroup_run_new(&c, 8, &limits, &run, &f), -EOPNOTSUPP);
	assert_non_null(strstr(f.text, "pids"));
	/* The others are rlimits then. */
	assert_int_equal(cgroup_run_new(&c, 8, &all, &run, &f), -EOPNOTSUPP);
	assert_non_null(strstr(f.text, "cpus"));
}

/* What happened to runs with a group of their own, which the kernel adds to the sandbox's, does not
 * count; a refused process counts in the leaf before Linux 6.11, and from then on where the limit
 * is. */
static void test_hits(void **state)
{
	auto_close int top_fd = make("");
	auto_close int leaf_fd = make("all");
	struct cgroup c = {
		.v2 = true, .parts = {{-1, top}}, .has = {true, true, true}, .leaf_fd = leaf_fd};
	struct cgroup_hits hits;

	(void)state;
	put(top_fd, "memory.events", "oom 9\noom_kill 9\n");
	put(top_fd, "pids.events", "max 9\n");
	put(leaf_fd, "memory.events", "oom 3\noom_kill 2\noom_group_kill 0\n");
	put(leaf_fd, "pids.events", "max 3\n");
	cgroup_events_open(&c);
	cgroup_hits(&c, &hits);
	assert_int_equal(hits.oom_kills, 2);
	assert_int_equal(hits.pids, 3);
	put(leaf_fd, "pids.events", "max 0\n");
	put(top_fd, "pids.events.local", "max 4\n");
	cgroup_hits(&c, &hits);
	assert_int_equal(hits.pids, 4);
	cgroup_events_close(&c.events);
}

static void test_hand_on(void **state)
{
	(void)state;
	auto_close int fd = make("");
	put(fd, "cgroup.controllers", "cpuset cpu io memory pids\n");
	assert_int_equal(cgroup_hand_on(fd), 0);
	holds(fd, "cgroup.subtree_control", "+memory +pids +cpu ");
	put(fd, "cgroup.controllers", "memory pids\n");
	put(fd, "cgroup.subtree_control", "");
	assert_int_equal(cgroup_hand_on(fd), 0);
	holds(fd, "cgroup.subtree_control", "+memory +pids ");
	put(fd, "cgroup.controllers", "hugetlb\n");
	assert_int_equal(cgroup_hand_on(fd), -ENOENT);
}

/* The kernel itself refuses the memory there. */
static void test_hand_on_beside_processes(void **state)
{
	(void)state;
	auto_close int fd = make("");
	put(fd, "cgroup.controllers", "cpu pids\n");
	put(fd, "cgroup.subtree_control", "");
	put(fd, "cgroup.procs", "17\n");
	assert_int_equal(cgroup_hand_on(fd), -EBUSY);
	holds(fd, "cgroup.subtree_control", "");
	put(fd, "cgroup.procs", "");
	assert_int_equal(cgroup_hand_on(fd), 0);
}

static void test_takes_processes(void **state)
{
	(void)state;
	auto_close int fd = make("");
	put(fd, "cgroup.type", "domain\n");
	assert_true(cgroup_takes_processes(fd));
	put(fd, "cgroup.type", "domain invalid\n");
	assert_false(cgroup_takes_processes(fd));
}

static void test_usage(void **state)
{
	const struct cgroup c = {
		.v2 = true, .parts = {{-1, top}}, .has = {true, true, true}, .leaf_fd = -1};
	struct sandbox_usage usage = {0};

	(void)state;
	auto_close int fd = make("");
	put(fd, "cpu.stat", "usage_usec 1234\nuser_usec 1000\n");
	put(fd, "memory.current", "8192\n");
	put(fd, "pids.current", "3\n");
	put(fd, "memory.events", "oom_kill 1\n");
	assert_true(cgroup_usage(&c, &usage));
	assert_int_equal(usage.cpu_usec, 1234);
	assert_int_equal(usage.memory_bytes, 8192);
	assert_int_equal(usage.pids, 3);
	assert_int_equal(usage.oom_kills, 1);
	assert_string_equal(cgroup_mode(&c), "cgroup v2");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_run),
		cmocka_unit_test(test_run_without_leaf),
		cmocka_unit_test(test_hits),
		cmocka_unit_test(test_hand_on),
		cmocka_unit_test(test_hand_on_beside_processes),
		cmocka_unit_test(test_takes_processes),
		cmocka_unit_test(test_usage),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
