// Attributes that the kernel does not know yet when it is told to drop them: over a real directory, with
// a kernel that is made up here.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "common/scope.h"
#include "fs/files/files_impl.h"

#define MANY 1000
#define LONG_TRIES 40

static char folder[64];
static int tree = -1;
static struct files *files;

static struct {
	bool has_answers; /* what was looked up has come in */
	bool is_called_locked;
	unsigned calls;
	bool dropped[MANY]; /* by node, in the order of their lookups */
} kernel;

/* Linked instead of libfuse's: see tests.mk. */
int __wrap_fuse_session_fd(struct fuse_session *session);
int __wrap_fuse_lowlevel_notify_inval_inode(
	struct fuse_session *session, fuse_ino_t ino, off_t off, off_t len);

/* There are no epochs. */
int __wrap_fuse_session_fd(struct fuse_session *session)
{
	(void)session;
	return -1;
}

int __wrap_fuse_lowlevel_notify_inval_inode(
	struct fuse_session *session, fuse_ino_t ino, off_t off, off_t len)
{
	pthread_mutex_t *lock = &files->cache.missed.lock;

	(void)session;
	(void)off;
	(void)len;
	kernel.calls++;
	if (pthread_mutex_trylock(lock) == 0)
		pthread_mutex_unlock(lock);
	else
		kernel.is_called_locked = true;
	if (!kernel.has_answers)
		return -ENOENT;
	kernel.dropped[ino - FILES_ROOT - 1] = true;
	return 0;
}

static int make_files(void **state)
{
	struct files_config config = {.root_ino = FILES_ROOT, .max_fds = 8};
	struct fail f = {0};

	(void)state;
	snprintf(folder, sizeof(folder), "/tmp/test_files_missed.XXXXXX");
	if (!mkdtemp(folder))
		return -1;
	tree = open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC);
	config.tree_fd = tree;
	if (files_new(&config, &files, &f) < 0)
		return -1;
	files_cache_start(files, (struct fuse_session *)&kernel);
	memset(&kernel, 0, sizeof(kernel));
	return 0;
}

static void name_of(unsigned i, char ret[16])
{
	snprintf(ret, 16, "f%u", i);
}

static int remove_files(void **state)
{
	char name[16];

	(void)state;
	files_free(files);
	for (unsigned i = 0; i < MANY; i++) {
		name_of(i, name);
		unlinkat(tree, name, 0);
	}
	close(tree);
	return rmdir(folder);
}

/* The i-th file is made and looked up: the kernel is sent attributes to keep. */
static uint64_t look_up(unsigned i)
{
	auto_use struct node_use dir = {0};
	struct files_name name = {.dir = &dir, .parent = FILES_ROOT};
	struct fuse_entry_param entry;
	char text[16];

	name_of(i, text);
	close(openat(tree, text, O_WRONLY | O_CREAT | O_CLOEXEC, 0644));
	assert_int_equal(node_table_use(files->nodes, FILES_ROOT, &dir), 0);
	name.name = text;
	name.term = files_cache_begin(files, FILES_ROOT, &dir, true);
	assert_int_equal(files_enter(files, &name, &entry), 0);
	assert_true(entry.attr_timeout > 0);
	assert_int_equal(entry.ino, FILES_ROOT + 1 + i);
	return entry.ino;
}

static struct itimerspec timer(void)
{
	struct itimerspec time;

	assert_int_equal(timerfd_gettime(files_missed_fd(files), &time), 0);
	return time;
}

static bool is_ready(int timeout_msec)
{
	struct pollfd poller = {.fd = files_missed_fd(files), .events = POLLIN};

	return poll(&poller, 1, timeout_msec) == 1;
}

static bool is_timed(void)
{
	struct itimerspec time = timer();

	return time.it_value.tv_sec || time.it_value.tv_nsec || is_ready(0);
}

static bool is_something_left(void)
{
	unsigned calls = kernel.calls;

	files_missed_retry(files);
	return kernel.calls != calls;
}

static unsigned count_dropped(void)
{
	unsigned n = 0;

	for (unsigned i = 0; i < MANY; i++)
		n += kernel.dropped[i];
	return n;
}

static void test_however_many_there_are(void **state)
{
	(void)state;
	for (unsigned i = 0; i < MANY; i++)
		look_up(i);
	files_cache_renew(files);
	assert_int_equal(kernel.calls, MANY);
	kernel.has_answers = true;
	assert_true(is_ready(20000));
	files_missed_retry(files);
	assert_int_equal(count_dropped(), MANY);
	assert_false(is_something_left());
}

static void test_however_long_it_takes(void **state)
{
	(void)state;
	look_up(0);
	files_cache_renew(files);
	for (unsigned i = 0; i < LONG_TRIES; i++) {
		files_missed_retry(files);
		assert_true(is_timed());
		assert_true(timer().it_value.tv_sec < 10);
	}
	kernel.has_answers = true;
	files_missed_retry(files);
	assert_int_equal(count_dropped(), 1);
	assert_false(is_something_left());
}

/* An answer from before the change may come in after the one from behind it, which is thrown away then. */
static void test_a_new_answer_does_not_end_it(void **state)
{
	(void)state;
	look_up(0);
	files_cache_renew(files);
	look_up(0);
	kernel.has_answers = true;
	files_missed_retry(files);
	assert_int_equal(count_dropped(), 1);
}

static void test_until_it_is_forgotten(void **state)
{
	uint64_t ino;

	(void)state;
	ino = look_up(0);
	files_cache_renew(files);
	files_forget(files, ino, 1);
	files_missed_retry(files);
	assert_int_equal(kernel.calls, 1);
	assert_false(is_something_left());
}

static void test_another_one_puts_nothing_off(void **state)
{
	struct itimerspec before, after;

	(void)state;
	for (unsigned i = 0; i < 2; i++)
		look_up(i);
	files_cache_forget_attr(files, FILES_ROOT + 1);
	before = timer();
	files_cache_forget_attr(files, FILES_ROOT + 2);
	after = timer();
	assert_true(after.it_value.tv_nsec <= before.it_value.tv_nsec);
	assert_true(is_ready(20000));
}

static void test_the_kernel_is_called_without_a_lock(void **state)
{
	(void)state;
	look_up(0);
	files_cache_renew(files);
	files_missed_retry(files);
	kernel.has_answers = true;
	files_missed_retry(files);
	assert_int_equal(kernel.calls, 3);
	assert_false(kernel.is_called_locked);
}

#define WITH_FILES(test) cmocka_unit_test_setup_teardown(test, make_files, remove_files)

int main(void)
{
	const struct CMUnitTest tests[] = {
		WITH_FILES(test_however_many_there_are),
		WITH_FILES(test_however_long_it_takes),
		WITH_FILES(test_a_new_answer_does_not_end_it),
		WITH_FILES(test_until_it_is_forgotten),
		WITH_FILES(test_another_one_puts_nothing_off),
		WITH_FILES(test_the_kernel_is_called_without_a_lock),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
