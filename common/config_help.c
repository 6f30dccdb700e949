// The settings described for --help.
#include "common/config.h"

#include <stdio.h>
#include <string.h>

#include "common/config_key.h"

#define COLUMNS 79
#define INDENT 24

/* Adds words to the line that has reached column, breaking it where it would be too long. */
static void wrap(struct buf *to, size_t column, const char *words)
{
	while (*words) {
		size_t len = strcspn(words, " ");

		if (column + 1 + len > COLUMNS) {
			buf_printf(to, "\n%*s", INDENT, "");
			column = INDENT;
		} else if (column > INDENT) {
			buf_add_char(to, ' ');
			column++;
		}
		buf_add(to, words, len);
		column += len;
		words += len + strspn(words + len, " ");
	}
	buf_add_char(to, '\n');
}

static void describe(struct buf *to, const struct config_key *key)
{
	const char *metavar = config_key_metavar(key);
	const char *standard = key->standard_help ? key->standard_help : key->standard;
	char name[64], allowed[160], words[512];

	snprintf(name, sizeof(name), "%s%s%s", key->name, metavar ? "=" : "",
		metavar ? metavar : "");
	config_key_allowed(key, allowed, sizeof(allowed));
	snprintf(words, sizeof(words), "%s (%s; default: %s)", key->help, allowed, standard);
	buf_printf(to, "  %-*s", INDENT - 2, name);
	wrap(to, INDENT, words);
}

int config_help(struct buf *to)
{
	for (size_t i = 0; i < config_keys_len; i++)
		describe(to, &config_keys[i]);
	return to->error;
}
