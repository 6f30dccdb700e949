// What a run is asked to do.
#include "runner/runs/run_request.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/clock.h"
#include "common/config.h"
#include "common/json_in.h"
#include "common/scope.h"

/* The kernel's MAX_ARG_STRLEN where pages are smallest: exec takes no string that is longer. */
#define STRING_MAX (32 * 4096)
#define TIMEOUT_MAX_SEC (10.0 * 365 * 24 * 3600)

/* A value's text, without a NUL byte in it. */
static int copy_string(const char *key, const struct json_object *value, char **ret, struct fail *f)
{
	size_t len;
	const char *text;

	if (json_in_type(value) != JSON_IN_STRING)
		return fail_set(f, -EINVAL, "\"%s\" must be a string", key);
	text = json_in_string(value, &len);
	if (memchr(text, '\0', len))
		return fail_set(f, -EINVAL, "\"%s\" must not hold a NUL byte", key);
	free(*ret);
	*ret = strndup(text, len);
	return *ret ? 0 : -ENOMEM;
}

static int copy_bool(const char *key, const struct json_object *value, bool *ret, struct fail *f)
{
	if (json_in_type(value) != JSON_IN_BOOL)
		return fail_set(f, -EINVAL, "\"%s\" must be true or false", key);
	*ret = json_in_bool(value);
	return 0;
}

static bool plain_word(const char *word)
{
	return *word && word[strspn(word, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
					  "0123456789%+,-./:=@_")] == '\0';
}

/* Adds a word as a shell would need it written. */
static void add_quoted(struct buf *to, const char *word)
{
	if (to->len)
		buf_add_char(to, ' ');
	if (plain_word(word)) {
		buf_add_str(to, word);
		return;
	}
	buf_add_char(to, '\'');
	for (; *word; word++) {
		if (*word == '\'')
			buf_add_str(to, "'\\''");
		else
			buf_add_char(to, *word);
	}
	buf_add_char(to, '\'');
}

static int set_argv(struct run_request *r, const struct json_object *value, struct fail *f)
{
	struct buf cmd auto_buf = {0};
	size_t len = json_in_array_len(value);

	if (!len)
		return fail_set(f, -EINVAL, "\"cmd\" must not be an empty array");
	r->argv = calloc(len + 1, sizeof(*r->argv));
	if (!r->argv)
		return -ENOMEM;
	for (size_t i = 0; i < len; i++) {
		const struct json_object *word = json_in_array_at(value, i);
		int err = json_in_type(word) == JSON_IN_STRING
				  ? copy_string("cmd", word, &r->argv[i], f)
				  : fail_set(f, -EINVAL, "\"cmd\": word %zu is not a string", i);

		if (err < 0)
			return err;
		add_quoted(&cmd, r->argv[i]);
	}
	if (!*r->argv[0])
		return fail_set(f, -EINVAL, "\"cmd\" begins with an empty word");
	r->cmd_len = cmd.len;
	r->cmd = buf_take(&cmd);
	return r->cmd ? 0 : -ENOMEM;
}

static int set_cmd(
	struct run_request *r, const char *key, const struct json_object *value, struct fail *f)
{
	int err;

	if (json_in_type(value) == JSON_IN_ARRAY)
		return set_argv(r, value, f);
	if (json_in_type(value) != JSON_IN_STRING)
		return fail_set(f, -EINVAL, "\"cmd\" must be a string or an array of strings");
	err = copy_string(key, value, &r->cmd, f);
	if (err == 0)
		r->cmd_len = strlen(r->cmd);
	return err;
}

static int set_cwd(
	struct run_request *r, const char *key, const struct json_object *value, struct fail *f)
{
	return copy_string(key, value, &r->cwd, f);
}

struct env_fill {
	char **at;
	struct fail *f;
};

static int add_env(const char *key, const struct json_object *value, void *arg)
{
	struct env_fill *fill = arg;
	char *text auto_free = NULL;
	struct buf pair = {0};
	int err;

	if (json_in_type(value) != JSON_IN_STRING)
		return fail_set(fill->f, -EINVAL, "\"env\": \"%.60s\" must be a string", key);
	err = copy_string(key, value, &text, fill->f);
	if (err < 0)
		return err;
	if (!*key || strchr(key, '='))
		return fail_set(fill->f, -EINVAL, "\"env\" has a name that is empty or holds '='");
	buf_printf(&pair, "%s=%s", key, text);
	*fill->at = buf_take(&pair);
	return *fill->at++ ? 0 : -ENOMEM;
}

static int count_member(const char *key, const struct json_object *value, void *arg)
{
	(void)key;
	(void)value;
	++*(size_t *)arg;
	return 0;
}

static int set_env(
	struct run_request *r, const char *key, const struct json_object *value, struct fail *f)
{
	struct env_fill fill = {.f = f};
	size_t len = 0;

	if (json_in_type(value) != JSON_IN_OBJECT)
		return fail_set(f, -EINVAL, "\"%s\" must be an object of strings", key);
	json_in_each(value, count_member, &len);
	run_request_free_strings(&r->env);
	r->env = calloc(len + 1, sizeof(*r->env));
	if (!r->env)
		return -ENOMEM;
	fill.at = r->env;
	return json_in_each(value, add_env, &fill);
}

static int set_user(
	struct run_request *r, const char *key, const struct json_object *value, struct fail *f)
{
	return copy_string(key, value, &r->user, f);
}

static int to_usec(double seconds, uint64_t *ret_usec, struct fail *f)
{
	if (!(seconds >= 0) || seconds > TIMEOUT_MAX_SEC)
		return fail_set(f, -EINVAL,
			"the timeout must be a number of seconds from 0 (none) to ten years");
	*ret_usec = (uint64_t)llround(seconds * (double)USEC_PER_SEC);
	return 0;
}

static int set_timeout(
	struct run_request *r, const char *key, const struct json_object *value, struct fail *f)
{
	if (json_in_type(value) != JSON_IN_NUMBER)
		return fail_set(f, -EINVAL, "\"%s\" must be a number of seconds", key);
	r->has_timeout = true;
	return to_usec(json_in_number(value), &r->timeout_usec, f);
}

static int set_stdin(
	struct run_request *r, const char *key, const struct json_object *value, struct fail *f)
{
	const char *text;

	if (json_in_type(value) != JSON_IN_STRING)
		return fail_set(f, -EINVAL, "\"%s\" must be a string", key);
	text = json_in_string(value, &r->stdin_len);
	free(r->stdin_data);
	r->stdin_data = malloc(r->stdin_len + 1);
	if (!r->stdin_data)
		return -ENOMEM;
	memcpy(r->stdin_data, text, r->stdin_len);
	return 0;
}

static int set_stdin_open(
	struct run_request *r, const char *key, const struct json_object *value, struct fail *f)
{
	return copy_bool(key, value, &r->stdin_open, f);
}

static int set_id(
	struct run_request *r, const char *key, const struct json_object *value, struct fail *f)
{
	int err = copy_string(key, value, &r->id, f);

	if (err < 0)
		return err;
	if (!run_request_name_ok(r->id))
		return fail_set(f, -EINVAL,
			"\"id\" must be letters, digits and ._- (at most %d, first a letter or "
			"digit, not only digits, not \"last\")",
			RUN_NAME_MAX);
	return 0;
}

static int set_background(
	struct run_request *r, const char *key, const struct json_object *value, struct fail *f)
{
	return copy_bool(key, value, &r->background, f);
}

static int set_shell(
	struct run_request *r, const char *key, const struct json_object *value, struct fail *f)
{
	int err = copy_string(key, value, &r->shell, f);

	if (err == 0 && !*r->shell)
		return fail_set(f, -EINVAL, "\"shell\" must not be empty");
	return err;
}

static int limit_number(
	const char *key, const struct json_object *value, bool bytes, double *ret, struct fail *f)
{
	uint64_t parsed;

	if (json_in_type(value) == JSON_IN_NUMBER) {
		*ret = json_in_number(value);
	} else if (bytes && json_in_type(value) == JSON_IN_STRING &&
		   config_parse_bytes(json_in_string(value, NULL), &parsed) == 0) {
		*ret = (double)parsed;
	} else {
		return fail_set(f, -EINVAL, "\"limits\": \"%s\" must be a number%s", key,
			bytes ? " of bytes, as 268435456 or \"256M\"" : "");
	}
	if (!(*ret >= 0) || *ret > 9e18)
		return fail_set(f, -EINVAL, "\"limits\": \"%s\" is out of range", key);
	return 0;
}

struct limit_fill {
	struct sandbox_limits *limits;
	struct fail *f;
};

static int set_limit(const char *key, const struct json_object *value, void *arg)
{
	struct limit_fill *fill = arg;
	const struct {
		const char *name;
		uint64_t *place;
		bool bytes;
	} known[] = {
		{"memory", &fill->limits->memory_bytes, true},
		{"pids", &fill->limits->pids, false},
		{"fsize", &fill->limits->file_bytes, true},
		{"nofile", &fill->limits->open_files, false},
	};
	double number;
	int err;

	if (!strcmp(key, "cpus")) {
		err = limit_number(key, value, false, &number, fill->f);
		if (err == 0)
			fill->limits->cpus = number;
		return err;
	}
	for (size_t i = 0; i < ARRAY_LEN(known); i++) {
		if (strcmp(key, known[i].name))
			continue;
		err = limit_number(key, value, known[i].bytes, &number, fill->f);
		if (err == 0)
			*known[i].place = (uint64_t)number;
		return err;
	}
	return fail_set(fill->f, -EINVAL,
		"\"limits\" has an unknown key \"%.60s\" (known: memory, pids, cpus, fsize, nofile; "
		"the disk is limited for the whole sandbox, by mount -o disk=SIZE)",
		key);
}

static int set_limits(
	struct run_request *r, const char *key, const struct json_object *value, struct fail *f)
{
	struct limit_fill fill = {.limits = &r->limits, .f = f};

	if (json_in_type(value) != JSON_IN_OBJECT)
		return fail_set(f, -EINVAL, "\"%s\" must be an object", key);
	return json_in_each(value, set_limit, &fill);
}

static const struct {
	const char *key;
	int (*set)(struct run_request *r, const char *key, const struct json_object *value,
		struct fail *f);
} keys[] = {
	{"cmd", set_cmd},
	{"cwd", set_cwd},
	{"env", set_env},
	{"user", set_user},
	{"timeout", set_timeout},
	{"stdin", set_stdin},
	{"stdinOpen", set_stdin_open},
	{"id", set_id},
	{"background", set_background},
	{"shell", set_shell},
	{"limits", set_limits},
};

struct key_fill {
	struct run_request *request;
	struct fail *f;
};

static int set_key(const char *key, const struct json_object *value, void *arg)
{
	struct key_fill *fill = arg;

	for (size_t i = 0; i < ARRAY_LEN(keys); i++)
		if (!strcmp(key, keys[i].key))
			return keys[i].set(fill->request, key, value, fill->f);
	return fail_set(fill->f, -EINVAL,
		"unknown key \"%.60s\" (known: cmd, cwd, env, user, timeout, stdin, stdinOpen, id, "
		"background, shell, limits)",
		key);
}

int run_request_parse(const char *text, size_t len, struct run_request *ret, struct fail *f)
{
	struct json_object *object auto_call(json_in_free) = NULL;
	struct key_fill fill = {.request = ret, .f = f};
	int r = json_in_object(text, len, &object, f);

	*ret = (struct run_request){0};
	if (r < 0)
		return r;
	r = json_in_each(object, set_key, &fill);
	if (r == 0 && !ret->cmd)
		r = fail_set(f, -EINVAL, "\"cmd\" is missing");
	if (r == 0 && ret->stdin_data && ret->stdin_open)
		r = fail_set(f, -EINVAL, "\"stdin\" and \"stdinOpen\" exclude each other");
	if (r == 0 && ret->argv && ret->shell)
		r = fail_set(f, -EINVAL, "\"shell\" needs \"cmd\" to be a string");
	if (r < 0)
		run_request_clear(ret);
	return r;
}

int run_request_shell(const char *text, size_t len, struct run_request *ret, struct fail *f)
{
	*ret = (struct run_request){0};
	if (memchr(text, '\0', len))
		return fail_set(f, -EINVAL, "the command holds a NUL byte");
	ret->cmd = strndup(text, len);
	ret->cmd_len = len;
	return ret->cmd ? 0 : -ENOMEM;
}

void run_request_clear(struct run_request *r)
{
	free(r->id);
	free(r->cmd);
	free(r->shell);
	free(r->cwd);
	free(r->user);
	free(r->stdin_data);
	run_request_free_strings(&r->argv);
	run_request_free_strings(&r->env);
	*r = (struct run_request){0};
}

bool run_request_name_ok(const char *name)
{
	size_t len = strlen(name);
	bool digits = true;

	if (!len || len > RUN_NAME_MAX || !isalnum((unsigned char)name[0]) || !strcmp(name, "last"))
		return false;
	for (size_t i = 0; i < len; i++) {
		unsigned char c = (unsigned char)name[i];

		if (!(c < 0x80 && isalnum(c)) && c != '.' && c != '_' && c != '-')
			return false;
		digits = digits && isdigit(c);
	}
	return !digits;
}

static size_t count_lines(const char *text, size_t len)
{
	size_t lines = 1;

	for (size_t i = 0; i < len; i++)
		lines += text[i] == '\n';
	return lines;
}

int run_request_parse_env(const char *text, size_t len, char ***ret, struct fail *f)
{
	char **env auto_call(run_request_free_strings) =
		calloc(count_lines(text, len) + 1, sizeof(*env));
	size_t at = 0, line = 0;

	if (!env)
		return -ENOMEM;
	if (memchr(text, '\0', len))
		return fail_set(f, -EINVAL, "the environment holds a NUL byte");
	for (const char *p = text, *end = text + len; p < end;) {
		const char *stop = memchr(p, '\n', (size_t)(end - p));
		size_t n = (size_t)((stop ? stop : end) - p);

		line++;
		/* Of a file with CR LF line ends; no value is meant to end so. */
		if (n && p[n - 1] == '\r')
			n--;
		if (n && *p != '#') {
			const char *equals = memchr(p, '=', n);

			if (!equals || equals == p)
				return fail_set(f, -EINVAL, "line %zu is not NAME=VALUE", line);
			env[at] = strndup(p, n);
			if (!env[at++])
				return -ENOMEM;
		}
		p = stop ? stop + 1 : end;
	}
	*ret = take_ptr(env);
	return 0;
}

int run_request_check_env(char *const *pairs, struct fail *f)
{
	for (; *pairs; pairs++) {
		size_t name = strcspn(*pairs, "=");

		if (strcspn(*pairs, " \t") < name)
			return fail_set(f, -EINVAL,
				"\"%.*s\" is no name of a variable: a line is NAME=VALUE, without "
				"blanks before the = and without \"export\"",
				(int)(name < 60 ? name : 60), *pairs);
		if (strlen(*pairs) >= STRING_MAX)
			return fail_set(f, -E2BIG,
				"the value of %.*s is too long for any command: at most %d bytes",
				(int)(name < 60 ? name : 60), *pairs, STRING_MAX - 1);
	}
	return 0;
}

void run_request_free_strings(char ***strings)
{
	if (*strings)
		for (char **p = *strings; *p; p++)
			free(*p);
	free(*strings);
	*strings = NULL;
}

int run_request_parse_timeout(const char *text, uint64_t *ret_usec, struct fail *f)
{
	char *end;
	double seconds;

	if (!isdigit((unsigned char)*text) && *text != '.')
		return fail_set(f, -EINVAL,
			"the timeout must be a number of seconds from 0 (none) to ten years");
	seconds = strtod(text, &end);
	if (*end || text[strspn(text, "0123456789.")])
		return fail_set(f, -EINVAL,
			"the timeout must be a number of seconds from 0 (none) to ten years");
	return to_usec(seconds, ret_usec, f);
}
