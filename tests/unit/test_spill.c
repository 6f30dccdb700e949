// Bytes in memory while they are few, in a file once they are many.
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "common/scope.h"
#include "common/spill.h"

struct fixture {
	char path[64];
	struct spill_dir dir;
	struct spill spill;
};

static int set_up(void **state)
{
	struct fixture *fixture = calloc(1, sizeof(*fixture));

	snprintf(fixture->path, sizeof(fixture->path), "/tmp/test_spill.XXXXXX");
	if (!mkdtemp(fixture->path))
		return -1;
	fixture->dir.fd = open(fixture->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	spill_init(&fixture->spill, &fixture->dir);
	*state = fixture;
	return 0;
}

/* Nothing is left behind, in memory or in the directory. */
static int tear_down(void **state)
{
	struct fixture *fixture = *state;
	int r;

	spill_clear(&fixture->spill);
	r = fixture->dir.held ? -1 : 0;
	close(fixture->dir.fd);
	r |= rmdir(fixture->path);
	free(fixture);
	return r;
}

static void few_bytes_stay_in_memory(void **state)
{
	struct fixture *fixture = *state;
	struct spill *spill = &fixture->spill;
	char text[8];

	assert_int_equal(spill_add(spill, "ab", 2), 0);
	assert_int_equal(spill_add(spill, "", 0), 0);
	spill_settle(spill);
	assert_int_equal(spill_add(spill, "cd", 2), 0);
	assert_int_equal(spill->file, 0);
	assert_int_equal(fixture->dir.held, 4);
	assert_int_equal(spill_read(spill, text, sizeof(text), 1), 3);
	assert_memory_equal(text, "bcd", 3);
	assert_int_equal(spill_read(spill, text, sizeof(text), 4), 0);
}

static void many_go_to_a_file(void **state)
{
	struct fixture *fixture = *state;
	struct spill *spill = &fixture->spill;
	struct buf all auto_buf = {0};
	char block[1000];

	for (int i = 0; i < 10; i++) {
		memset(block, 'a' + i, sizeof(block));
		assert_int_equal(spill_add(spill, block, sizeof(block)), 0);
		if (i == 6)
			spill_settle(spill);
	}
	assert_int_not_equal(spill->file, 0);
	assert_int_equal(fixture->dir.held, 0);
	assert_int_equal(spill->size, 10000);
	spill_settle(spill);
	assert_int_equal(spill_read_all(spill, &all), 0);
	assert_int_equal(all.len, 10000);
	for (size_t i = 0; i < all.len; i++)
		assert_int_equal(all.data[i], 'a' + (char)(i / 1000));
	assert_int_equal(spill->fd, -1);
}

static void all_together_have_a_limit(void **state)
{
	struct fixture *fixture = *state;

	fixture->dir.held = SPILL_HELD_MAX;
	assert_int_equal(spill_add(&fixture->spill, "x", 1), 0);
	assert_int_not_equal(fixture->spill.file, 0);
	assert_int_equal(fixture->dir.held, SPILL_HELD_MAX);
	fixture->dir.held = 0;
}

static void a_disk_that_refuses_is_told_and_nothing_is_lost(void **state)
{
	struct fixture *fixture = *state;
	struct spill *spill = &fixture->spill;
	int good = fixture->dir.fd;
	char block[SPILL_SMALL] = {0}, text[4];

	assert_int_equal(spill_add(spill, "abc", 3), 0);
	fixture->dir.fd = open("/proc/self", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_true(spill_add(spill, block, sizeof(block)) < 0);
	close(fixture->dir.fd);
	fixture->dir.fd = good;
	assert_int_equal(spill->size, 3);
	assert_int_equal(spill_read(spill, text, sizeof(text), 0), 3);
	assert_memory_equal(text, "abc", 3);
	assert_int_equal(spill_add(spill, block, sizeof(block)), 0);
	assert_int_equal(spill->size, 3 + sizeof(block));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(few_bytes_stay_in_memory, set_up, tear_down),
		cmocka_unit_test_setup_teardown(many_go_to_a_file, set_up, tear_down),
		cmocka_unit_test_setup_teardown(all_together_have_a_limit, set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			a_disk_that_refuses_is_told_and_nothing_is_lost, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
