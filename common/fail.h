// Why something failed, in words for a person, beside the errno that travels as the return value.
#pragma once

#include <stddef.h>

struct fail {
	char text[512]; /* one line, no final newline; empty when nothing was said */
};

/* Records the words (printf style; control characters are shown as \xNN) and returns err, a
 * negative errno, so that `return fail_set(...)` says both. f may be NULL. A later call for the
 * same failure replaces the words: the outer caller knows more. */
int fail_set(struct fail *f, int err, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* As fail_set, and ": strerror(-err)" is added. */
int fail_errno(struct fail *f, int err, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
