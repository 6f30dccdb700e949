// Settings from a command line or an fstab line: -o KEY=VALUE,KEY=VALUE.
#include "common/config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/config_key.h"
#include "common/scope.h"

/* Words that mount(8) and fstab(5) bring along; they say who mounts, and when, or what a sandbox is
 * anyway (nosuid, nodev). "ro" is not among them: it would be a promise that is not kept. */
static const char *const mount_words[] = {"_netdev", "async", "atime", "auto", "defaults", "dev",
	"exec", "group", "loud", "noatime", "noauto", "nodev", "nodiratime", "noexec", "nofail",
	"nosuid", "nouser", "owner", "relatime", "norelatime", "rw", "silent", "strictatime",
	"suid", "sync", "user", "users"};
static const char *const mount_starts[] = {"x-", "X-", "comment=", "user=", "helper=", "uhelper="};

static bool is_mount_word(const char *item)
{
	for (size_t i = 0; i < ARRAY_LEN(mount_words); i++) {
		if (strcmp(item, mount_words[i]) == 0)
			return true;
	}
	for (size_t i = 0; i < ARRAY_LEN(mount_starts); i++) {
		if (strncmp(item, mount_starts[i], strlen(mount_starts[i])) == 0)
			return true;
	}
	return false;
}

/* item is changed. */
static int set_item(struct config *c, char *item, struct fail *f)
{
	const struct config_key *key;
	char *value = strchr(item, '=');

	if (!*item || is_mount_word(item))
		return 0;
	if (value) {
		*value++ = '\0';
		return config_set(c, item, value, "-o", f);
	}
	key = config_key_find(item);
	if (key && key->kind != CONFIG_FLAG)
		return fail_set(f, -EINVAL, "-o: %s: needs a value: %s=%s", item, item,
			config_key_metavar(key));
	return config_set(c, item, "yes", "-o", f);
}

/* Takes one item off the list into to; the place after its comma, NULL at the end. */
static const char *next_item(const char *at, struct buf *to)
{
	buf_reset(to);
	for (; *at && *at != ','; at++) {
		if (*at == '\\' && (at[1] == ',' || at[1] == '\\'))
			at++;
		buf_add_char(to, *at);
	}
	return *at ? at + 1 : NULL;
}

int config_set_options(struct config *c, const char *options, struct fail *f)
{
	auto_buf struct buf item = {0};
	int r = 0;

	for (const char *at = options; at && r == 0;) {
		at = next_item(at, &item);
		if (item.error)
			return item.error;
		if (item.data)
			r = set_item(c, item.data, f);
	}
	return r;
}
