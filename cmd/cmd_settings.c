#include "cmd/cmd_settings.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/scope.h"

int cmd_settings_read(
	const struct cmd_settings *settings, struct config *c, char **ret_file, struct fail *f)
{
	auto_free char *file = NULL;
	int r = config_init(c);

	if (r == 0 && settings->file) {
		file = strdup(settings->file);
		r = file ? 0 : -ENOMEM;
	} else if (r == 0) {
		r = config_find_file(&file);
	}
	if (r == 0 && file)
		r = config_read_file(c, file, f);
	for (size_t i = 0; r == 0 && i < settings->options_len; i++)
		r = config_set_options(c, settings->options[i], f);
	*ret_file = take_ptr(file);
	return r;
}
