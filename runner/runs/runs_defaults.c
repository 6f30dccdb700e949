// The defaults of runs: ctl/cwd, ctl/env, ctl/user, ctl/timeout; and the environment made of them.
#include "runner/runs/run_internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/scope.h"

static int replace(struct runs *runs, const char *key, char **place, const char *text)
{
	char *copy = strdup(text);
	int r = copy ? run_store_set(runs->store, key, text) : -ENOMEM;

	if (r < 0) {
		free(copy);
		return r;
	}
	free(*place);
	*place = copy;
	return 0;
}

const char *runs_cwd(const struct runs *runs)
{
	return runs->cwd;
}

const char *runs_env(const struct runs *runs)
{
	return runs->env;
}

const char *runs_user(const struct runs *runs)
{
	return runs->user;
}

const char *runs_timeout(const struct runs *runs)
{
	return runs->timeout;
}

int runs_check_cwd(struct runs *runs, const char *path, struct fail *f)
{
	int r;

	if (!*path)
		return fail_set(
			f, -EINVAL, "the directory is empty; write an absolute path, as /work");
	if (*path != '/')
		return fail_set(f, -EINVAL,
			"the directory must be an absolute path, as /work, not \"%.200s\"", path);
	r = sandbox_check_dir(runs->config.sandbox, path);
	return r < 0 ? fail_errno(f, r, "%.200s in the sandbox", path) : 0;
}

int runs_set_cwd(struct runs *runs, const char *text, struct fail *f)
{
	int r = runs_check_cwd(runs, text, f);

	return r < 0 ? r : replace(runs, "cwd", &runs->cwd, text);
}

int runs_set_env(struct runs *runs, const char *text, size_t len, struct fail *f)
{
	char **pairs auto_call(run_request_free_strings) = NULL;
	char *copy auto_free = NULL;
	int r = run_request_parse_env(text, len, &pairs, f);

	if (r == 0)
		r = run_request_check_env(pairs, f);
	if (r < 0)
		return r;
	copy = strndup(text, len);
	r = copy ? replace(runs, "env", &runs->env, copy) : -ENOMEM;
	if (r < 0)
		return r;
	run_request_free_strings(&runs->env_pairs);
	runs->env_pairs = take_ptr(pairs);
	return 0;
}

int runs_set_user(struct runs *runs, const char *text, struct fail *f)
{
	struct sandbox_user user;
	int r = sandbox_find_user(runs->config.sandbox, text, &user, f);

	return r < 0 ? r : replace(runs, "user", &runs->user, text);
}

int runs_set_timeout(struct runs *runs, const char *text, struct fail *f)
{
	uint64_t usec;
	int r = run_request_parse_timeout(text, &usec, f);

	if (r == 0)
		r = replace(runs, "timeout", &runs->timeout, text);
	if (r == 0)
		runs->timeout_usec = usec;
	return r;
}

static int load(struct runs *runs, const char *key, const char *fallback, char **ret)
{
	int r = run_store_get(runs->store, key, ret);

	if (r == -ENOENT) {
		*ret = strdup(fallback);
		r = *ret ? 0 : -ENOMEM;
	}
	return r;
}

int runs_defaults_load(struct runs *runs, struct fail *f)
{
	char seconds[32];
	int r;

	snprintf(seconds, sizeof(seconds), "%g", (double)runs->config.timeout_usec / 1e6);
	r = load(runs, "cwd", "/workspace", &runs->cwd);
	if (r == 0)
		r = load(runs, "env", "", &runs->env);
	if (r == 0)
		r = load(runs, "user", "root", &runs->user);
	if (r == 0)
		r = load(runs, "timeout", seconds, &runs->timeout);
	if (r == 0)
		r = run_request_parse_env(runs->env, strlen(runs->env), &runs->env_pairs, f);
	if (r == 0)
		r = run_request_parse_timeout(runs->timeout, &runs->timeout_usec, f);
	return r;
}

/* Adds NAME=VALUE, over one of the same name. */
static int put(char **env, size_t *len, const char *pair)
{
	size_t name = strcspn(pair, "=") + 1;
	char *copy = strdup(pair);

	if (!copy)
		return -ENOMEM;
	for (size_t i = 0; i < *len; i++) {
		if (!strncmp(env[i], pair, name)) {
			free(env[i]);
			env[i] = copy;
			return 0;
		}
	}
	env[(*len)++] = copy;
	return 0;
}

static size_t count(char *const *strings)
{
	size_t n = 0;

	while (strings && strings[n])
		n++;
	return n;
}

int run_environment(
	struct runs *runs, const struct sandbox_user *user, char *const *more, char ***ret)
{
	static const char *const fixed[] = {
		"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin:/opt/sandpit/bin",
		"LANG=C.UTF-8", "TERM=dumb", "PIP_BREAK_SYSTEM_PACKAGES=1",
		"PIP_ROOT_USER_ACTION=ignore", "DEBIAN_FRONTEND=noninteractive"};
	struct buf own auto_buf = {0};
	char *const *of_mount = runs->config.environment;
	size_t len = 0, room = ARRAY_LEN(fixed) + 4 + count(of_mount) + count(runs->env_pairs) +
			       count(more) + 1;
	char **env auto_call(run_request_free_strings) = calloc(room, sizeof(*env));
	char *const *const parts[] = {of_mount, runs->env_pairs, more};
	const struct {
		const char *name, *value;
	} of_user[] = {{"HOME", user->home}, {"USER", user->name}, {"LOGNAME", user->name},
		{"SHELL", user->shell}};
	int r = env ? 0 : -ENOMEM;

	for (size_t i = 0; r == 0 && i < ARRAY_LEN(fixed); i++)
		r = put(env, &len, fixed[i]);
	for (size_t i = 0; r == 0 && i < ARRAY_LEN(of_user); i++) {
		buf_reset(&own);
		r = buf_printf(&own, "%s=%s", of_user[i].name, of_user[i].value);
		if (r == 0)
			r = put(env, &len, buf_text(&own));
	}
	for (size_t part = 0; part < ARRAY_LEN(parts); part++)
		for (char *const *p = parts[part]; r == 0 && p && *p; p++)
			r = put(env, &len, *p);
	if (r == 0)
		*ret = take_ptr(env);
	return r;
}
