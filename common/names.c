#include "common/names.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <string.h>
#include <unistd.h>

DIR *names_open(int dir_fd, const char *path)
{
	return names_take(openat(dir_fd, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC));
}

DIR *names_take(int fd)
{
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	int err = errno;

	if (!dir && fd >= 0)
		close(fd);
	errno = err;
	return dir;
}

struct dirent *names_next(DIR *dir)
{
	struct dirent *entry;

	do
		entry = readdir(dir);
	while (entry && (!strcmp(entry->d_name, ".") || !strcmp(entry->d_name, "..")));
	return entry;
}

void names_close(DIR **dir)
{
	if (*dir)
		closedir(*dir);
}
