// Frames from a hostile kernel, filed in an execution.
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

#include "common/scope.h"
#include "kernels/cell.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void take(struct cell *cell, struct kernel_frame frame)
{
	struct kernel_field id, name = {.value = ""};
	struct cell_result *result;

	if (frame.type % 4 == 0) {
		kernel_wire_find(&frame, "name", &name);
		cell_error(cell, name.value, name.len, name.value, name.len);
	} else if (frame.type % 4 == 1 && kernel_wire_find(&frame, "@id", &id)) {
		result = cell_find_display(cell, id.value, id.len);
		if (result)
			cell_update_result(result, &frame);
	} else if (frame.type % 4 == 2) {
		cell->discard = true;
	}
	cell_add_result(cell, &frame);
}

static char path[] = "/tmp/fuzz_kernel_wire.XXXXXX";

static void remove_directory(void)
{
	char code[64];

	snprintf(code, sizeof(code), "%s/code", path);
	rmdir(code);
	rmdir(path);
}

/* In one directory for the whole run, which is empty again after each input. */
static struct cells *open_cells(void)
{
	static struct cells cells = {.dir_fd = -1};
	int dir_fd auto_close = -1;

	if (cells.dir_fd >= 0)
		return &cells;
	if (mkdtemp(path))
		dir_fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (dir_fd < 0 || cells_open(&cells, dir_fd, 65536) < 0)
		return NULL;
	atexit(remove_directory);
	return &cells;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct cells *cells = open_cells();
	struct kernel_frame frame;
	struct buf text auto_buf = {0};
	struct cell *cell;
	ssize_t n;

	if (!cells || cell_new(cells, "", 0, &cell) < 0)
		return 0;
	cell->language = "python";
	cell_begin(cell);
	while ((n = kernel_wire_frame(data, size, &frame)) > 0) {
		take(cell, frame);
		data += n;
		size -= (size_t)n;
	}
	cell_output(cell, RUN_STDOUT, data, size);
	cell_end(cell, CELL_OK);
	cell_result_json(cell, &text);
	cell_free(cell);
	return 0;
}
