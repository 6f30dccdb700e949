// The [kernel NAME] sections of the INI file: languages of one's own for code/.
#include "common/config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/fail.h"
#include "common/scope.h"

#define NAME_CHARS "abcdefghijklmnopqrstuvwxyz0123456789_+-"

void config_kernels_clear(struct config *c)
{
	while (c->own_kernels) {
		struct config_kernel *next = c->own_kernels->next;

		free(c->own_kernels->name);
		free(c->own_kernels->command);
		free(c->own_kernels->env);
		free(c->own_kernels);
		c->own_kernels = next;
	}
}

static int find_or_add(struct config *c, const char *name, struct config_kernel **ret)
{
	struct config_kernel **at = &c->own_kernels;

	while (*at && strcmp((*at)->name, name) != 0)
		at = &(*at)->next;
	if (!*at) {
		*at = calloc(1, sizeof(**at));
		if (!*at)
			return -ENOMEM;
		(*at)->name = strdup(name);
		if (!(*at)->name) {
			free(*at);
			*at = NULL;
			return -ENOMEM;
		}
	}
	*ret = *at;
	return 0;
}

static int set_text(char **place, const char *value)
{
	char *copy = strdup(value);

	if (!copy)
		return -ENOMEM;
	free(*place);
	*place = copy;
	return 0;
}

static int set_flag(
	bool *place, const char *key, const char *value, const char *where, struct fail *f)
{
	if (strcmp(value, "yes") != 0 && strcmp(value, "no") != 0)
		return fail_set(f, -EINVAL, "%s: %s: '%.60s' is not valid; allowed: yes or no",
			where, key, value);
	*place = value[0] == 'y';
	return 0;
}

int config_kernel_set(struct config *c, const char *name, const char *key, const char *value,
	const char *where, struct fail *f)
{
	struct config_kernel *kernel;
	int r;

	if (!*name || strlen(name) > 32 || name[strspn(name, NAME_CHARS)])
		return fail_set(f, -EINVAL,
			"%s: '%.60s' is not a kernel's name; allowed: up to 32 of a-z 0-9 _ + -",
			where, name);
	r = find_or_add(c, name, &kernel);
	if (r < 0)
		return r;
	if (!strcmp(key, "command")) {
		if (!value[strspn(value, " \t")])
			return fail_set(f, -EINVAL, "%s: command is empty", where);
		return set_text(&kernel->command, value);
	}
	if (!strcmp(key, "env"))
		return set_text(&kernel->env, value);
	if (!strcmp(key, "ready"))
		return set_flag(&kernel->ready, key, value, where, f);
	if (!strcmp(key, "interrupt_frame"))
		return set_flag(&kernel->interrupt_frame, key, value, where, f);
	return fail_set(f, -EINVAL,
		"%s: unknown key '%.60s'; allowed: command, env, ready, interrupt_frame", where,
		key);
}

int config_kernels_check(const struct config *c, const char *path, struct fail *f)
{
	for (const struct config_kernel *k = c->own_kernels; k; k = k->next)
		if (!k->command)
			return fail_set(
				f, -EINVAL, "%.200s: [kernel %s] lacks its command", path, k->name);
	return 0;
}
