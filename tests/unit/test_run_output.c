// Output that a thread writes: it reads as what was added at any time, and so do the files.
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "common/scope.h"
#include "runner/runs/run_output.h"

#define LEN 300000
#define ROUNDS 12

static char folder[] = "/tmp/test_run_output.XXXXXX";
static char data[2][LEN];
static struct loop *loop;
static int dir_fd;
static unsigned written;

static int set_up(void **state)
{
	(void)state;
	for (int i = 0; i < LEN; i++) {
		data[0][i] = (char)(i * 7 + i / 251);
		data[1][i] = (char)(i * 13 + i / 241);
	}
	if (!mkdtemp(folder) || loop_new(&loop) < 0)
		return -1;
	dir_fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return dir_fd < 0 ? -1 : 0;
}

static int tear_down(void **state)
{
	(void)state;
	loop_free(loop);
	close(dir_fd);
	return rmdir(folder);
}

static void note(struct run_output *o)
{
	(void)o;
	written++;
}

static void begin(struct run_output *o, uint64_t *slow_until_usec)
{
	run_output_init(o, dir_fd, 1, 64 << 20);
	o->loop = loop;
	o->slow_until_usec = slow_until_usec;
	o->written = note;
}

/* What was added: stdout and stderr in turns. */
static void is(struct run_output *o, enum run_stream stream, int rounds)
{
	static char got[2 * LEN * ROUNDS];
	size_t at = 0;
	ssize_t n = run_output_read(o, stream, got, sizeof(got), 0);

	for (int i = 0; i < rounds; i++) {
		if (stream == RUN_OUTPUT || i % 2 == (int)stream) {
			assert_true(at + LEN <= (size_t)n);
			assert_memory_equal(got + at, data[i % 2], LEN);
			at += LEN;
		}
	}
	assert_int_equal(n, at);
}

static void a_thread_writes(void **state)
{
	uint64_t slow = UINT64_MAX;
	struct run_output o;
	struct run_output_mark mark;
	bool behind = false;

	(void)state;
	begin(&o, &slow);
	for (int i = 0; i < ROUNDS; i++) {
		assert_int_equal(run_output_add(&o, i % 2, data[i % 2], LEN), 0);
		for (int stream = 0; stream < 3; stream++)
			is(&o, (enum run_stream)stream, i + 1);
		behind = behind || run_output_is_behind(&o);
	}
	assert_true(behind);
	run_output_mark(&o, &mark);
	assert_false(run_output_is_stored(&o, &mark));
	run_output_flush(&o);
	assert_true(run_output_is_stored(&o, &mark));
	assert_false(run_output_is_behind(&o));
	assert_int_equal(o.stored[RUN_STDOUT], LEN * ROUNDS / 2);
	assert_int_equal(o.stored[RUN_OUTPUT], LEN * ROUNDS);
	for (int stream = 0; stream < 3; stream++)
		is(&o, (enum run_stream)stream, ROUNDS);
	run_output_settle(&o);
	is(&o, RUN_OUTPUT, ROUNDS);
	run_output_remove(&o);
}

/* By the loop, one piece after the other, until nothing waits. */
static void stop_when_stored(struct run_output *o)
{
	written++;
	if (!o->job)
		loop_stop(loop);
}

static void the_loop_is_told(void **state)
{
	uint64_t slow = UINT64_MAX;
	struct run_output o;

	(void)state;
	begin(&o, &slow);
	o.written = stop_when_stored;
	written = 0;
	for (int i = 0; i < ROUNDS; i++)
		assert_int_equal(run_output_add(&o, i % 2, data[i % 2], LEN), 0);
	assert_int_equal(loop_run(loop, 1), 0);
	assert_true(written >= 2);
	assert_int_equal(o.stored[RUN_STDERR], LEN * ROUNDS / 2);
	is(&o, RUN_OUTPUT, ROUNDS);
	run_output_remove(&o);
}

/* What a file does not take: a little of it is kept, and told as dropped. */
static void the_disk_refuses(void **state)
{
	const struct rlimit low = {2 * LEN, RLIM_INFINITY}, high = {RLIM_INFINITY, RLIM_INFINITY};
	uint64_t slow = UINT64_MAX;
	struct run_output o;
	static char got[LEN * 5];

	(void)state;
	signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &low), 0);
	begin(&o, &slow);
	for (int i = 0; i < 4; i++)
		run_output_add(&o, RUN_STDOUT, data[0], LEN);
	run_output_flush(&o);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &high), 0);
	assert_true(o.dropped);
	assert_int_equal(o.total[RUN_STDOUT], 4 * LEN);
	assert_int_equal(o.stored[RUN_STDOUT], 2 * LEN);
	assert_true(o.kept[RUN_STDOUT] >= 2 * LEN && o.kept[RUN_STDOUT] < 3 * LEN);
	assert_int_equal(o.kept[RUN_OUTPUT], o.kept[RUN_STDOUT]);
	assert_int_equal(run_output_read(&o, RUN_STDOUT, got, sizeof(got), 0), o.kept[RUN_STDOUT]);
	assert_memory_equal(got + LEN, data[0], LEN);
	assert_memory_equal(got + 2 * LEN, data[0], o.kept[RUN_STDOUT] - 2 * LEN);
	run_output_remove(&o);
}

static void a_quick_disk_needs_none(void **state)
{
	uint64_t slow = 0;
	struct run_output o;

	(void)state;
	begin(&o, &slow);
	o.loop = NULL;
	for (int i = 0; i < ROUNDS; i++)
		assert_int_equal(run_output_add(&o, i % 2, data[i % 2], LEN), 0);
	assert_null(o.job);
	is(&o, RUN_OUTPUT, ROUNDS);
	run_output_remove(&o);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_thread_writes),
		cmocka_unit_test(the_disk_refuses),
		cmocka_unit_test(a_quick_disk_needs_none),
		cmocka_unit_test(the_loop_is_told),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
