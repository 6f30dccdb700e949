// Gives files to a fuzz target one by one, without a fuzzer.
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/scope.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int replay(const char *path)
{
	auto_close int fd = open(path, O_RDONLY | O_CLOEXEC);
	auto_free uint8_t *data = NULL;
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0)
		return -1;
	data = malloc(st.st_size ? (size_t)st.st_size : 1); /* exact: reading beyond is found */
	if (!data || read(fd, data, (size_t)st.st_size) != st.st_size)
		return -1;
	LLVMFuzzerTestOneInput(data, (size_t)st.st_size);
	return 0;
}

int main(int argc, char **argv)
{
	for (int i = 1; i < argc; i++)
		if (replay(argv[i]) < 0) {
			perror(argv[i]);
			return 1;
		}
	return 0;
}
