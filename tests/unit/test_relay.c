// The relay between two sockets: bytes, ends and resets on both sides, in its own thread.
#include <errno.h>
#include <netinet/in.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "common/loop.h"
#include "common/scope.h"
#include "runner/net/relay.h"

static struct loop *loop;
static struct relay *relay;

/* A pair of connected TCP sockets. */
static void connect_pair(int *one, int *other)
{
	struct sockaddr_in address = {
		.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t len = sizeof(address);
	auto_close int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	assert_int_equal(bind(listener, (struct sockaddr *)&address, len), 0);
	assert_int_equal(listen(listener, 1), 0);
	assert_int_equal(getsockname(listener, (struct sockaddr *)&address, &len), 0);
	*one = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_int_equal(connect(*one, (struct sockaddr *)&address, len), 0);
	*other = accept4(listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	assert_true(*other >= 0);
}

struct joining {
	struct relay_note note;
	int a_fd, b_fd;
	struct buf first;
	uint64_t limit;
};

static void join(struct relay *r, struct relay_note *note)
{
	struct joining *j = container_of(note, struct joining, note);

	relay_join(r, j->a_fd, j->b_fd, &j->first, j->limit, NULL);
	free(j);
}

/* What is written to *a comes out of *b, and the other way. */
static void joined(const char *first, uint64_t limit, int *a, int *b)
{
	struct joining *j = calloc(1, sizeof(*j));

	*j = (struct joining){.note.act = join, .limit = limit};
	buf_add_str(&j->first, first);
	connect_pair(a, &j->a_fd);
	connect_pair(b, &j->b_fd);
	relay_post(relay, &j->note);
}

static void reads(int fd, const char *wanted)
{
	char text[64] = "";
	size_t len = 0;

	while (len < strlen(wanted)) {
		ssize_t n = recv(fd, text + len, strlen(wanted) - len, 0);

		assert_true(n > 0);
		len += (size_t)n;
	}
	assert_string_equal(text, wanted);
}

static void test_bytes_and_ends(void **state)
{
	auto_close int a = -1, b = -1;
	char c;

	(void)state;
	joined("first ", UINT64_MAX, &a, &b);
	assert_int_equal(send(a, "question", 8, 0), 8);
	reads(b, "first question");
	assert_int_equal(shutdown(a, SHUT_WR), 0);
	assert_int_equal(recv(b, &c, 1, 0), 0);
	assert_int_equal(send(b, "answer", 6, 0), 6);
	reads(a, "answer");
	close_fd(&b);
	assert_int_equal(recv(a, &c, 1, 0), 0);
}

static void test_limit(void **state)
{
	auto_close int a = -1, b = -1;
	char c;

	(void)state;
	joined("", 4, &a, &b);
	assert_int_equal(send(a, "bodymore", 8, 0), 8);
	reads(b, "body");
	assert_int_equal(send(b, "answer", 6, 0), 6);
	reads(a, "answer");
	assert_int_equal(recv(b, &c, 1, MSG_DONTWAIT), -1);
	assert_int_equal(errno, EAGAIN);
	/* The end of the answer is the end of both. */
	close_fd(&b);
	while (recv(a, &c, 1, 0) > 0)
		;
}

static void test_reset(void **state)
{
	const struct linger reset = {.l_onoff = 1};
	auto_close int a = -1, b = -1;
	char c;

	(void)state;
	joined("", UINT64_MAX, &a, &b);
	assert_int_equal(send(a, "x", 1, 0), 1);
	reads(b, "x");
	setsockopt(b, SOL_SOCKET, SO_LINGER, &reset, sizeof(reset));
	close_fd(&b);
	assert_int_equal(recv(a, &c, 1, 0), -1);
	assert_int_equal(errno, ECONNRESET);
}

static void test_many_are_ended_with_it(void **state)
{
	int a[100], b[100];
	char c;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(a); i++) {
		joined("x", UINT64_MAX, &a[i], &b[i]);
		reads(b[i], "x");
	}
	assert_true(relay_connections(relay) >= ARRAY_LEN(a));
	relay_free(relay);
	relay = NULL;
	for (size_t i = 0; i < ARRAY_LEN(a); i++) {
		assert_true(recv(a[i], &c, 1, 0) <= 0);
		close(a[i]);
		close(b[i]);
	}
}

static int refuse(void *arg)
{
	(void)arg;
	return -EPERM;
}

static void test_thread_that_cannot_start(void **state)
{
	const struct relay_config config = {.loop = loop, .enter = refuse};
	struct relay *other = NULL;

	(void)state;
	assert_int_equal(relay_new(&config, &other), -EPERM);
	assert_null(other);
}

static int set_up(void **state)
{
	struct relay_config config = {0};

	(void)state;
	if (loop_new(&loop) < 0)
		return -1;
	config.loop = loop;
	return relay_new(&config, &relay);
}

static int tear_down(void **state)
{
	(void)state;
	relay_free(relay);
	loop_free(loop);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_thread_that_cannot_start),
		cmocka_unit_test(test_bytes_and_ends),
		cmocka_unit_test(test_limit),
		cmocka_unit_test(test_reset),
		cmocka_unit_test(test_many_are_ended_with_it),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
