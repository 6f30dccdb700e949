// Messages of a hostile Jupyter kernel: the input's lines are the frames.
#include <stdint.h>
#include <string.h>

#include "kernels/jupyter/jupyter_message.h"

#define PARTS 16

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void show(const struct jupyter_message *m)
{
	struct buf frame auto_buf = {0}, plain auto_buf = {0};
	size_t len;
	const char *text = jupyter_message_string(m, "text", &len);

	jupyter_message_plain(text, len, &plain);
	jupyter_message_bundle(m, &frame);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct jupyter_part parts[PARTS];
	struct jupyter_message m;
	size_t len = 0;

	while (len < PARTS && size) {
		const uint8_t *end = memchr(data, '\n', size);
		size_t part = end ? (size_t)(end - data) : size;

		parts[len++] = (struct jupyter_part){data, part};
		data += part + (end != NULL);
		size -= part + (end != NULL);
	}
	if (jupyter_message_parse(parts, len, NULL, NULL, &m) == 0) {
		show(&m);
		jupyter_message_clear(&m);
	}
	return 0;
}
