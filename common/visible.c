// Text of foreign bytes as it can be shown.
#include "common/visible.h"

#include <stdbool.h>
#include <string.h>

#include "common/json_out.h"

/* How long the character is that begins here; 0: there is none. */
static size_t character(const char *text, size_t rest)
{
	unsigned char first = (unsigned char)*text;
	size_t len = first < 0x80 ? 1 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;

	return len <= rest && json_out_is_utf8(text, len) ? len : 0;
}

static bool is_control(const char *text, size_t len)
{
	unsigned char first = (unsigned char)*text;

	/* U+0080 to U+009F: some terminals take them for the same as Escape and a letter. */
	return len == 1 ? first < 0x20 || first == 0x7f
			: first == 0xc2 && (unsigned char)text[1] < 0xa0;
}

int visible_add(struct buf *to, const char *text)
{
	size_t rest = strlen(text);

	while (rest) {
		size_t len = character(text, rest);
		size_t step = len ? len : 1;

		if (len && !is_control(text, len))
			buf_add(to, text, len);
		else
			for (size_t i = 0; i < step; i++)
				buf_printf(to, "\\x%02x", (unsigned char)text[i]);
		text += step;
		rest -= step;
	}
	return to->error;
}
