// Where the drivers are that run inside the sandbox: beside the program, or installed with it.
#include "fs/drivers.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "common/buf.h"
#include "common/scope.h"

int drivers_find(char **ret)
{
	static const char *const places[] = {"drivers", "../lib/sandpit"};
	char *program auto_free = realpath("/proc/self/exe", NULL);
	struct buf path auto_buf = {0};
	struct stat st;

	*ret = NULL;
	for (size_t i = 0; program && i < ARRAY_LEN(places); i++) {
		buf_reset(&path);
		buf_add(&path, program, (size_t)(strrchr(program, '/') + 1 - program));
		if (buf_add_str(&path, places[i]) < 0)
			return -ENOMEM;
		if (stat(buf_text(&path), &st) == 0 && S_ISDIR(st.st_mode)) {
			*ret = realpath(buf_text(&path), NULL);
			return *ret ? 0 : -errno;
		}
	}
	return 0;
}
