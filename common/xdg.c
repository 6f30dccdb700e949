// Where a user's own files live.
#include "common/xdg.h"

#include <errno.h>
#include <pwd.h>
#include <stdlib.h>
#include <unistd.h>

#include "common/buf.h"
#include "common/scope.h"

/* The home of who runs us; a job started at boot has no HOME. */
static int home(struct buf *to)
{
	const char *set = getenv("HOME");
	struct passwd entry, *found = NULL;
	auto_free char *text = NULL;
	size_t size = 16384;

	if (set && set[0] == '/')
		return buf_add_str(to, set);
	text = malloc(size);
	if (!text)
		return -ENOMEM;
	if (getpwuid_r(getuid(), &entry, text, size, &found) != 0 || !found)
		return -ENOENT;
	if (found->pw_dir[0] != '/')
		return -ENOENT;
	return buf_add_str(to, found->pw_dir);
}

int xdg_path(const char *variable, const char *below_home, const char *tail, char **ret)
{
	const char *set = getenv(variable);
	auto_buf struct buf path = {0};
	int r;

	if (set && set[0] == '/') {
		buf_add_str(&path, set);
	} else {
		r = home(&path);
		if (r < 0)
			return r;
		buf_printf(&path, "/%s", below_home);
	}
	buf_printf(&path, "/%s", tail);
	*ret = buf_take(&path);
	return *ret ? 0 : -ENOMEM;
}
