#include "fs/reserve.h"

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "common/scope.h"

/* What the index needs to be opened: its two files beside it, and some pages in each. */
#define FILES 4
#define FILE_BYTES (64 * 1024)

static void name_of(int number, char name[16])
{
	snprintf(name, 16, "reserve.%d", number % FILES);
}

void reserve_give_back(int state_fd)
{
	char name[16];

	for (int i = 0; i < FILES; i++) {
		name_of(i, name);
		unlinkat(state_fd, name, 0);
	}
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
	char name[16];

	for (int i = 0; i < FILES; i++) {
		name_of(i, name);
		hold_file(state_fd, name);
	}
}
