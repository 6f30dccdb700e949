// What a run is asked to do: the JSON of ctl/run.json and the defaults that it falls back on.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/buf.h"
#include "common/fail.h"
#include "runner/sandbox.h"

#define RUN_TEXT_MAX (1024 * 1024) /* bytes of a command, and of a request */
#define RUN_NAME_MAX 64

struct run_request {
	char *id; /* owned; NULL: the next number */
	char *cmd; /* owned; shell text, or the words joined for people */
	size_t cmd_len;
	char **argv; /* owned, NULL-terminated; NULL: shell text */
	char *shell; /* owned; NULL: /bin/sh */
	char *cwd; /* owned; NULL: the default */
	char *user; /* owned; NULL: the default */
	char **env; /* owned, NULL-terminated "K=V", over the defaults; NULL: none */
	uint64_t timeout_usec; /* 0: none */
	bool has_timeout;
	char *stdin_data; /* owned; NULL: none */
	size_t stdin_len;
	bool stdin_open;
	bool background;
	struct sandbox_limits limits;
};

/* The keys of ctl/run.json (SPEC "ctl/ and out/"). -EINVAL with the key and what is allowed. */
int run_request_parse(const char *text, size_t len, struct run_request *ret, struct fail *f);

/* Shell text. -EINVAL when it holds a NUL byte. */
int run_request_shell(const char *text, size_t len, struct run_request *ret, struct fail *f);
void run_request_clear(struct run_request *r);

/* Whether a name may be given to a run: [A-Za-z0-9][A-Za-z0-9._-]*, at most 64 bytes, not all
 * digits, not "last". */
bool run_request_name_ok(const char *name);

/* "K=V" lines (empty lines and lines that begin with # are passed over) into a NULL-terminated
 * array, owned by the caller through run_request_free_strings(). -EINVAL with the line. */
int run_request_parse_env(const char *text, size_t len, char ***ret, struct fail *f);

/* Whether commands could be given these: names without blanks, nothing longer than exec takes. Apart
 * from parsing since states of older versions may hold others. -EINVAL, -E2BIG. */
int run_request_check_env(char *const *pairs, struct fail *f);
void run_request_free_strings(char ***strings);

/* Seconds, with a fraction or not, into microseconds; 0 is none. -EINVAL when negative, not a
 * number, or over ten years. */
int run_request_parse_timeout(const char *text, uint64_t *ret_usec, struct fail *f);
