// What cannot be asked for leaves no number of a descriptor behind: it is soon somebody else's.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <sys/resource.h>
#include <unistd.h>

#include "fs/idle_poll.h"

static void has_none(const struct idle_poll *poll)
{
	assert_false(idle_poll_can(poll));
	assert_int_equal(poll->fd, -1);
	assert_int_equal(idle_poll_fd(poll), -1);
}

static void has_none_when_closed(void **state)
{
	struct idle_poll poll;

	(void)state;
	idle_poll_init(&poll, true);
	idle_poll_close(&poll);
	has_none(&poll);
	idle_poll_init(&poll, false);
	has_none(&poll);
}

/* One descriptor is left: for a user the timer, for root the device. */
static void has_none_where_one_of_both_fails(void **state)
{
	struct rlimit before, few;
	struct idle_poll poll;
	int next = dup(0);

	(void)state;
	assert_true(next >= 0);
	close(next);
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
	few = (struct rlimit){.rlim_cur = (rlim_t)next + 1, .rlim_max = before.rlim_max};
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
	idle_poll_init(&poll, true);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
	has_none(&poll);
	assert_int_equal(dup(0), next);
	close(next);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(has_none_when_closed),
		cmocka_unit_test(has_none_where_one_of_both_fails),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
