// What the proxy of net=proxy makes of requests, and whom its rules let through.
#include <arpa/inet.h>
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "runner/net/proxy_request.h"
#include "runner/net/proxy_rules.h"

static int parse(const char *text, struct proxy_request *ret)
{
	struct fail f = {0};
	int status = proxy_request_parse(text, strlen(text), ret, &f);

	assert_true(!status == !*f.text);
	return status;
}

static void gives(const char *text, const char *host, unsigned port, const char *head)
{
	struct proxy_request r;

	assert_int_equal(parse(text, &r), 0);
	assert_string_equal(r.host, host);
	assert_int_equal(r.port, port);
	assert_string_equal(buf_text(&r.head), head);
	proxy_request_clear(&r);
}

static void refused(const char *text, int status)
{
	struct proxy_request r;

	assert_int_equal(parse(text, &r), status);
	assert_null(r.head.data);
}

static void test_requests(void **state)
{
	(void)state;
	gives("CONNECT Example.ORG.:443 HTTP/1.1\r\nHost: other\r\n\r\n", "example.org", 443, "");
	gives("CONNECT [::1]:443 HTTP/1.1\r\n\r\n", "::1", 443, "");
	gives("GET http://a.b/c?d HTTP/1.1\r\nHost: other\r\nProxy-Connection: keep-alive\r\n"
	      "Connection: keep-alive\r\nUpgrade: h2c\r\nAccept:  */* \r\n\r\n",
		"a.b", 80,
		"GET /c?d HTTP/1.1\r\nHost: a.b\r\nAccept: */*\r\nConnection: close\r\n\r\n");
	gives("get HTTP://a.b:8080 HTTP/1.0\r\n\r\n", "a.b", 8080,
		"get / HTTP/1.1\r\nHost: a.b:8080\r\nConnection: close\r\n\r\n");
	gives("GET http://a.b?q#f HTTP/1.1\r\n\r\n", "a.b", 80,
		"GET /?q HTTP/1.1\r\nHost: a.b\r\nConnection: close\r\n\r\n");
	gives("GET http://[2001:DB8::1]:81/ HTTP/1.1\r\n\r\n", "2001:db8::1", 81,
		"GET / HTTP/1.1\r\nHost: [2001:db8::1]:81\r\nConnection: close\r\n\r\n");
}

static void test_bodies(void **state)
{
	struct proxy_request r;

	(void)state;
	assert_int_equal(parse("POST http://a/ HTTP/1.1\r\nContent-Length: 12\r\n\r\n", &r), 0);
	assert_int_equal(r.body_len, 12);
	proxy_request_clear(&r);
	assert_int_equal(parse("GET http://a/ HTTP/1.1\r\n\r\n", &r), 0);
	assert_int_equal(r.body_len, 0);
	proxy_request_clear(&r);
	assert_int_equal(
		parse("POST http://a/ HTTP/1.1\r\nTransfer-Encoding: Chunked\r\n\r\n", &r), 0);
	assert_int_equal(r.body_len, UINT64_MAX);
	proxy_request_clear(&r);
}

static void test_bad_requests(void **state)
{
	static const char *const bad[] = {"\r\n\r\n", "x\r\n\r\n", "GET / HTTP/1.1\r\n\r\n",
		"GET * HTTP/1.1\r\n\r\n", "GET https://a/ HTTP/1.1\r\n\r\n",
		"GET http://a/ HTTP/2\r\n\r\n", "GET http://a/\r\n\r\n",
		"GET  http://a/ HTTP/1.1\r\n\r\n", "GET http:// HTTP/1.1\r\n\r\n",
		"GET http://a:0/ HTTP/1.1\r\n\r\n", "GET http://a:65536/ HTTP/1.1\r\n\r\n",
		"GET http://a:80x/ HTTP/1.1\r\n\r\n", "GET http://u@a/ HTTP/1.1\r\n\r\n",
		"GET http://a\\b/ HTTP/1.1\r\n\r\n", "GET http://a%2e/ HTTP/1.1\r\n\r\n",
		"GET http://[::1/ HTTP/1.1\r\n\r\n", "GET http://[x]/ HTTP/1.1\r\n\r\n",
		"CONNECT a HTTP/1.1\r\n\r\n", "CONNECT :443 HTTP/1.1\r\n\r\n",
		"CONNECT a:443/x HTTP/1.1\r\n\r\n", "CONNECT http://a:443 HTTP/1.1\r\n\r\n",
		"GET http://a/ HTTP/1.1\r\n folded: x\r\n\r\n",
		"GET http://a/ HTTP/1.1\r\nno colon\r\n\r\n",
		"GET http://a/ HTTP/1.1\r\nspace : x\r\n\r\n",
		"GET http://a/ HTTP/1.1\r\nx: \x01\r\n\r\n",
		"GET http://a/ HTTP/1.1\r\nx: a\nb: c\r\n\r\n",
		"GET http://a/ HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 1\r\n\r\n",
		"GET http://a/ HTTP/1.1\r\nContent-Length: -1\r\n\r\n",
		"GET http://a/ HTTP/1.1\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n",
		"GET http://a/ HTTP/1.1\r\nTransfer-Encoding: gzip, chunked\r\n\r\n"};

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		refused(bad[i], 400);
	refused("GET ftp://a/ HTTP/1.1\r\n\r\n", 501);
	refused("TRACE http://a/ HTTP/1.1\r\n\r\n", 405);
}

static void test_head_len(void **state)
{
	(void)state;
	assert_int_equal(proxy_request_head_len("a\r\n\r\nb", 6), 5);
	assert_int_equal(proxy_request_head_len("a\r\n\r", 4), 0);
	assert_int_equal(proxy_request_head_len("", 0), 0);
}

static void test_web(void **state)
{
	(void)state;
	assert_int_equal(proxy_request_is_web("\x16\x03\x01\x02", 4), 0);
	assert_int_equal(proxy_request_is_web("\x16\x03", 2), -EAGAIN);
	assert_int_equal(proxy_request_is_web("\x16\x02\x01", 3), -EPROTO);
	assert_int_equal(proxy_request_is_web("\x16\x03\x09", 3), -EPROTO);
	assert_int_equal(proxy_request_is_web("", 0), -EAGAIN);
	assert_int_equal(proxy_request_is_web("GE", 2), -EAGAIN);
	assert_int_equal(proxy_request_is_web("GET /", 5), 0);
	assert_int_equal(proxy_request_is_web("SSH-2.0", 7), -EPROTO);
	assert_int_equal(proxy_request_is_web("EHLO\r\n", 6), -EPROTO);
	assert_int_equal(proxy_request_is_web(" GET", 4), -EPROTO);
	assert_int_equal(proxy_request_is_web("\0\0\0\x08", 4), -EPROTO);
	assert_int_equal(proxy_request_is_web("ABCDEFGHIJKLMNOPQRSTUVWXYZ", 26), -EPROTO);
}

static void test_hosts(void **state)
{
	struct proxy_rules *rules;

	(void)state;
	assert_int_equal(
		proxy_rules_new("One.org:*.two.org:.three.org:four.org=8443:10.0.0.5", &rules), 0);
	assert_int_equal(proxy_rules_host(rules, "one.org", 443), PROXY_HTTP);
	assert_int_equal(proxy_rules_host(rules, "one.org", 8080), PROXY_HTTP);
	assert_int_equal(proxy_rules_host(rules, "one.org", 25), PROXY_REFUSED);
	assert_int_equal(proxy_rules_host(rules, "www.one.org", 443), PROXY_REFUSED);
	assert_int_equal(proxy_rules_host(rules, "xone.org", 443), PROXY_REFUSED);
	assert_int_equal(proxy_rules_host(rules, "a.b.two.org", 443), PROXY_HTTP);
	assert_int_equal(proxy_rules_host(rules, "two.org", 443), PROXY_REFUSED);
	assert_int_equal(proxy_rules_host(rules, "xtwo.org", 443), PROXY_REFUSED);
	assert_int_equal(proxy_rules_host(rules, ".two.org", 443), PROXY_REFUSED);
	assert_int_equal(proxy_rules_host(rules, "a.three.org", 443), PROXY_HTTP);
	assert_int_equal(proxy_rules_host(rules, "four.org", 8443), PROXY_ANY);
	assert_int_equal(proxy_rules_host(rules, "four.org", 443), PROXY_REFUSED);
	assert_int_equal(proxy_rules_host(rules, "10.0.0.5", 80), PROXY_HTTP);
	proxy_rules_free(rules);
	assert_int_equal(proxy_rules_new(NULL, &rules), 0);
	assert_int_equal(proxy_rules_host(rules, "one.org", 443), PROXY_REFUSED);
	proxy_rules_free(rules);
}

static void test_bad_hosts(void **state)
{
	static const char *const bad[] = {
		"", ":", "a:", "*", "*.", ".", "a=", "a=0", "a=65536", "a=x", "=1", "*a"};
	struct proxy_rules *rules;

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		int r = proxy_rules_new(bad[i], &rules);

		if (r == 0) {
			/* "*a" is a name that no host has. */
			assert_string_equal(bad[i], "*a");
			proxy_rules_free(rules);
		}
	}
}

static void set(const char *text, struct sockaddr_in6 *ret)
{
	struct sockaddr_in *v4 = (struct sockaddr_in *)ret;

	*ret = (struct sockaddr_in6){.sin6_family = AF_INET6};
	if (inet_pton(AF_INET6, text, &ret->sin6_addr) == 1)
		return;
	v4->sin_family = AF_INET;
	assert_int_equal(inet_pton(AF_INET, text, &v4->sin_addr), 1);
}

static void test_addresses(void **state)
{
	static const char *const special[] = {"127.0.0.1", "127.8.8.8", "0.0.0.0", "10.1.2.3",
		"172.16.0.1", "172.31.255.255", "192.168.1.1", "169.254.169.254", "100.64.0.1",
		"224.0.0.1", "255.255.255.255", "198.18.0.1", "::", "::1", "fe80::1", "fc00::1",
		"fd12::1", "ff02::1", "::ffff:127.0.0.1", "::ffff:10.0.0.1", "64:ff9b::7f00:1",
		"2002:7f00:1::", "2001:0:4136::1", "2001:db8::1", "::127.0.0.1"};
	static const char *const plain[] = {"1.1.1.1", "172.32.0.1", "172.15.0.1", "100.128.0.1",
		"9.255.255.255", "11.0.0.0", "2606:4700::1111", "::ffff:1.1.1.1"};
	struct proxy_rules *rules;
	struct sockaddr_in6 address;

	(void)state;
	assert_int_equal(proxy_rules_new("localhost:10.1.2.3", &rules), 0);
	for (size_t i = 0; i < sizeof(special) / sizeof(special[0]); i++) {
		set(special[i], &address);
		if (!proxy_rules_is_special((struct sockaddr *)&address))
			fail_msg("%s", special[i]);
	}
	for (size_t i = 0; i < sizeof(plain) / sizeof(plain[0]); i++) {
		set(plain[i], &address);
		if (proxy_rules_is_special((struct sockaddr *)&address))
			fail_msg("%s", plain[i]);
	}
	set("10.1.2.3", &address);
	assert_true(proxy_rules_address(rules, (struct sockaddr *)&address));
	set("10.1.2.4", &address);
	assert_false(proxy_rules_address(rules, (struct sockaddr *)&address));
	set("127.0.0.1", &address);
	assert_true(proxy_rules_address(rules, (struct sockaddr *)&address));
	set("::1", &address);
	assert_true(proxy_rules_address(rules, (struct sockaddr *)&address));
	set("127.0.0.2", &address);
	assert_false(proxy_rules_address(rules, (struct sockaddr *)&address));
	proxy_rules_free(rules);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_requests),
		cmocka_unit_test(test_bodies),
		cmocka_unit_test(test_bad_requests),
		cmocka_unit_test(test_head_len),
		cmocka_unit_test(test_web),
		cmocka_unit_test(test_hosts),
		cmocka_unit_test(test_bad_hosts),
		cmocka_unit_test(test_addresses),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
