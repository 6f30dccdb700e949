// Executions on disk: streams, results that change, errors, and the document of all of it.
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "common/json_in.h"
#include "common/scope.h"
#include "kernels/cell.h"

struct fixture {
	char path[64];
	int dir_fd;
	struct cells cells;
	struct cell *cell;
};

static int set_up(void **state)
{
	struct fixture *fixture = calloc(1, sizeof(*fixture));

	snprintf(fixture->path, sizeof(fixture->path), "/tmp/test_cell.XXXXXX");
	if (!mkdtemp(fixture->path))
		return -1;
	fixture->dir_fd = open(fixture->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (cells_open(&fixture->cells, fixture->dir_fd, 4096) < 0)
		return -1;
	if (cell_new(&fixture->cells, "1 + 1", 5, &fixture->cell) < 0)
		return -1;
	fixture->cell->language = "python";
	fixture->cell->count = 1;
	cell_begin(fixture->cell);
	*state = fixture;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *fixture = *state;

	if (fixture->cell)
		cell_free(fixture->cell);
	cells_close(&fixture->cells);
	/* Nothing of an execution is left behind. */
	int r = unlinkat(fixture->dir_fd, "code", AT_REMOVEDIR);
	close(fixture->dir_fd);
	r |= rmdir(fixture->path);
	free(fixture);
	return r;
}

static int add(struct cell *cell, const char *mime, const char *text, const char *display,
	enum kernel_frame_type type)
{
	struct buf data auto_buf = {0};
	struct kernel_frame frame;
	size_t start = kernel_wire_begin(&data, type, 1);

	if (display)
		kernel_wire_add(&data, "@id", display, strlen(display));
	kernel_wire_add(&data, mime, text, strlen(text));
	kernel_wire_end(&data, start);
	assert_true(kernel_wire_frame(data.data, data.len, &frame) > 0);
	if (type == KERNEL_UPDATE)
		return cell_update_result(
			cell_find_display(cell, display, strlen(display)), &frame);
	return cell_add_result(cell, &frame);
}

static struct json_object *document(struct cell *cell)
{
	struct buf text auto_buf = {0};
	struct json_object *object = NULL;
	struct fail f = {0};

	assert_int_equal(cell_result_json(cell, &text), 0);
	if (json_in_parse(text.data, text.len, &object, &f) < 0)
		fail_msg("%s in %s", f.text, text.data);
	return object;
}

static const char *text_of(const struct json_object *object)
{
	return json_in_text(object, NULL);
}

static void all_is_in_the_document(void **state)
{
	struct cell *cell = ((struct fixture *)*state)->cell;
	struct json_object *object auto_call(json_in_free) = NULL;

	cell_output(cell, RUN_STDOUT, "a\nb", 3);
	cell_output(cell, RUN_STDERR, "\xff\n", 2);
	add(cell, "text/plain", "2", NULL, KERNEL_RESULT);
	add(cell, "application/json", "{\"x\":1}", NULL, KERNEL_RESULT);
	add(cell, "application/json", "5", NULL, KERNEL_RESULT);
	add(cell, "application/json", "{\"forged", NULL, KERNEL_RESULT);
	add(cell, "x/\"own\"", "o", NULL, KERNEL_RESULT);
	cell_end(cell, CELL_OK);
	object = document(cell);
	assert_string_equal(
		text_of(json_in_get(json_in_get(object, "logs"), "stdout")), "[\"a\",\"b\"]");
	assert_string_equal(
		text_of(json_in_get(json_in_get(object, "logs"), "stderrBase64")), "\"/wo=\"");
	const struct json_object *results = json_in_get(object, "results");
	assert_string_equal(
		text_of(json_in_get(json_in_array_at(results, 1), "json")), "{\"x\":1}");
	assert_string_equal(text_of(json_in_get(json_in_array_at(results, 2), "json")), "5");
	assert_string_equal(
		text_of(json_in_get(json_in_array_at(results, 3), "json")), "\"{\\\"forged\"");
	assert_string_equal(text_of(json_in_get(json_in_array_at(results, 4), "extra")),
		"{\"x/\\\"own\\\"\":\"o\"}");
	assert_null(json_in_get(object, "error"));
}

static void displays_end_in_their_last_state(void **state)
{
	struct cell *cell = ((struct fixture *)*state)->cell;
	struct cell_result *result;
	char text[8];

	add(cell, "text/plain", "first", "d", KERNEL_RESULT);
	add(cell, "text/html", "second", "d", KERNEL_UPDATE);
	result = cell_find_display(cell, "d", 1);
	assert_int_equal(cell_result_part(result, &cell_formats[0]), -1);
	assert_int_equal(cell_result_part(result, &cell_formats[1]), 0);
	assert_int_equal(cell_result_read(result, 0, text, sizeof(text), 0), 6);
	cell->discard = true; /* clear_output(wait=True) */
	assert_int_equal(cell->results_len, 1);
	add(cell, "text/plain", "third", NULL, KERNEL_RESULT);
	assert_int_equal(cell->results_len, 1);
	assert_null(cell_find_display(cell, "d", 1));
	assert_int_equal(cell->results_bytes, 5);
}

static void results_have_a_limit(void **state)
{
	struct cell *cell = ((struct fixture *)*state)->cell;
	char large[4000];

	memset(large, 'x', sizeof(large) - 1);
	large[sizeof(large) - 1] = '\0';
	assert_int_equal(add(cell, "text/plain", large, NULL, KERNEL_RESULT), 0);
	assert_false(cell->results_dropped);
	assert_int_equal(add(cell, "text/plain", large, NULL, KERNEL_RESULT), 0);
	assert_true(cell->results_dropped);
	assert_int_equal(cell->results_bytes, 3999);
}

static void the_first_error_stays(void **state)
{
	struct cell *cell = ((struct fixture *)*state)->cell;
	struct buf text auto_buf = {0};

	cell_error(cell, "A", 1, "one", 3);
	cell_error(cell, "B", 1, "two", 3);
	assert_int_equal(cell_error_text(cell, &text), 0);
	assert_string_equal(buf_text(&text), "A: one\n");
	cell_traceback(cell, "line 1", 6);
	buf_reset(&text);
	cell_error_json(cell, &text);
	assert_string_equal(
		buf_text(&text), "{\"name\":\"A\",\"value\":\"one\",\"traceback\":[\"line 1\"]}\n");
}

static void events_do_not_cut_characters(void **state)
{
	struct cell *cell = ((struct fixture *)*state)->cell;
	char text[2048];
	ssize_t n;

	cell_output(cell, RUN_STDOUT, "\xe2\x82", 2);
	assert_int_equal(cell->events.size, 0);
	cell_output(cell, RUN_STDOUT, "\xac!\xf0\x9f", 4);
	n = cell_events_read(cell, text, sizeof(text) - 1, 0);
	assert_true(n > 0);
	text[n] = '\0';
	assert_non_null(strstr(text, "\"text\":\"\xe2\x82\xac!\"}"));
	cell_end(cell, CELL_OK);
	n = cell_events_read(cell, text, sizeof(text) - 1, 0);
	text[n] = '\0';
	assert_non_null(strstr(text, "\"base64\":\"8J8=\""));
	assert_non_null(strstr(text, "\"type\":\"end\""));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(all_is_in_the_document, set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			displays_end_in_their_last_state, set_up, tear_down),
		cmocka_unit_test_setup_teardown(results_have_a_limit, set_up, tear_down),
		cmocka_unit_test_setup_teardown(the_first_error_stays, set_up, tear_down),
		cmocka_unit_test_setup_teardown(events_do_not_cut_characters, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
