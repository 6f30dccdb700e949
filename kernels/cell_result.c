// The results of an execution: one file a result and format.
#include "kernels/cell.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/scope.h"

#define RESULTS_MAX 1000 /* a cell */
#define PARTS_MAX 32 /* a result */
#define MIME_MAX 128

const struct cell_format cell_formats[] = {
	{"txt", "text", "text/plain", CELL_TEXT},
	{"html", "html", "text/html", CELL_TEXT},
	{"png", "png", "image/png", CELL_BINARY},
	{"jpeg", "jpeg", "image/jpeg", CELL_BINARY},
	{"svg", "svg", "image/svg+xml", CELL_TEXT},
	{"tex", "latex", "text/latex", CELL_TEXT},
	{"md", "markdown", "text/markdown", CELL_TEXT},
	{"json", "json", "application/json", CELL_JSON},
	{"chart.json", "chart", "application/vnd.sandpit.chart+json", CELL_JSON},
	{"data.json", "data", "application/vnd.sandpit.data+json", CELL_JSON},
	{"pdf", "pdf", "application/pdf", CELL_BINARY},
	{"js", "javascript", "application/javascript", CELL_TEXT},
};
const size_t cell_formats_len = ARRAY_LEN(cell_formats);

struct cell_result *cells_result_at(struct cells *cells, uint32_t number)
{
	struct cell_result *result = cells->result_buckets[number % CELL_BUCKETS];

	while (result && result->number != number)
		result = result->next_in_bucket;
	return result;
}

/* Makes room: what a result held so far goes. */
static void drop_parts(struct cell_result *result)
{
	for (size_t i = 0; i < result->parts_len; i++) {
		result->cell->results_bytes -= result->parts[i].data.size;
		spill_clear(&result->parts[i].data);
		free(result->parts[i].mime);
	}
	free(result->parts);
	result->parts = NULL;
	result->parts_len = 0;
}

static void free_result(struct cell_result *result)
{
	struct cells *cells = result->cell->cells;
	struct cell_result **at = &cells->result_buckets[result->number % CELL_BUCKETS];

	while (*at != result)
		at = &(*at)->next_in_bucket;
	*at = result->next_in_bucket;
	list_remove(&result->link);
	drop_parts(result);
	free(result->display);
	free(result);
}

void cell_free_results(struct cell *cell)
{
	while (!list_empty(&cell->results))
		free_result(list_entry(cell->results.next, struct cell_result, link));
	cell->results_len = 0;
}

void cell_clear_results(struct cell *cell)
{
	cell->discard = false;
	cell_free_results(cell);
	cell_event_clear(cell);
	cell->json_size = -1;
}

static const struct cell_format *find_format(const struct kernel_field *field)
{
	for (size_t i = 0; i < cell_formats_len; i++)
		if (kernel_wire_is(field, cell_formats[i].mime))
			return &cell_formats[i];
	return NULL;
}

int cell_result_part(const struct cell_result *result, const struct cell_format *format)
{
	for (size_t i = 0; i < result->parts_len; i++)
		if (result->parts[i].format == format)
			return (int)i;
	return -1;
}

/* What does not fit any more is left out, and the cell says so. */
static int add_part(struct cell_result *result, const struct kernel_field *field)
{
	struct cell *cell = result->cell;
	struct cell_part *more, *part;
	int r;

	if (result->parts_len >= PARTS_MAX || field->name_len > MIME_MAX ||
		cell->results_bytes + field->len > cell->cells->output_bytes) {
		cell->results_dropped = true;
		return 0;
	}
	more = reallocarray(result->parts, result->parts_len + 1, sizeof(*more));
	if (!more)
		return -ENOMEM;
	result->parts = more;
	part = &more[result->parts_len];
	*part = (struct cell_part){.format = find_format(field)};
	spill_init(&part->data, &cell->cells->spill);
	if (part->format && cell_result_part(result, part->format) >= 0)
		return 0;
	if (!part->format)
		part->mime = strndup(field->name, field->name_len);
	r = part->format || part->mime ? spill_add(&part->data, field->value, field->len) : -ENOMEM;
	if (r < 0) {
		spill_clear(&part->data);
		free(part->mime);
		cell->results_dropped = true;
		return 0;
	}
	spill_settle(&part->data);
	result->parts_len++;
	cell->results_bytes += field->len;
	return 0;
}

/* The value of an execution is the last one that it shows as such. */
static void make_main(struct cell_result *result)
{
	struct list *item;

	list_for_each(item, &result->cell->results) list_entry(item, struct cell_result, link)
		->is_main = false;
	result->is_main = true;
}

/* The fields of a frame that describe the result itself. */
static int take_note(struct cell_result *result, const struct kernel_field *field)
{
	if (kernel_wire_is(field, "@main"))
		make_main(result);
	if (!kernel_wire_is(field, "@id") || result->display)
		return 0;
	result->display = strndup(field->value, field->len < MIME_MAX ? field->len : MIME_MAX);
	return result->display ? 0 : -ENOMEM;
}

static int fill(struct cell_result *result, struct kernel_frame frame)
{
	struct kernel_field field;
	int r;

	while ((r = kernel_wire_field(&frame, &field)) > 0) {
		r = field.name_len && field.name[0] == '@' ? take_note(result, &field)
							   : add_part(result, &field);
		if (r < 0)
			break;
	}
	result->cell->json_size = -1;
	if (r == -ENOMEM)
		result->cell->results_dropped = true;
	return r;
}

int cell_add_result(struct cell *cell, const struct kernel_frame *frame)
{
	struct cell_result *result, **bucket;
	int r;

	if (cell->discard)
		cell_clear_results(cell);
	if (cell->results_len >= RESULTS_MAX) {
		cell->results_dropped = true;
		return 0;
	}
	result = calloc(1, sizeof(*result));
	if (!result) {
		cell->results_dropped = true;
		return -ENOMEM;
	}
	result->cell = cell;
	result->number = cell->cells->next_result++;
	result->index = cell->results_len++;
	bucket = &cell->cells->result_buckets[result->number % CELL_BUCKETS];
	result->next_in_bucket = *bucket;
	*bucket = result;
	list_add_tail(&cell->results, &result->link);
	r = fill(result, *frame);
	cell_event_result(cell, result, "result");
	return r;
}

int cell_update_result(struct cell_result *result, const struct kernel_frame *frame)
{
	int r;

	drop_parts(result);
	r = fill(result, *frame);
	cell_event_result(result->cell, result, "update");
	if (cell_is_over(result->cell))
		spill_settle(&result->cell->events);
	return r;
}

struct cell_result *cell_find_display(struct cell *cell, const char *id, size_t len)
{
	struct list *item;

	list_for_each(item, &cell->results)
	{
		struct cell_result *result = list_entry(item, struct cell_result, link);

		if (result->display && strlen(result->display) == len &&
			!memcmp(result->display, id, len))
			return result;
	}
	return NULL;
}

ssize_t cell_result_read(
	struct cell_result *result, size_t part, void *data, size_t len, uint64_t off)
{
	return spill_read(&result->parts[part].data, data, len, off);
}
