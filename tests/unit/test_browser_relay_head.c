// The relay's check of HTTP heads: who is let through, and what goes inside.
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "common/buf.h"
#include "kernels/browser/browser_relay_head.h"

#define CDP "00112233445566778899aabbccddeeff"
#define LIVE "ffeeddccbbaa99887766554433221100"
#define HOST "Host: 127.0.0.1:4000\r\n"

static const char *const tokens[] = {CDP, LIVE};

static int rewrite(const char *text, struct browser_relay_head *head, struct buf *ret)
{
	*head = (struct browser_relay_head){.port = 4000, .tokens = tokens, .tokens_len = 2};
	return browser_relay_head_rewrite(head, text, strlen(text), ret);
}

static void refused(const char *text, int error)
{
	struct buf out auto_buf = {0};
	struct browser_relay_head head;

	assert_int_equal(rewrite(text, &head, &out), error);
}

static void test_lets_through(void **state)
{
	struct buf out auto_buf = {0};
	struct browser_relay_head head;

	(void)state;
	assert_int_equal(rewrite("GET /" LIVE "/core/rfb.js HTTP/1.1\r\n" HOST
				 "Connection: keep-alive\r\nAccept: */*\r\n\r\n",
				 &head, &out),
		0);
	assert_int_equal(head.door, 1);
	assert_false(head.upgrade);
	assert_string_equal(buf_text(&out),
		"GET /core/rfb.js HTTP/1.1\r\nAccept: */*\r\nHost: 127.0.0.1:4000\r\n"
		"X-Sandpit-Base: 127.0.0.1:4000/" LIVE "\r\nConnection: close\r\n\r\n");
}

static void test_upgrade(void **state)
{
	struct buf out auto_buf = {0};
	struct browser_relay_head head;

	(void)state;
	assert_int_equal(
		rewrite("GET /" CDP "/devtools/browser/1 HTTP/1.1\r\nhost:localhost:4000 \r\n"
			"Upgrade: WebSocket\r\nConnection: Upgrade\r\n\r\n",
			&head, &out),
		0);
	assert_true(head.upgrade);
	assert_non_null(strstr(buf_text(&out), "Connection: Upgrade\r\n"));
	assert_int_equal(head.door, 0);
}

static void test_root_of_the_token(void **state)
{
	struct buf out auto_buf = {0};
	struct browser_relay_head head;

	(void)state;
	assert_int_equal(rewrite("GET /" LIVE " HTTP/1.1\r\n" HOST "\r\n", &head, &out), 0);
	assert_int_equal(strncmp(buf_text(&out), "GET / HTTP/1.1\r\n", 16), 0);
}

static void test_refuses(void **state)
{
	(void)state;
	refused("GET /" CDP "0/ HTTP/1.1\r\n" HOST "\r\n", -EACCES);
	refused("GET /00112233445566778899aabbccddeef0/ HTTP/1.1\r\n" HOST "\r\n", -EACCES);
	refused("GET / HTTP/1.1\r\n" HOST "\r\n", -EACCES);
	refused("GET /" CDP "/ HTTP/1.1\r\n\r\n", -EACCES);
	refused("GET /" CDP "/ HTTP/1.1\r\nHost: 127.0.0.1:4001\r\n\r\n", -EACCES);
	refused("GET /" CDP "/ HTTP/1.1\r\nHost: evil.example:4000\r\n\r\n", -EACCES);
	refused("GET /" CDP "/ HTTP/1.1\r\n" HOST "Host: evil.example\r\n\r\n", -EACCES);
	refused("GET /" CDP "/ HTTP/1.1\r\n" HOST "Origin: http://evil.example\r\n\r\n", -EACCES);
	refused("GET /" CDP "/ HTTP/1.1\r\n" HOST "Origin: null\r\n\r\n", -EACCES);
	refused("POST /" CDP "/ HTTP/1.1\r\n" HOST "\r\n", -EINVAL);
	refused("\r\n\r\n", -EINVAL);
	refused("GET", -EINVAL);
}

static void test_length(void **state)
{
	(void)state;
	assert_int_equal(browser_relay_head_len("GET / HTTP/1.1\r\n", 16), 0);
	assert_int_equal(browser_relay_head_len("GET / HTTP/1.1\r\n\r\nmore", 22), 18);
	assert_int_equal(browser_relay_head_len("", 0), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_lets_through),
		cmocka_unit_test(test_upgrade),
		cmocka_unit_test(test_root_of_the_token),
		cmocka_unit_test(test_refuses),
		cmocka_unit_test(test_length),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
