// What a driver says, right and wrong: tabs, lines, answers to nobody. Nothing of it may do harm.
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "common/buf.h"
#include "kernels/browser/browser_internal.h"

static void no_log(void *arg, const char *format, ...)
{
	(void)arg;
	(void)format;
}

static int set_up(void **state)
{
	const struct browser_config config = {.log = no_log};
	struct browser *b;

	if (browser_open(&config, &b, NULL) < 0)
		return -1;
	*state = b;
	return 0;
}

static int tear_down(void **state)
{
	struct browser *b = *state;

	while (!list_empty(&b->pages))
		browser_page_remove(b, list_entry(b->pages.next, struct browser_page, link));
	close(b->null_fd);
	free(b->about);
	free(b);
	return 0;
}

/* A frame of pairs name, value, up to NULL. */
static void say(struct browser *b, enum browser_frame_type type, uint32_t number, ...)
{
	struct buf bytes auto_buf = {0};
	struct kernel_frame frame;
	size_t start = browser_frame_begin(&bytes, type, number);
	const char *name;
	va_list args;

	va_start(args, number);
	while ((name = va_arg(args, const char *))) {
		const char *value = va_arg(args, const char *);

		kernel_wire_add(&bytes, name, value, strlen(value));
	}
	va_end(args);
	kernel_wire_end(&bytes, start);
	assert_true(kernel_wire_frame(bytes.data, bytes.len, &frame) > 0);
	browser_frame(b, &frame);
}

static void test_tabs(void **state)
{
	struct browser *b = *state;

	say(b, BROWSER_TAB, 1, "url", "http://a/", "title", "A\nB", "status", "200", NULL);
	say(b, BROWSER_TAB, 2, "opener", "1", NULL);
	assert_int_equal(b->active, 1);
	assert_string_equal(browser_page_find(b, 1)->title, "A");
	say(b, BROWSER_TAB, 2, "active", "1", NULL);
	assert_int_equal(b->active, 2);
	say(b, BROWSER_TAB, 2, "closed", "1", NULL);
	assert_int_equal(b->active, 1);
	say(b, BROWSER_TAB, 2, "url", "again", NULL);
	assert_null(browser_page_find(b, 2));
	say(b, BROWSER_TAB, UINT32_MAX, "url", "x", NULL);
	say(b, BROWSER_TAB, 0, "url", "x", NULL);
	assert_int_equal(b->pages_len, 1);
}

static void test_too_many_tabs(void **state)
{
	struct browser *b = *state;

	for (uint32_t i = 1; i < 3000; i++)
		say(b, BROWSER_TAB, i, "url", "x", NULL);
	assert_true(b->pages_len <= 1000);
}

static void test_lines(void **state)
{
	struct browser *b = *state;
	const struct buf *lines;
	char long_line[1001] = "";

	memset(long_line, 'x', 1000);
	say(b, BROWSER_TAB, 1, NULL);
	lines = &browser_page_find(b, 1)->lines[BROWSER_CONSOLE];
	say(b, BROWSER_LINE, 1, "kind", "console", "text", "{}", NULL);
	say(b, BROWSER_LINE, 1, "kind", "console", "text", "two\nlines", NULL);
	say(b, BROWSER_LINE, 1, "kind", "nonsense", "text", "{}", NULL);
	say(b, BROWSER_LINE, 7, "kind", "console", "text", "{}", NULL);
	say(b, BROWSER_LINE, 1, "kind", "console", NULL);
	assert_string_equal(buf_text(lines), "{}\n");
	for (int i = 0; i < 1000; i++)
		say(b, BROWSER_LINE, 1, "kind", "console", "text", long_line, NULL);
	assert_true(lines->len > 100000 && lines->len <= 256 * 1024);
	assert_int_equal(lines->len % 1001, 0);
}

static void test_nonsense(void **state)
{
	struct browser *b = *state;

	say(b, BROWSER_ANSWER, 99, "errno", "EINVAL", NULL);
	say(b, BROWSER_DATA, 99, "data", "x", NULL);
	say(b, BROWSER_STATE, 0, "state", "{", NULL);
	say(b, BROWSER_STATE, 0, "state", "[]", NULL);
	say(b, BROWSER_STATE, 0, "state", "", NULL);
	say(b, BROWSER_LOG, 0, NULL);
	say(b, BROWSER_LOG, 0, "text", "\033[31m", NULL);
	say(b, (enum browser_frame_type)200, 0, NULL);
	assert_int_equal(b->state, BROWSER_STOPPED);
	assert_null(b->about);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_tabs, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_too_many_tabs, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_lines, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_nonsense, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
