// One execution: its record, source, streams and outcome.
#include "kernels/cell.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "common/clock.h"
#include "common/names.h"
#include "common/scope.h"
#include "common/waiters.h"

#define TRACEBACK_MAX 200
#define ERROR_MAX (64 * 1024) /* bytes kept of each text of an error */

static const char *const status_names[] = {
	[CELL_QUEUED] = "running",
	[CELL_RUNNING] = "running",
	[CELL_OK] = "ok",
	[CELL_ERROR] = "error",
	[CELL_TIMEOUT] = "timeout",
	[CELL_INTERRUPTED] = "interrupted",
	[CELL_DIED] = "died",
};

const char *cell_status_name(const struct cell *cell)
{
	return status_names[cell->status];
}

/* Kernels start afresh with every mount, and so do their executions. */
static int empty_dir(int dir_fd)
{
	DIR *dir auto_dir = names_open(dir_fd, ".");
	const struct dirent *entry;

	if (!dir)
		return -errno;
	while ((entry = names_next(dir)))
		unlinkat(dir_fd, entry->d_name, 0);
	return 0;
}

int cells_open(struct cells *cells, int state_fd, uint64_t output_bytes)
{
	*cells = (struct cells){
		.dir_fd = -1, .output_bytes = output_bytes, .next_cell = 1, .next_result = 1};
	if (mkdirat(state_fd, "code", 0700) < 0 && errno != EEXIST)
		return -errno;
	cells->dir_fd = openat(state_fd, "code", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	cells->spill.fd = cells->dir_fd;
	return cells->dir_fd < 0 ? -errno : empty_dir(cells->dir_fd);
}

void cells_close(struct cells *cells)
{
	close_fd(&cells->dir_fd);
}

struct cell *cells_at(struct cells *cells, uint32_t number)
{
	struct cell *cell = cells->buckets[number % CELL_BUCKETS];

	while (cell && cell->number != number)
		cell = cell->next_in_bucket;
	return cell;
}

int cell_new(struct cells *cells, const char *code, size_t len, struct cell **ret)
{
	struct cell *cell = calloc(1, sizeof(*cell));
	struct cell **bucket;
	int r;

	if (!cell)
		return -ENOMEM;
	cell->cells = cells;
	cell->number = cells->next_cell;
	cell->json_size = -1;
	cell->made_usec = clock_wall_usec();
	list_init(&cell->link);
	list_init(&cell->results);
	list_init(&cell->grown);
	list_init(&cell->ended);
	run_output_init(&cell->output, cells->dir_fd, cell->number, cells->output_bytes);
	cell->output.spill = &cells->spill;
	spill_init(&cell->events, &cells->spill);
	spill_init(&cell->code, &cells->spill);
	r = spill_add(&cell->code, code, len);
	if (r < 0) {
		spill_clear(&cell->code);
		free(cell);
		return r;
	}
	spill_settle(&cell->code);
	cells->next_cell++;
	bucket = &cells->buckets[cell->number % CELL_BUCKETS];
	cell->next_in_bucket = *bucket;
	*bucket = cell;
	*ret = cell;
	return 0;
}

void cell_free(struct cell *cell)
{
	struct cell **at = &cell->cells->buckets[cell->number % CELL_BUCKETS];

	while (*at != cell)
		at = &(*at)->next_in_bucket;
	*at = cell->next_in_bucket;
	list_remove(&cell->link);
	waiters_wake(&cell->grown);
	waiters_wake(&cell->ended);
	cell_free_results(cell);
	run_output_remove(&cell->output);
	spill_clear(&cell->code);
	spill_clear(&cell->events);
	free(cell->error_name);
	free(cell->error_value);
	for (size_t i = 0; i < cell->traceback_len; i++)
		free(cell->traceback[i]);
	free(cell->traceback);
	free(cell);
}

int cell_code(struct cell *cell, struct buf *ret)
{
	return spill_read_all(&cell->code, ret);
}

void cell_begin(struct cell *cell)
{
	cell->status = CELL_RUNNING;
	cell->started_usec = clock_wall_usec();
	cell->started_mono_usec = clock_monotonic_usec();
}

/* There may be very many executions that are over: none keeps descriptors. */
static void let_go(struct cell *cell)
{
	spill_settle(&cell->events);
	run_output_settle(&cell->output);
}

void cell_output(struct cell *cell, enum run_stream stream, const void *data, size_t len)
{
	run_output_add(&cell->output, stream, data, len);
	cell_event_output(cell, stream, data, len);
	cell->json_size = -1;
	if (cell_is_over(cell))
		let_go(cell);
}

void cell_output_dropped(struct cell *cell, enum run_stream stream, uint64_t len)
{
	run_output_drop(&cell->output, stream, len);
	cell->json_size = -1;
}

static char *copy(const char *text, size_t len)
{
	return strndup(text, len < ERROR_MAX ? len : ERROR_MAX);
}

void cell_error(
	struct cell *cell, const char *name, size_t name_len, const char *value, size_t value_len)
{
	if (cell->failed)
		return;
	cell->failed = true;
	cell->error_name = copy(name, name_len);
	cell->error_value = copy(value, value_len);
}

void cell_traceback(struct cell *cell, const char *text, size_t len)
{
	char **more;

	if (cell->traceback_len >= TRACEBACK_MAX)
		return;
	more = reallocarray(cell->traceback, cell->traceback_len + 1, sizeof(*more));
	if (!more)
		return;
	cell->traceback = more;
	more[cell->traceback_len] = copy(text, len);
	if (more[cell->traceback_len])
		cell->traceback_len++;
}

void cell_end(struct cell *cell, enum cell_status status)
{
	cell->status = status;
	cell->ended_usec = clock_wall_usec();
	cell->duration_usec =
		cell->started_mono_usec ? clock_monotonic_usec() - cell->started_mono_usec : 0;
	if (cell->failed)
		cell_event_error(cell);
	cell_event_end(cell);
	let_go(cell);
	waiters_wake(&cell->grown);
	waiters_wake(&cell->ended);
}
