// Settings from hostile bytes: the INI file when the first byte is even, -o when it is odd.
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "common/config.h"
#include "common/scope.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void read_as_file(struct config *c, const uint8_t *data, size_t size, struct fail *f)
{
	auto_close int fd = memfd_create("ini", MFD_CLOEXEC);
	char path[64];

	if (fd < 0 || write(fd, data, size) != (ssize_t)size)
		return;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	config_read_file(c, path, f);
}

static void read_as_options(struct config *c, const uint8_t *data, size_t size, struct fail *f)
{
	auto_free char *text = strndup((const char *)data, size);

	if (text)
		config_set_options(c, text, f);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct config c;
	struct fail f = {0};

	if (size == 0 || config_init(&c) < 0)
		return 0;
	if (data[0] % 2)
		read_as_options(&c, data + 1, size - 1, &f);
	else
		read_as_file(&c, data + 1, size - 1, &f);
	config_clear(&c);
	return 0;
}
