// Reads JSON requests: strict, UTF-8 only, and told in words what is wrong. The only home of json-c.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/fail.h"

struct json_object;

/* Parses one value of at most len bytes, white space around it allowed. *ret is to be given to
 * json_in_free(). -EINVAL with the place and the reason; -EAGAIN (no words) when the text is a
 * correct beginning that is not complete yet; -ENOMEM. */
int json_in_parse(const char *text, size_t len, struct json_object **ret, struct fail *f);

/* What is known of a text that comes in parts; all zeros: nothing. */
struct json_in_scan {
	size_t seen; /* bytes */
	size_t parsed; /* bytes of the text when it was last worth it */
	unsigned depth; /* objects and arrays that are open */
	bool in_string, escaped;
	bool closed; /* the value has ended, or is none */
};

/* Whether a text of which more has come is worth parsing: when its value is closed, and to find an
 * error in its middle at the latest when it has doubled. So that many small parts cost no more than a
 * few large ones. */
bool json_in_worth(struct json_in_scan *scan, const char *text, size_t len);

/* A request, which must be one whole object. -EINVAL with the reason, also when it is not whole. */
int json_in_object(const char *text, size_t len, struct json_object **ret, struct fail *f);
void json_in_free(struct json_object **object);

/* White space as JSON has it, also around other requests; a NUL byte is none. */
static inline bool json_in_is_space(char c)
{
	return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

enum json_in_type {
	JSON_IN_STRING,
	JSON_IN_BOOL,
	JSON_IN_NUMBER,
	JSON_IN_ARRAY,
	JSON_IN_OBJECT,
	JSON_IN_NULL
};

enum json_in_type json_in_type(const struct json_object *value);

/* Calls each(key, value, arg) for every member in the order of the text, until it returns non-zero;
 * returns that, else 0. A key that stands twice is called once, with the last value. */
int json_in_each(const struct json_object *object,
	int (*each)(const char *key, const struct json_object *value, void *arg), void *arg);

/* A member by name; NULL when there is none (or it is null, or object is no object). */
const struct json_object *json_in_get(const struct json_object *object, const char *key);

/* The value as JSON text; borrowed from it. */
const char *json_in_text(const struct json_object *value, size_t *ret_len);

/* The values; the caller has looked at the type. Strings are borrowed and may hold NUL bytes. */
const char *json_in_string(const struct json_object *value, size_t *ret_len);
bool json_in_bool(const struct json_object *value);
double json_in_number(const struct json_object *value);
size_t json_in_array_len(const struct json_object *value);
const struct json_object *json_in_array_at(const struct json_object *value, size_t at);
