// What is written to `checkpoint` and `checkpoint.plan`: words or JSON.
#include "runner/checkpoint/checkpoint_request.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "common/json_in.h"
#include "common/scope.h"

#define TIMEOUT_MAX_SEC 1000000000

/* One of the request's settings; each is read from text. */
struct setting {
	const char *name;
	unsigned ops; /* bits of enum checkpoint_op */
	int (*set)(struct checkpoint_request *r, const char *value, struct fail *f);
};

static const char *const op_names[] = {[CHECKPOINT_PERSIST] = "persist",
	[CHECKPOINT_RESTORE] = "restore",
	[CHECKPOINT_PLAN] = "plan"};

static int set_text(char **to, const char *value)
{
	char *copy = strdup(value);

	if (!copy)
		return -ENOMEM;
	free(*to);
	*to = copy;
	return 0;
}

static int set_path(struct checkpoint_request *r, const char *value, struct fail *f)
{
	if (!*value)
		return fail_set(f, -EINVAL, "the path is empty");
	return set_text(&r->path, value);
}

static int add_exclude(struct checkpoint_request *r, const char *name, size_t len, struct fail *f)
{
	while (len && name[len - 1] == '/')
		len--;
	if (len == 0)
		return 0;
	if (memchr(name, '/', len))
		return fail_set(f, -EINVAL,
			"exclude %.*s: it takes names of directories, left out at any depth, not paths",
			(int)(len < 200 ? len : 200), name);
	buf_add(&r->exclude, name, len);
	return buf_add_char(&r->exclude, '\0');
}

static int set_exclude(struct checkpoint_request *r, const char *value, struct fail *f)
{
	int err = 0;

	while (err == 0) {
		size_t len = strcspn(value, ",");

		err = add_exclude(r, value, len, f);
		if (!value[len])
			break;
		value += len + 1;
	}
	return err;
}

static int set_timeout(struct checkpoint_request *r, const char *value, struct fail *f)
{
	char *end;
	uint64_t seconds = strtoull(value, &end, 10);

	if (!*value || strspn(value, "0123456789") != strlen(value) || *end || seconds == 0 ||
		strlen(value) > 10 || seconds > TIMEOUT_MAX_SEC)
		return fail_set(
			f, -EINVAL, "timeout %.40s: not a positive number of seconds", value);
	r->timeout_sec = seconds;
	return 0;
}

static int set_if_match(struct checkpoint_request *r, const char *value, struct fail *f)
{
	return *value ? set_text(&r->if_match, value) : fail_set(f, -EINVAL, "if_match is empty");
}

static int set_etag(struct checkpoint_request *r, const char *value, struct fail *f)
{
	return *value ? set_text(&r->etag, value) : fail_set(f, -EINVAL, "etag is empty");
}

#define PERSIST (1U << CHECKPOINT_PERSIST)
#define RESTORE (1U << CHECKPOINT_RESTORE)
#define PLAN (1U << CHECKPOINT_PLAN)

static const struct setting settings[] = {
	{"exclude", PERSIST | PLAN, set_exclude},
	{"timeout", PERSIST | RESTORE | PLAN, set_timeout},
	{"if_match", PERSIST, set_if_match},
	{"etag", RESTORE, set_etag},
};

static const struct setting *find(const struct checkpoint_request *r, const char *name, size_t len)
{
	for (size_t i = 0; i < ARRAY_LEN(settings); i++)
		if (strlen(settings[i].name) == len && !memcmp(settings[i].name, name, len) &&
			(settings[i].ops & 1U << r->op))
			return &settings[i];
	return NULL;
}

static int set_op(struct checkpoint_request *r, const char *name, struct fail *f)
{
	for (int op = CHECKPOINT_PERSIST; op < CHECKPOINT_PLAN; op++) {
		if (!strcmp(op_names[op], name)) {
			r->op = (enum checkpoint_op)op;
			return 0;
		}
	}
	return fail_set(f, -EINVAL, "%.40s: it takes persist or restore", name);
}

/* The next word, unquoted in place: "..." and '...' hold blanks, a backslash takes what follows as
 * it is. NULL: there is none. */
static char *next_word(char **at)
{
	char *word, *to, quote = 0;

	*at += strspn(*at, " \t");
	if (!**at)
		return NULL;
	word = to = *at;
	for (; **at && (quote || !strchr(" \t", **at)); (*at)++) {
		if (**at == '\\' && quote != '\'' && (*at)[1])
			*to++ = *++*at;
		else if (quote ? **at == quote : **at == '"' || **at == '\'')
			quote = quote ? 0 : **at;
		else
			*to++ = **at;
	}
	if (**at)
		(*at)++;
	*to = '\0';
	return word;
}

static int parse_words(char *text, bool plan, struct checkpoint_request *ret, struct fail *f)
{
	char *at = text, *word = plan ? NULL : next_word(&at);
	int r = plan ? 0 : set_op(ret, word ? word : "(nothing)", f);

	if (r < 0)
		return r;
	word = next_word(&at);
	if (!word)
		return fail_set(f, -EINVAL, "which directory? the path is missing");
	r = set_path(ret, word, f);
	while (r == 0 && (word = next_word(&at))) {
		size_t len = strcspn(word, "=");
		const struct setting *setting = word[len] ? find(ret, word, len) : NULL;

		if (!setting)
			return fail_set(f, -EINVAL,
				"unknown word %.100s (a path with blanks goes "
				"into quotes)",
				word);
		r = setting->set(ret, word + len + 1, f);
	}
	return r;
}

/* A member of the JSON object. */
struct member {
	struct checkpoint_request *request;
	bool plan, op_only, has_op;
	struct fail *f;
};

static int text_of(
	const struct json_object *value, const char *key, const char **ret, struct fail *f)
{
	size_t len;

	if (json_in_type(value) != JSON_IN_STRING)
		return fail_set(f, -EINVAL, "\"%.40s\" is not a string", key);
	*ret = json_in_string(value, &len);
	return strlen(*ret) == len ? 0 : fail_set(f, -EINVAL, "\"%.40s\" holds a NUL byte", key);
}

static int take_exclude(struct member *m, const struct json_object *value)
{
	const char *text;
	int r = 0;

	if (json_in_type(value) != JSON_IN_ARRAY)
		return fail_set(m->f, -EINVAL, "\"exclude\" is not an array of names");
	for (size_t i = 0; r == 0 && i < json_in_array_len(value); i++) {
		r = text_of(json_in_array_at(value, i), "exclude", &text, m->f);
		if (r == 0)
			r = add_exclude(m->request, text, strlen(text), m->f);
	}
	return r;
}

static int take_timeout(struct member *m, const struct json_object *value)
{
	double seconds = json_in_type(value) == JSON_IN_NUMBER ? json_in_number(value) : 0;

	if (!(seconds >= 1 && seconds <= TIMEOUT_MAX_SEC) || seconds != (double)(uint64_t)seconds)
		return fail_set(m->f, -EINVAL, "\"timeout\" is not a positive number of seconds");
	m->request->timeout_sec = (uint64_t)seconds;
	return 0;
}

static int take_member(const char *key, const struct json_object *value, void *arg)
{
	struct member *m = arg;
	const struct setting *setting;
	const char *text;
	int r;

	if (!strcmp(key, "op")) {
		if (!m->op_only)
			return 0;
		m->has_op = true;
		r = text_of(value, key, &text, m->f);
		return r < 0 || (m->plan && !strcmp(text, "plan")) ? r
								   : set_op(m->request, text, m->f);
	}
	if (m->op_only)
		return 0;
	setting = find(m->request, key, strlen(key));
	if (!strcmp(key, "exclude") && setting)
		return take_exclude(m, value);
	if (!strcmp(key, "timeout"))
		return take_timeout(m, value);
	if (!setting && strcmp(key, "path") != 0)
		return fail_set(m->f, -EINVAL, "unknown key \"%.100s\"", key);
	r = text_of(value, key, &text, m->f);
	if (r < 0)
		return r;
	return setting ? setting->set(m->request, text, m->f) : set_path(m->request, text, m->f);
}

static int parse_json(
	const char *text, size_t len, bool plan, struct checkpoint_request *ret, struct fail *f)
{
	struct json_object *object auto_call(json_in_free) = NULL;
	struct member m = {.request = ret, .plan = plan, .op_only = true, .f = f};
	int r = json_in_object(text, len, &object, f);

	if (r < 0)
		return r;
	/* Which keys there are depends on the operation. */
	r = json_in_each(object, take_member, &m);
	if (r == 0 && !plan && !m.has_op)
		r = fail_set(f, -EINVAL, "\"op\" is missing: persist or restore");
	m.op_only = false;
	if (r == 0)
		r = json_in_each(object, take_member, &m);
	if (r == 0 && !ret->path)
		r = fail_set(f, -EINVAL, "\"path\" is missing");
	return r;
}

int checkpoint_request_parse(
	const char *text, size_t len, bool plan, struct checkpoint_request *ret, struct fail *f)
{
	char *copy auto_free = NULL;
	size_t space = strspn(text, " \t\r\n");

	*ret = (struct checkpoint_request){.op = plan ? CHECKPOINT_PLAN : CHECKPOINT_PERSIST,
		.timeout_sec = CHECKPOINT_TIMEOUT_SEC};
	if (text[space] == '{')
		return parse_json(text, len, plan, ret, f);
	if (strlen(text) != len)
		return fail_set(f, -EINVAL, "the request holds a NUL byte");
	copy = strdup(text);
	return copy ? parse_words(copy, plan, ret, f) : -ENOMEM;
}

void checkpoint_request_clear(struct checkpoint_request *request)
{
	free(request->path);
	free(request->if_match);
	free(request->etag);
	buf_clear(&request->exclude);
	*request = (struct checkpoint_request){0};
}

int checkpoint_request_below(struct checkpoint_request *request, const char *cwd)
{
	struct buf path = {0};

	if (request->path[0] == '/')
		return 0;
	buf_printf(&path, "%s/%s", cwd, request->path);
	if (path.error) {
		buf_clear(&path);
		return -ENOMEM;
	}
	free(request->path);
	request->path = buf_take(&path);
	return request->path ? 0 : -ENOMEM;
}
