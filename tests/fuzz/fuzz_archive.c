// The path of a restore from an archive's bytes to files: whatever they are, nothing is made outside
// the directory, and nothing crashes.
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "common/scope.h"
#include "runner/checkpoint/checkpoint_row.h"
#include "runner/checkpoint/extract.h"
#include "runner/checkpoint/tree_remove.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	static const atomic_bool never;
	struct task task = {.cancelled = &never};
	struct extract_config config = {
		.task = &task, .ids_len = 1, .max_files = 200, .max_bytes = 1 << 20};
	struct store_row row = {.project = (char *)"p"};
	char name[] = "/dev/shm/fuzz_archive.XXXXXX";
	auto_close int fd = memfd_create("archive", MFD_CLOEXEC);
	auto_close int dir_fd = -1;

	if (fd < 0 || write(fd, data, len) != (ssize_t)len || !mkdtemp(name))
		return 0;
	dir_fd = open(name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	config.dir_fd = dir_fd;
	config.ids_base = geteuid();
	if (dir_fd >= 0)
		checkpoint_row_extract(&row, fd, &config, NULL);
	tree_remove(AT_FDCWD, name);
	return 0;
}
