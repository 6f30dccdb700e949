// Lines of the kernel's table of TCP sockets: which are servers, and where they are reached.
#include <arpa/inet.h>
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "runner/net/port_scan.h"

#define REST " 00000000:00000000 00:00000000 00000000  0  0 4711 1 0000 100 0 0 10 0"
#define ANY4 " 00000000:0000 "
#define ANY6 " 00000000000000000000000000000000:0000 "

/* In the byte order of the kernel's words. */
static void v4_line(char *text, size_t size, const char *address, const char *state)
{
	snprintf(text, size, "   0: %08X:1F90" ANY4 "%s" REST, inet_addr(address), state);
}

static void v6_line(char *text, size_t size, const char *address)
{
	uint32_t words[4];

	assert_int_equal(inet_pton(AF_INET6, address, words), 1);
	snprintf(text, size, " 12: %08X%08X%08X%08X:1F90" ANY6 "0A" REST, words[0], words[1],
		words[2], words[3]);
}

static void reached_at(const char *line, bool is_v6, const char *wanted)
{
	struct port_found found;
	char text[INET6_ADDRSTRLEN];

	assert_int_equal(port_scan_parse(line, is_v6, &found), 1);
	assert_int_equal(found.port, 8080);
	assert_int_equal(found.inode, 4711);
	if (found.address.any.sa_family == AF_INET)
		inet_ntop(AF_INET, &found.address.v4.sin_addr, text, sizeof(text));
	else
		inet_ntop(AF_INET6, &found.address.v6.sin6_addr, text, sizeof(text));
	assert_string_equal(text, wanted);
	assert_int_equal(found.address.v4.sin_port, htons(8080));
}

static void test_addresses(void **state)
{
	char line[256];

	(void)state;
	v4_line(line, sizeof(line), "0.0.0.0", "0A");
	reached_at(line, false, "127.0.0.1");
	v4_line(line, sizeof(line), "127.0.0.5", "0A");
	reached_at(line, false, "127.0.0.5");
	v6_line(line, sizeof(line), "::");
	reached_at(line, true, "::1");
	v6_line(line, sizeof(line), "fd00::7");
	reached_at(line, true, "fd00::7");
	v6_line(line, sizeof(line), "::ffff:127.0.0.1");
	reached_at(line, true, "127.0.0.1");
}

static void test_others(void **state)
{
	struct port_found found;
	char line[256];

	(void)state;
	assert_int_equal(port_scan_parse("  sl  local_address rem_address", false, &found), 0);
	assert_int_equal(port_scan_parse("", false, &found), 0);
	assert_int_equal(port_scan_parse("0: zz", true, &found), 0);
	v4_line(line, sizeof(line), "127.0.0.1", "01");
	assert_int_equal(port_scan_parse(line, false, &found), -ENODATA);
	v4_line(line, sizeof(line), "127.0.0.1", "0A");
	assert_int_equal(port_scan_parse(line, true, &found), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_addresses),
		cmocka_unit_test(test_others),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
