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
	int own_fd = openat(dir_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = own_fd < 0 ? NULL : fdopendir(own_fd);
	const struct dirent *entry;

	if (!dir) {
		close_fd(&own_fd);
		return -errno;
	}
	while ((entry = readdir(dir)))
		if (entry->d_name[0] != '.')
			unlinkat(dir_fd, entry->d_name, 0);
	closedir(dir);
	return 0;
}

int cells_open(struct cells *cells, int state_fd, uint64_t output_bytes)
{
	*cells = (struct cells){
		.dir_fd = -1, .output_bytes = output_bytes, .next_cell = 1, .next_result = 1};
	if (mkdirat(state_fd, "code", 0700) < 0 && errno != EEXIST)
		return -errno;
	cells->dir_fd = openat(state_fd, "code", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
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

static void code_name(const struct cell *cell, char *ret, size_t size)
{
	snprintf(ret, size, "%" PRIu32 ".code", cell->number);
}

static int write_code(struct cell *cell, const char *code, size_t len)
{
	char name[32];

	code_name(cell, name, sizeof(name));
	int fd auto_close = openat(cell->cells->dir_fd, name,
		O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);

	if (fd < 0)
		return -errno;
	for (size_t at = 0; at < len;) {
		ssize_t n = write(fd, code + at, len - at);

		if (n < 0 && errno != EINTR)
			return -errno;
		at += n > 0 ? (size_t)n : 0;
	}
	cell->code_len = len;
	return 0;
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
	cell->events_fd = -1;
	cell->json_size = -1;
	cell->made_usec = clock_wall_usec();
	list_init(&cell->link);
	list_init(&cell->results);
	list_init(&cell->grown);
	list_init(&cell->ended);
	run_output_init(&cell->output, cells->dir_fd, cell->number, cells->output_bytes);
	r = write_code(cell, code, len);
	if (r < 0) {
		free(cell);
		return r;
	}
	cells->next_cell++;
	bucket = &cells->buckets[cell->number % CELL_BUCKETS];
	cell->next_in_bucket = *bucket;
	*bucket = cell;
	*ret = cell;
	return 0;
}

static void remove_files(struct cell *cell)
{
	char name[32];

	run_output_remove(&cell->output);
	code_name(cell, name, sizeof(name));
	unlinkat(cell->cells->dir_fd, name, 0);
	snprintf(name, sizeof(name), "%" PRIu32 ".events", cell->number);
	unlinkat(cell->cells->dir_fd, name, 0);
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
	close_fd(&cell->events_fd);
	remove_files(cell);
	free(cell->error_name);
	free(cell->error_value);
	for (size_t i = 0; i < cell->traceback_len; i++)
		free(cell->traceback[i]);
	free(cell->traceback);
	free(cell);
}

int cell_code(struct cell *cell, struct buf *ret)
{
	char name[32];
	size_t want = (size_t)cell->code_len;
	int r = buf_reserve(ret, want);

	code_name(cell, name, sizeof(name));
	int fd auto_close = openat(cell->cells->dir_fd, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);

	if (fd < 0)
		return -errno;
	while (r == 0 && want) {
		ssize_t n = read(fd, ret->data + ret->len, want);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n < 0 ? -errno : -EIO;
		ret->len += (size_t)n;
		want -= (size_t)n;
		ret->data[ret->len] = '\0';
	}
	return r;
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
	close_fd(&cell->events_fd);
	run_output_close(&cell->output);
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
	if (cell->error_name)
		return;
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
	if (cell->error_name)
		cell_event_error(cell);
	cell_event_end(cell);
	let_go(cell);
	waiters_wake(&cell->grown);
	waiters_wake(&cell->ended);
}
