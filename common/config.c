// Setting one key from text, whoever the text came from.
#include "common/config.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "common/config_key.h"
#include "common/config_value.h"
#include "common/scope.h"

static void *field(struct config *c, const struct config_key *key)
{
	return (char *)c + key->offset;
}

static bool is_text(const struct config_key *key)
{
	return key->kind <= CONFIG_HOSTS;
}

/* Takes text over. */
static int set_text(struct config *c, const struct config_key *key, char *text)
{
	char **place = field(c, key);

	if (!text)
		return -ENOMEM;
	free(*place);
	*place = text;
	return 0;
}

static int set_path(struct config *c, const struct config_key *key, const char *value)
{
	char *text = NULL;
	int r = config_value_path(value, &text);

	return r < 0 ? r : set_text(c, key, text);
}

static int set_checked(
	struct config *c, const struct config_key *key, const char *value, bool is_valid)
{
	return is_valid ? set_text(c, key, strdup(value)) : -EINVAL;
}

static int set_number(struct config *c, const struct config_key *key, const char *value)
{
	uint64_t number;
	int r = key->kind == CONFIG_BYTES     ? config_parse_bytes(value, &number)
		: key->kind == CONFIG_SECONDS ? config_parse_seconds(value, &number)
					      : config_value_count(value, &number);

	if (r < 0)
		return r;
	if ((number < key->min && !(number == 0 && key->zero_help)) || number > key->max)
		return -ERANGE;
	*(uint64_t *)field(c, key) = number;
	return 0;
}

static int set_real(struct config *c, const struct config_key *key, const char *value)
{
	double number;
	int r = config_value_real(value, &number);

	if (r < 0)
		return r;
	if (number > (double)key->max)
		return -ERANGE;
	*(double *)field(c, key) = number;
	return 0;
}

static int set_value(struct config *c, const struct config_key *key, const char *value)
{
	switch (key->kind) {
	case CONFIG_NAME:
		return set_checked(c, key, value, config_value_is_name(value));
	case CONFIG_PATH:
		return set_path(c, key, value);
	case CONFIG_NET:
		return set_checked(c, key, value, config_value_is_net(value));
	case CONFIG_HOSTS:
		return set_checked(c, key, value, config_value_is_hosts(value));
	case CONFIG_REAL:
		return set_real(c, key, value);
	case CONFIG_FLAG:
		return config_value_flag(value, field(c, key));
	default:
		return set_number(c, key, value);
	}
}

int config_set(
	struct config *c, const char *key, const char *value, const char *where, struct fail *f)
{
	const struct config_key *found = config_key_find(key);
	char allowed[160];
	int r;

	if (!found)
		return fail_set(f, -EINVAL,
			"%s: unknown setting '%.60s' (sandpit mount --help lists them)", where,
			key);
	r = set_value(c, found, value);
	if (r == 0 || r == -ENOMEM)
		return r;
	config_key_allowed(found, allowed, sizeof(allowed));
	return fail_set(f, -EINVAL, "%s: %s: '%.60s' %s; allowed: %s", where, key, value,
		r == -ERANGE ? "is out of range" : "is not valid", allowed);
}

int config_init(struct config *c)
{
	*c = (struct config){0};
	for (size_t i = 0; i < config_keys_len; i++) {
		const struct config_key *key = &config_keys[i];
		int r = key->standard ? set_value(c, key, key->standard) : 0;

		if (r < 0) {
			config_clear(c);
			return r;
		}
	}
	return 0;
}

void config_clear(struct config *c)
{
	config_kernels_clear(c);
	for (size_t i = 0; i < config_keys_len; i++) {
		if (is_text(&config_keys[i]))
			free(*(char **)field(c, &config_keys[i]));
	}
	*c = (struct config){0};
}
