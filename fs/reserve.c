#include "fs/reserve.h"

#include <fcntl.h>
#include <unistd.h>

#include "common/scope.h"

/* What the index needs to be opened: its two files beside it, and some pages in each. */
static const char *const names[] = {"reserve.0", "reserve.1", "reserve.2", "reserve.3"};
#define FILE_BYTES (64 * 1024)

void reserve_give_back(int state_fd)
{
	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		unlinkat(state_fd, names[i], 0);
}

/* A piece that could not be had whole would be taken for one the next time. */
static void hold_file(int state_fd, const char *name)
{
	auto_close int fd =
		openat(state_fd, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);

	if (fd >= 0 && fallocate(fd, 0, 0, FILE_BYTES) < 0)
		unlinkat(state_fd, name, 0);
}

void reserve_hold(int state_fd)
{
	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		hold_file(state_fd, names[i]);
}
