// User and group ids as the mount shows them: no two look alike, and each leads back.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>

#include "fs/files/files_impl.h"

#define BASE 100000
#define LEN 65536
#define OWNER 1000

static uid_t shown(uid_t id)
{
	return files_shown_id(id, BASE, LEN, OWNER);
}

static void test_root_is_shown_as_the_owner(void **state)
{
	(void)state;
	assert_int_equal(shown(BASE), OWNER);
	assert_int_equal(shown(BASE + OWNER), 0);
	assert_int_equal(shown(BASE + 5), 5);
	assert_int_equal(shown(BASE + LEN - 1), LEN - 1);
}

static void test_foreign_ids_are_nobody(void **state)
{
	(void)state;
	assert_int_equal(shown(0), 65534);
	assert_int_equal(shown(BASE - 1), 65534);
	assert_int_equal(shown(BASE + LEN), 65534);
	assert_int_equal(shown((uid_t)-1), 65534);
	assert_int_equal(files_shown_id(1, 0, 1, OWNER), 65534);
}

static void test_each_leads_back(void **state)
{
	uid_t real;

	(void)state;
	for (uid_t id = BASE; id < BASE + LEN; id++) {
		assert_int_equal(files_real_id(shown(id), BASE, LEN, OWNER, &real), 0);
		assert_int_equal(real, id);
	}
}

static void test_ids_that_the_sandbox_lacks(void **state)
{
	uid_t real;

	(void)state;
	assert_int_equal(files_real_id(LEN, BASE, LEN, OWNER, &real), -EINVAL);
	assert_int_equal(files_real_id(0, 0, 1, OWNER, &real), -EINVAL);
	assert_int_equal(files_real_id(OWNER, 0, 1, OWNER, &real), 0);
	assert_int_equal(real, 0);
	assert_int_equal(files_real_id(0, 0, 1, 0, &real), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_root_is_shown_as_the_owner),
		cmocka_unit_test(test_foreign_ids_are_nobody),
		cmocka_unit_test(test_each_leads_back),
		cmocka_unit_test(test_ids_that_the_sandbox_lacks),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
