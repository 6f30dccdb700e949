// The settings that a verb takes from its command line (-c FILE, -o KEY=VALUE,...) and from files.
#pragma once

#include <stddef.h>

#include "common/config.h"
#include "common/fail.h"

/* What the command line said, before it is applied: the file comes first. */
struct cmd_settings {
	const char *file; /* borrowed; NULL: the usual places */
	const char **options; /* owned: freed by the caller; each -o, borrowed */
	size_t options_len;
};

/* Reads them into c, which the caller clears, also after an error. *ret_file: the file that was read, owned
 * by the caller; NULL where there is none. 0, or -errno with words that name the file, line and key. */
int cmd_settings_read(
	const struct cmd_settings *settings, struct config *c, char **ret_file, struct fail *f);
