// Writes JSON text. The caller calls in the order of the document; commas are put in by itself.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "common/buf.h"

struct json_out {
	struct buf *to; /* borrowed */
	bool comma; /* the next value or key needs a comma before it */
};

void json_out_begin(struct json_out *j, struct buf *to);

/* key is NULL inside an array and for the top value; it is a literal of ours, never escaped. */
void json_out_object(struct json_out *j, const char *key);
void json_out_object_end(struct json_out *j);
void json_out_array(struct json_out *j, const char *key);
void json_out_array_end(struct json_out *j);
void json_out_string(struct json_out *j, const char *key, const char *text);

/* Bytes that are not UTF-8 become U+FFFD, one for each maximal wrong part (as WHATWG decodes).
 * Returns whether all of it was UTF-8. */
bool json_out_bytes(struct json_out *j, const char *key, const void *data, size_t len);

/* A string with the data in base64. */
void json_out_base64(struct json_out *j, const char *key, const void *data, size_t len);
void json_out_int(struct json_out *j, const char *key, int64_t value);
void json_out_uint(struct json_out *j, const char *key, uint64_t value);
void json_out_double(struct json_out *j, const char *key, double value);
void json_out_bool(struct json_out *j, const char *key, bool value);
void json_out_null(struct json_out *j, const char *key);

/* text is JSON already and stands as it is. */
void json_out_raw(struct json_out *j, const char *key, const char *text, size_t len);

/* Whether all of it is UTF-8 (no surrogates, no overlong forms, at most U+10FFFF). */
bool json_out_is_utf8(const void *data, size_t len);
