// Reading single values of settings: names, paths, numbers, yes and no. Sizes and seconds, which
// others read too, are declared in config.h.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define CONFIG_NAME_MAX 200

/* Whether text can name a sandbox or a project: not empty, no '/', no control characters, at most
 * CONFIG_NAME_MAX bytes, not starting with '.' or '-'. */
bool config_value_is_name(const char *text);

bool config_value_is_net(const char *text);

/* Host names separated by colons. */
bool config_value_is_hosts(const char *text);

/* Each returns 0, -EINVAL or -ERANGE; *ret is set on success only. */
int config_value_count(const char *text, uint64_t *ret);
int config_value_real(const char *text, double *ret);
int config_value_flag(const char *text, bool *ret);

/* The path made absolute at the current directory; *ret is owned by the caller. 0 or -errno. */
int config_value_path(const char *text, char **ret);
