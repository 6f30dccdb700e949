// Reading single values of settings.
#include "common/config_value.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "common/buf.h"
#include "common/config.h"
#include "common/scope.h"

#define SECONDS_MAX 1000000000ULL

bool config_value_is_name(const char *text)
{
	size_t len = strlen(text);

	if (len == 0 || len > CONFIG_NAME_MAX || text[0] == '.' || text[0] == '-')
		return false;
	for (size_t i = 0; i < len; i++) {
		unsigned char c = (unsigned char)text[i];

		if (c < 0x20 || c == 0x7f || c == '/')
			return false;
	}
	return true;
}

bool config_value_is_net(const char *text)
{
	return strcmp(text, "user") == 0 || strcmp(text, "proxy") == 0 ||
	       strcmp(text, "none") == 0 || strcmp(text, "host") == 0;
}

/* One entry: a name, or "*.NAME" or ".NAME", and perhaps "=PORT". */
static bool is_host(const char *text, size_t len)
{
	const char *equals = memchr(text, '=', len);
	size_t name = equals ? (size_t)(equals - text) : len;
	size_t digits = equals ? len - name - 1 : 1;

	if (name > 1 && text[0] == '*' && text[1] == '.') {
		text++;
		name--;
	}
	if (name == 0 || name > 253 || (name == 1 && *text == '.') || digits == 0 || digits > 5 ||
		(equals && (strspn(equals + 1, "0123456789") < digits ||
				   strtoul(equals + 1, NULL, 10) - 1 >= 65535)))
		return false;
	for (size_t i = 0; i < name; i++)
		if (!isalnum((unsigned char)text[i]) && !strchr(".-_", text[i]))
			return false;
	return true;
}

bool config_value_is_hosts(const char *text)
{
	for (;; text++) {
		size_t len = strcspn(text, ":");

		if (!is_host(text, len))
			return false;
		text += len;
		if (!*text)
			return true;
	}
}

/* Decimal digits only, the end in *end. */
static int digits(const char *text, const char **end, uint64_t *ret)
{
	uint64_t value = 0;
	const char *p = text;

	for (; *p >= '0' && *p <= '9'; p++) {
		if (__builtin_mul_overflow(value, 10, &value) ||
			__builtin_add_overflow(value, (uint64_t)(*p - '0'), &value))
			return -ERANGE;
	}
	if (p == text)
		return -EINVAL;
	*end = p;
	*ret = value;
	return 0;
}

int config_value_count(const char *text, uint64_t *ret)
{
	const char *end;
	uint64_t value;
	int r = digits(text, &end, &value);

	if (r < 0)
		return r;
	if (*end)
		return -EINVAL;
	*ret = value;
	return 0;
}

/* ".5" of a unit, as bytes rounded down. */
static uint64_t fraction(const char **at, uint64_t unit)
{
	long double part = 0, place = 0.1L;
	const char *p = *at;

	for (; *p >= '0' && *p <= '9'; p++, place /= 10)
		part += place * (*p - '0');
	*at = p;
	/* The digits are not exact in binary: 0.1 of a unit must not become one byte less. */
	return (uint64_t)(part * (long double)unit + 1e-6L);
}

/* K, KB and KiB are all 1024. */
static int unit_of(const char *text, uint64_t *ret)
{
	static const char letters[] = "KMGTPE";
	const char *found = *text ? strchr(letters, toupper((unsigned char)*text)) : NULL;

	if (*text == '\0' || strcasecmp(text, "B") == 0) {
		*ret = 1;
		return 0;
	}
	if (!found)
		return -EINVAL;
	text++;
	if (*text && strcasecmp(text, "B") != 0 && strcasecmp(text, "iB") != 0)
		return -EINVAL;
	*ret = (uint64_t)1 << (10 * (found - letters + 1));
	return 0;
}

int config_parse_bytes(const char *text, uint64_t *ret)
{
	const char *end, *dot = NULL;
	uint64_t whole, unit, value;
	int r = digits(text, &end, &whole);

	if (r < 0)
		return r;
	if (*end == '.') {
		dot = ++end;
		end += strspn(end, "0123456789");
		if (end == dot)
			return -EINVAL;
	}
	r = unit_of(end, &unit);
	if (r < 0)
		return r;
	if (dot && unit == 1)
		return -EINVAL;
	if (__builtin_mul_overflow(whole, unit, &value))
		return -ERANGE;
	if (dot && __builtin_add_overflow(value, fraction(&dot, unit), &value))
		return -ERANGE;
	*ret = value;
	return 0;
}

int config_parse_seconds(const char *text, uint64_t *ret)
{
	static const struct {
		const char *unit;
		uint64_t seconds;
	} units[] = {{"", 1}, {"s", 1}, {"m", 60}, {"h", 3600}, {"d", 86400}};
	const char *end;
	uint64_t value;
	int r = digits(text, &end, &value);

	if (r < 0)
		return r;
	for (size_t i = 0; i < ARRAY_LEN(units); i++) {
		if (strcmp(end, units[i].unit) != 0)
			continue;
		if (__builtin_mul_overflow(value, units[i].seconds, &value) || value > SECONDS_MAX)
			return -ERANGE;
		*ret = value;
		return 0;
	}
	return -EINVAL;
}

int config_value_real(const char *text, double *ret)
{
	char *end;
	double value;

	/* strtod() also knows hexadecimal, inf and nan. */
	if (!*text || text[strspn(text, "0123456789.")])
		return -EINVAL;
	value = strtod(text, &end);
	if (*end || end == text)
		return -EINVAL;
	if (!isfinite(value))
		return -ERANGE;
	*ret = value;
	return 0;
}

int config_value_flag(const char *text, bool *ret)
{
	static const char *const yes[] = {"yes", "true", "on", "1"};
	static const char *const no[] = {"no", "false", "off", "0"};

	for (size_t i = 0; i < ARRAY_LEN(yes); i++) {
		if (strcasecmp(text, yes[i]) == 0 || strcasecmp(text, no[i]) == 0) {
			*ret = strcasecmp(text, yes[i]) == 0;
			return 0;
		}
	}
	return -EINVAL;
}

int config_value_path(const char *text, char **ret)
{
	auto_free char *here = NULL;
	auto_buf struct buf path = {0};

	if (!*text || strlen(text) >= PATH_MAX)
		return -EINVAL;
	if (text[0] != '/') {
		here = getcwd(NULL, 0);
		if (!here)
			return -errno;
		buf_printf(&path, "%s/", here);
	}
	buf_add_str(&path, text);
	*ret = buf_take(&path);
	return *ret ? 0 : -ENOMEM;
}
