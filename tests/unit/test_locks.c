// Owners of locks on one file: over a real file, whose locks other descriptions of it meet.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/scope.h"
#include "fs/files/locks.h"

#define FILE_ID 7
#define MAX 4

static char path[] = "/tmp/sandpit-locks-XXXXXX";
static int command = -1; /* a command's descriptor */
static struct locks *locks;

static int set_up(void **state)
{
	(void)state;
	snprintf(path, sizeof(path), "/tmp/sandpit-locks-XXXXXX");
	command = mkstemp(path);
	return command < 0 ? -1 : locks_new(MAX, &locks);
}

static int tear_down(void **state)
{
	(void)state;
	assert_int_equal(locks_count(locks), 0);
	locks_free(locks);
	close(command);
	return unlink(path);
}

static struct flock range(short type, off_t start, off_t len)
{
	return (struct flock){.l_type = type, .l_whence = SEEK_SET, .l_start = start, .l_len = len};
}

static struct lock_request by(uint64_t owner, uint64_t handle)
{
	return (struct lock_request){.file = FILE_ID,
		.owner = owner,
		.handle = handle,
		.fd = command,
		.writable = true,
		.pid = getpid()};
}

static int set(struct lock_request request, short type, off_t start, off_t len)
{
	struct flock wanted = range(type, start, len);

	return locks_set(locks, &request, &wanted);
}

static int set_as_command(short type, off_t start, off_t len)
{
	struct flock wanted = range(type, start, len);

	return fcntl(command, F_OFD_SETLK, &wanted) < 0 ? -errno : 0;
}

static void owners_exclude_each_other(void **state)
{
	(void)state;
	assert_int_equal(set(by(1, 1), F_WRLCK, 0, 10), 0);
	assert_int_equal(set(by(1, 2), F_WRLCK, 5, 10), 0);
	assert_int_equal(set(by(2, 3), F_RDLCK, 14, 1), -EAGAIN);
	assert_int_equal(set(by(2, 3), F_RDLCK, 15, 1), 0);
	assert_int_equal(set_as_command(F_WRLCK, 15, 1), -EAGAIN);
	assert_int_equal(set_as_command(F_WRLCK, 16, 0), 0);
	assert_int_equal(set(by(2, 3), F_WRLCK, 100, 1), -EAGAIN);
	assert_int_equal(set(by(1, 1), F_UNLCK, 0, 0), 0);
	assert_int_equal(set(by(2, 3), F_WRLCK, 0, 10), 0);
	assert_true(locks_drop_owner(locks, FILE_ID, 2));
	assert_false(locks_drop_owner(locks, FILE_ID, 2));
	assert_int_equal(set_as_command(F_UNLCK, 0, 0), 0);
}

static void an_open_file_takes_all_along(void **state)
{
	struct lock_request whole = by(9, 1);

	(void)state;
	whole.whole = true;
	assert_int_equal(set(by(1, 1), F_RDLCK, 0, 1), 0);
	assert_int_equal(set(by(2, 2), F_RDLCK, 0, 1), 0);
	assert_int_equal(locks_set_whole(locks, &whole, LOCK_EX), 0);
	assert_int_equal(flock(command, LOCK_SH | LOCK_NB), -1);
	assert_int_equal(locks_count(locks), 3);
	assert_true(locks_drop_handle(locks, FILE_ID, 1));
	assert_int_equal(locks_count(locks), 1);
	assert_int_equal(flock(command, LOCK_SH | LOCK_NB), 0);
	assert_int_equal(flock(command, LOCK_UN), 0);
	assert_false(locks_drop_handle(locks, FILE_ID, 1));
	assert_true(locks_drop_handle(locks, FILE_ID, 2));
}

static void what_reads_comes_to_write(void **state)
{
	struct lock_request reader = by(1, 1);
	struct flock wanted = range(F_WRLCK, 0, 0);

	(void)state;
	reader.writable = false;
	assert_int_equal(set(reader, F_RDLCK, 3, 4), 0);
	assert_int_equal(set(reader, F_RDLCK, 20, 0), 0);
	assert_int_equal(set(by(1, 2), F_WRLCK, 10, 1), 0);
	assert_int_equal(locks_count(locks), 1);
	assert_int_equal(fcntl(command, F_OFD_GETLK, &wanted), 0);
	assert_int_equal(wanted.l_type, F_RDLCK);
	assert_int_equal(wanted.l_start, 3);
	assert_int_equal(wanted.l_len, 4);
	assert_int_equal(set_as_command(F_WRLCK, 1 << 20, 1), -EAGAIN);
	assert_int_equal(set_as_command(F_RDLCK, 10, 1), -EAGAIN);
	assert_true(locks_drop_handle(locks, FILE_ID, 2));
}

static void the_one_in_the_way_is_named(void **state)
{
	struct lock_request asker = by(2, 2);
	struct flock wanted = range(F_RDLCK, 0, 0);

	(void)state;
	assert_int_equal(set(by(1, 1), F_WRLCK, 5, 5), 0);
	assert_int_equal(locks_get(locks, &asker, &wanted), 0);
	assert_int_equal(wanted.l_type, F_WRLCK);
	assert_int_equal(wanted.l_start, 5);
	assert_int_equal(wanted.l_len, 5);
	assert_int_equal(wanted.l_pid, getpid());
	assert_true(locks_drop_owner(locks, FILE_ID, 1));
	wanted = range(F_WRLCK, 0, 0);
	assert_int_equal(locks_get(locks, &asker, &wanted), 0);
	assert_int_equal(wanted.l_type, F_UNLCK);
}

static void there_are_only_so_many(void **state)
{
	(void)state;
	for (uint64_t i = 1; i <= MAX; i++)
		assert_int_equal(set(by(i, i), F_RDLCK, 0, 1), 0);
	assert_int_equal(set(by(MAX + 1, MAX + 1), F_RDLCK, 0, 1), -ENOLCK);
	assert_true(locks_drop_handle(locks, FILE_ID, 1));
	assert_int_equal(set(by(MAX + 1, MAX + 1), F_RDLCK, 0, 1), 0);
	for (uint64_t i = 2; i <= MAX + 1; i++)
		assert_true(locks_drop_owner(locks, FILE_ID, i));
}

static void a_file_without_one_gets_one(void **state)
{
	struct lock_request one = by(1, 1), other = by(2, 2);

	(void)state;
	one.fd = other.fd = -1;
	assert_int_equal(set(one, F_WRLCK, 0, 0), 0);
	assert_int_equal(set(other, F_RDLCK, 0, 1), -EAGAIN);
	assert_int_equal(set_as_command(F_WRLCK, 0, 0), 0);
	assert_int_equal(set_as_command(F_UNLCK, 0, 0), 0);
	assert_true(locks_drop_owner(locks, FILE_ID, 1));
	assert_int_equal(set(other, F_RDLCK, 0, 1), 0);
	assert_true(locks_drop_handle(locks, FILE_ID, 2));
}

static pid_t ended_process(void)
{
	pid_t pid = fork();
	siginfo_t info;

	if (pid == 0)
		_exit(0);
	waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT);
	return pid;
}

static void a_process_that_has_ended_holds_nothing(void **state)
{
	struct lock_request ended = by(1, 1), told = by(2, 2), shared = by(3, 3);
	pid_t pid = ended_process();

	(void)state;
	ended.closes_unseen = shared.closes_unseen = true;
	assert_int_equal(set(shared, F_WRLCK, 20, 1), 0);
	ended.pid = told.pid = shared.pid = pid;
	assert_int_equal(set(shared, F_WRLCK, 21, 1), 0);
	assert_int_equal(set(ended, F_WRLCK, 0, 1), 0);
	assert_int_equal(set(told, F_WRLCK, 10, 1), 0);
	assert_true(locks_drop_ended(locks, FILE_ID));
	assert_false(locks_drop_ended(locks, FILE_ID));
	assert_int_equal(set_as_command(F_RDLCK, 0, 1), 0);
	assert_int_equal(set_as_command(F_RDLCK, 10, 1), -EAGAIN);
	assert_int_equal(set_as_command(F_RDLCK, 20, 1), -EAGAIN);
	assert_true(locks_drop_owner(locks, FILE_ID, 2));
	assert_true(locks_drop_owner(locks, FILE_ID, 3));
	waitpid(pid, NULL, 0);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(owners_exclude_each_other),
		TEST(an_open_file_takes_all_along),
		TEST(what_reads_comes_to_write),
		TEST(the_one_in_the_way_is_named),
		TEST(there_are_only_so_many),
		TEST(a_file_without_one_gets_one),
		TEST(a_process_that_has_ended_holds_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
