// Reads JSON requests.
#include "common/json_in.h"

#include <errno.h>
#include <json-c/json.h>
#include <limits.h>
#include <string.h>

#include "common/scope.h"

#define DEPTH 512
#define SCAN_SHORT 4096 /* bytes that are parsed again whenever some are added */

static void free_tokener(struct json_tokener **tokener)
{
	if (*tokener)
		json_tokener_free(*tokener);
}

/* What the parser expected, for people who wrote it by hand; it names its own states. */
static const char *wrong(enum json_tokener_error error)
{
	static const char *const words[] = {
		[json_tokener_error_depth] = "it is nested too deep",
		[json_tokener_error_parse_null] = "no value (text stands in double quotes)",
		[json_tokener_error_parse_boolean] = "no value (text stands in double quotes)",
		[json_tokener_error_parse_number] = "no number",
		[json_tokener_error_parse_array] = "\",\" or \"]\" expected",
		[json_tokener_error_parse_object_key_name] = "a key in double quotes expected",
		[json_tokener_error_parse_object_key_sep] = "\":\" expected after the key",
		[json_tokener_error_parse_object_value_sep] = "\",\" or \"}\" expected",
		[json_tokener_error_parse_string] = "no such escape in a string",
		[json_tokener_error_parse_comment] = "there are no comments in JSON",
		[json_tokener_error_parse_utf8_string] = "the text is not UTF-8",
	};
	const char *found = (size_t)error < ARRAY_LEN(words) ? words[error] : NULL;

	return found ? found : "unexpected character";
}

/* Bytes at the end that begin a character of UTF-8 and do not complete it: the parser takes them for
 * an error, also where the text goes on. */
static size_t begun(const char *text, size_t len)
{
	for (size_t back = 1; back <= 3 && back <= len; back++) {
		unsigned char c = (unsigned char)text[len - back];
		size_t needs = c > 0xf4 ? 1 : c >= 0xf0 ? 4 : c >= 0xe0 ? 3 : c >= 0xc0 ? 2 : 1;

		if ((c & 0xc0) != 0x80)
			return needs > back ? back : 0;
	}
	return 0;
}

int json_in_parse(const char *text, size_t len, struct json_object **ret, struct fail *f)
{
	struct json_tokener *tokener auto_call(free_tokener) = json_tokener_new_ex(DEPTH);
	struct json_object *object;
	enum json_tokener_error error;
	size_t end;

	if (!tokener)
		return -ENOMEM;
	if (len > INT_MAX)
		return fail_set(f, -EFBIG, "the JSON text is too long");
	json_tokener_set_flags(tokener, JSON_TOKENER_STRICT | JSON_TOKENER_ALLOW_TRAILING_CHARS |
						JSON_TOKENER_VALIDATE_UTF8);
	object = json_tokener_parse_ex(tokener, text, (int)(len - begun(text, len)));
	error = json_tokener_get_error(tokener);
	if (error == json_tokener_continue)
		return -EAGAIN;
	end = json_tokener_get_parse_end(tokener);
	if (error == json_tokener_success && end == 0)
		return -ENOMEM; /* it does not tell */
	if (error != json_tokener_success)
		return fail_set(f, -EINVAL, "not JSON: %s, at byte %zu", wrong(error), end);
	while (end < len && json_in_is_space(text[end]))
		end++; /* the text need not be followed by a NUL */
	if (end < len) {
		json_object_put(object);
		return fail_set(
			f, -EINVAL, "not JSON: more text after the value, at byte %zu", end);
	}
	*ret = object;
	return 0;
}

bool json_in_worth(struct json_in_scan *s, const char *text, size_t len)
{
	for (; s->seen < len && !s->closed; s->seen++) {
		char c = text[s->seen];

		if (s->in_string) {
			s->in_string = s->escaped || c != '"';
			s->escaped = !s->escaped && c == '\\';
		} else if (c == '"') {
			s->in_string = true;
		} else if (c == '{' || c == '[') {
			s->depth++;
		} else if (c == '}' || c == ']') {
			s->closed = s->depth <= 1;
			s->depth--;
		} else if (!s->depth) {
			s->closed = !json_in_is_space(c);
		}
	}
	if (!s->closed && len > SCAN_SHORT && len / 2 < s->parsed)
		return false;
	s->parsed = len;
	return true;
}

/* The first word, to be shown. */
static int not_object(const char *text, size_t len, struct fail *f)
{
	size_t shown = 0;

	if (len >= 3 && !memcmp(text, "\xef\xbb\xbf", 3))
		return fail_set(f, -EINVAL,
			"not JSON: it begins with a byte order mark; write it without one");
	while (shown < len && shown < 20 && (unsigned char)text[shown] > ' ')
		shown++;
	return fail_set(f, -EINVAL, "not a JSON object: it must begin with {, not with %.*s",
		shown ? (int)shown : 14, shown ? text : "a control byte");
}

int json_in_object(const char *text, size_t len, struct json_object **ret, struct fail *f)
{
	size_t space = 0;
	int r;

	while (space < len && json_in_is_space(text[space]))
		space++;
	if (space == len)
		return fail_set(f, -EINVAL, "the request is empty; write one JSON object");
	if (text[space] != '{')
		return not_object(text + space, len - space, f);
	r = json_in_parse(text, len, ret, f);
	return r == -EAGAIN ? fail_set(f, -EINVAL, "not JSON: the text ends before its last }") : r;
}

void json_in_free(struct json_object **object)
{
	json_object_put(*object);
	*object = NULL;
}

enum json_in_type json_in_type(const struct json_object *value)
{
	switch (json_object_get_type(value)) {
	case json_type_string:
		return JSON_IN_STRING;
	case json_type_boolean:
		return JSON_IN_BOOL;
	case json_type_int:
	case json_type_double:
		return JSON_IN_NUMBER;
	case json_type_array:
		return JSON_IN_ARRAY;
	case json_type_object:
		return JSON_IN_OBJECT;
	default:
		return JSON_IN_NULL;
	}
}

int json_in_each(const struct json_object *object,
	int (*each)(const char *key, const struct json_object *value, void *arg), void *arg)
{
	struct json_object_iterator at = json_object_iter_begin((struct json_object *)object);
	struct json_object_iterator end = json_object_iter_end(object);

	while (!json_object_iter_equal(&at, &end)) {
		int r = each(
			json_object_iter_peek_name(&at), json_object_iter_peek_value(&at), arg);

		if (r)
			return r;
		json_object_iter_next(&at);
	}
	return 0;
}

const struct json_object *json_in_get(const struct json_object *object, const char *key)
{
	struct json_object *value = NULL;

	if (json_object_get_type(object) == json_type_object)
		json_object_object_get_ex((struct json_object *)object, key, &value);
	return value;
}

const char *json_in_text(const struct json_object *value, size_t *ret_len)
{
	return json_object_to_json_string_length((struct json_object *)value,
		JSON_C_TO_STRING_PLAIN | JSON_C_TO_STRING_NOSLASHESCAPE, ret_len);
}

const char *json_in_string(const struct json_object *value, size_t *ret_len)
{
	struct json_object *mine = (struct json_object *)value;

	if (ret_len)
		*ret_len = (size_t)json_object_get_string_len(mine);
	return json_object_get_string(mine);
}

bool json_in_bool(const struct json_object *value)
{
	return json_object_get_boolean(value);
}

double json_in_number(const struct json_object *value)
{
	return json_object_get_double(value);
}

size_t json_in_array_len(const struct json_object *value)
{
	return json_object_array_length(value);
}

const struct json_object *json_in_array_at(const struct json_object *value, size_t at)
{
	return json_object_array_get_idx(value, at);
}
