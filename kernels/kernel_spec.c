// Jupyter's kernelspecs as the daemon sees them. What they say is read inside only, by the driver.
#include "kernels/kernel_spec.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/buf.h"
#include "common/names.h"
#include "common/scope.h"
#include "runner/sandbox.h"

#define ENTRIES_MAX 10000 /* of a directory: nobody has as many kernels */

static int open_inside(const struct sandbox *sandbox, const char *path, int flags)
{
	struct open_how how = {.flags = (uint64_t)(flags | O_CLOEXEC),
		.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS};

	return (int)syscall(SYS_openat2, sandbox_tree_fd(sandbox), path, &how, sizeof(how));
}

static const char *value_of(char *const *env, const char *name)
{
	size_t len = strlen(name);

	for (; env && *env; env++)
		if (!strncmp(*env, name, len) && (*env)[len] == '=')
			return *env + len + 1;
	return NULL;
}

/* As kernels/jupyter/jupyter_spec.c looks through them. */
static void add_dirs(char *const *env, struct buf *to)
{
	const char *path = value_of(env, "JUPYTER_PATH"), *home = value_of(env, "HOME");

	if (path)
		buf_printf(to, "%s:", path);
	if (home)
		buf_printf(to, "%s/.local/share/jupyter:", home);
	buf_add_str(to, "/usr/local/share/jupyter:/usr/share/jupyter");
}

static bool is_spec(const struct sandbox *sandbox, const char *kernels, const char *name)
{
	struct buf path auto_buf = {0};
	struct stat st;

	buf_printf(&path, "%s/%s/kernel.json", kernels, name);
	int fd auto_close = open_inside(sandbox, buf_text(&path), O_PATH);
	return fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode);
}

/* Looks in one directory; names are told apart without case. */
static bool look(
	const struct sandbox *sandbox, const char *dir_path, const char *name, struct buf *names)
{
	struct buf path auto_buf = {0};
	const struct dirent *entry;
	bool found = false;
	DIR *dir auto_dir = NULL;

	buf_printf(&path, "%s/kernels", dir_path);
	dir = names_take(open_inside(sandbox, buf_text(&path), O_RDONLY | O_DIRECTORY));
	for (unsigned n = 0; dir && !found && n < ENTRIES_MAX && (entry = readdir(dir)); n++) {
		if (entry->d_name[0] == '.' || !is_spec(sandbox, buf_text(&path), entry->d_name))
			continue;
		buf_printf(names, " %s", entry->d_name);
		found = !strcasecmp(entry->d_name, name);
	}
	return found;
}

int kernel_spec_check(
	const struct sandbox *sandbox, char *const *env, const char *name, struct fail *f)
{
	struct buf dirs auto_buf = {0}, names auto_buf = {0};
	char *at, *dir;

	add_dirs(env, &dirs);
	if (dirs.error)
		return dirs.error;
	at = dirs.data;
	while ((dir = strsep(&at, ":")))
		if (*dir && look(sandbox, dir, name, &names))
			return 0;
	return fail_set(f, -EINVAL, "no kernelspec \"%.60s\" in the sandbox; there are:%.300s",
		name, names.len ? buf_text(&names) : " none");
}
