// Kernelspecs: where they are and what they say.
#include "kernels/jupyter/jupyter_spec.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/json_in.h"
#include "common/scope.h"

#define SPEC_MAX (1024 * 1024)

static int read_file(const char *path, struct buf *to)
{
	int fd auto_close = open(path, O_RDONLY | O_CLOEXEC);
	char block[4096];
	ssize_t n;

	if (fd < 0)
		return -errno;
	while ((n = read(fd, block, sizeof(block))) > 0) {
		if (to->len + (size_t)n > SPEC_MAX)
			return -EFBIG;
		buf_add(to, block, (size_t)n);
	}
	return n < 0 ? -errno : to->error;
}

static char **new_list(size_t len)
{
	return calloc(len + 1, sizeof(char *));
}

static void free_list(char **list)
{
	for (char **one = list; one && *one; one++)
		free(*one);
	free(list);
}

void jupyter_spec_clear(struct jupyter_spec *spec)
{
	free_list(spec->argv);
	free_list(spec->env);
	free(spec->language);
	*spec = (struct jupyter_spec){0};
}

struct env_list {
	char **at;
};

static int add_env(const char *key, const struct json_object *value, void *arg)
{
	struct env_list *list = arg;

	if (json_in_type(value) != JSON_IN_STRING)
		return -EINVAL;
	return asprintf(list->at++, "%s=%s", key, json_in_string(value, NULL)) < 0 ? -ENOMEM : 0;
}

static int count_one(const char *key, const struct json_object *value, void *arg)
{
	(void)key;
	(void)value;
	(*(size_t *)arg)++;
	return 0;
}

static int take_env(const struct json_object *env, struct jupyter_spec *ret)
{
	struct env_list list;
	size_t len = 0;

	if (!env)
		return 0;
	if (json_in_type(env) != JSON_IN_OBJECT)
		return -EINVAL;
	json_in_each(env, count_one, &len);
	ret->env = list.at = new_list(len);
	return ret->env ? json_in_each(env, add_env, &list) : -ENOMEM;
}

static int take_argv(const struct json_object *argv, struct jupyter_spec *ret)
{
	size_t len;

	if (!argv || json_in_type(argv) != JSON_IN_ARRAY || json_in_array_len(argv) == 0)
		return -EINVAL;
	len = json_in_array_len(argv);
	ret->argv = new_list(len);
	for (size_t i = 0; ret->argv && i < len; i++) {
		const struct json_object *word = json_in_array_at(argv, i);

		if (json_in_type(word) != JSON_IN_STRING)
			return -EINVAL;
		ret->argv[i] = strdup(json_in_string(word, NULL));
		if (!ret->argv[i])
			return -ENOMEM;
	}
	return ret->argv ? 0 : -ENOMEM;
}

static const char *string_of(const struct json_object *object, const char *key)
{
	const struct json_object *value = json_in_get(object, key);

	return value && json_in_type(value) == JSON_IN_STRING ? json_in_string(value, NULL) : "";
}

static int load(const char *path, struct jupyter_spec *ret)
{
	struct json_object *object auto_call(json_in_free) = NULL;
	struct buf text auto_buf = {0};
	int r = read_file(path, &text);

	if (r == 0)
		r = json_in_parse(buf_text(&text), text.len, &object, NULL);
	if (r == -EAGAIN || (r == 0 && json_in_type(object) != JSON_IN_OBJECT))
		r = -EINVAL;
	if (r == 0)
		r = take_argv(json_in_get(object, "argv"), ret);
	if (r == 0)
		r = take_env(json_in_get(object, "env"), ret);
	if (r < 0)
		return r;
	ret->language = strdup(string_of(object, "language"));
	ret->interrupt_message = !strcmp(string_of(object, "interrupt_mode"), "message");
	return ret->language ? 0 : -ENOMEM;
}

/* The directories that hold kernels/, as jupyter_core orders them. */
static void add_dirs(struct buf *to)
{
	const char *path = getenv("JUPYTER_PATH"), *home = getenv("HOME");

	if (path)
		buf_printf(to, "%s:", path);
	if (home)
		buf_printf(to, "%s/.local/share/jupyter:", home);
	buf_add_str(to, "/usr/local/share/jupyter:/usr/share/jupyter");
}

/* Looks in one directory; names are told apart without case. */
static int look(const char *dir_path, const char *name, struct jupyter_spec *ret, struct buf *words)
{
	struct buf path auto_buf = {0};
	const struct dirent *entry;
	DIR *dir;
	int r = -ENOENT;

	buf_printf(&path, "%s/kernels", dir_path);
	dir = opendir(buf_text(&path));
	if (!dir)
		return r;
	while (r == -ENOENT && (entry = readdir(dir))) {
		if (entry->d_name[0] == '.')
			continue;
		buf_printf(words, " %s", entry->d_name);
		if (strcasecmp(entry->d_name, name) != 0)
			continue;
		buf_printf(&path, "/%s/kernel.json", entry->d_name);
		r = load(buf_text(&path), ret);
	}
	closedir(dir);
	return r;
}

int jupyter_spec_load(const char *name, struct jupyter_spec *ret, struct buf *words)
{
	struct buf dirs auto_buf = {0};
	char *at, *dir;
	int r = -ENOENT;

	add_dirs(&dirs);
	at = dirs.data;
	while (r == -ENOENT && at && (dir = strsep(&at, ":")))
		if (*dir)
			r = look(dir, name, ret, words);
	if (r < 0)
		jupyter_spec_clear(ret);
	return r;
}
