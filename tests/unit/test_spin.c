// A thread that looks for a while before it sleeps: it ends, it rests, it goes on.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <unistd.h>

#include "fs/spin.h"

static void looks_in_vain(struct spin *spin)
{
	while (spin_pause(spin))
		;
}

static void ends_and_goes_on_after_a_rest(void **state)
{
	struct spin spin = {0};

	(void)state;
	assert_true(spin_pause(&spin));
	for (int i = 0; i < 3; i++) {
		looks_in_vain(&spin);
		assert_int_equal(spin.began_usec, 0);
		while (!spin_pause(&spin))
			usleep(100);
	}
}

static void what_is_found_in_time_ends_it(void **state)
{
	struct spin spin = {0};

	(void)state;
	for (int i = 0; i < 1000; i++) {
		spin_pause(&spin);
		spin_found(&spin);
		assert_int_equal(spin.began_usec, 0);
	}
}

/* Others have had the processor; a row of requests that came in time tells that they no longer need it. */
static void others_turns_are_forgiven(void **state)
{
	struct spin spin = {.shared = 7};

	(void)state;
	for (int i = 0; i < 63; i++) {
		spin.began_usec = 1;
		spin_found(&spin);
	}
	assert_int_equal(spin.shared, 7);
	spin.began_usec = 1;
	spin_found(&spin);
	assert_int_equal(spin.shared, 0);
	spin_found(&spin);
	assert_int_equal(spin.found, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ends_and_goes_on_after_a_rest),
		cmocka_unit_test(what_is_found_in_time_ends_it),
		cmocka_unit_test(others_turns_are_forgiven),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
