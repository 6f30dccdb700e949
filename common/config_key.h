// The table of settings, for the files that read, check and describe them (config*.c) and tests.
#pragma once

#include <stddef.h>
#include <stdint.h>

enum config_kind {
	CONFIG_NAME, /* fit to be a file name, see config_value_is_name() */
	CONFIG_PATH,
	CONFIG_NET,
	CONFIG_HOSTS,
	CONFIG_BYTES,
	CONFIG_SECONDS,
	CONFIG_COUNT,
	CONFIG_REAL,
	CONFIG_FLAG,
};

struct config_key {
	const char *name;
	enum config_kind kind;
	size_t offset; /* in struct config */
	const char *standard; /* the default as text; NULL: none */
	const char *standard_help; /* said instead of standard; NULL: standard says it */
	uint64_t min, max; /* numbers; 0 is allowed below min when zero_help says what it means */
	const char *zero_help;
	const char *help;
};

extern const struct config_key config_keys[];
extern const size_t config_keys_len;

/* NULL when there is none. */
const struct config_key *config_key_find(const char *name);

/* What values the key takes, in words, into text. */
void config_key_allowed(const struct config_key *key, char *text, size_t size);

/* What a value is called in help: SIZE, SECONDS... NULL for a flag. */
const char *config_key_metavar(const struct config_key *key);
