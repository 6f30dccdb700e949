// Programs of the system that this one starts.
#include "common/program.h"

#include <errno.h>
#include <linux/capability.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "common/scope.h"

static bool is_in(const char *dirs, const char *name, char *path, size_t size)
{
	while (*dirs) {
		size_t len = strcspn(dirs, ":");

		if (dirs[0] == '/' &&
			snprintf(path, size, "%.*s/%s", (int)len, dirs, name) < (int)size &&
			access(path, X_OK) == 0)
			return true;
		dirs += len + (dirs[len] == ':');
	}
	return false;
}

bool program_in_system(const char *name, char *path, size_t size)
{
	return is_in(
		"/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", name, path, size);
}

const char *program_find(const char *name, char *path, size_t size)
{
	const char *own = getenv("PATH");

	return is_in("/usr/bin:/bin:/usr/local/bin:/usr/sbin", name, path, size) ||
			       is_in(own ? own : "", name, path, size)
		       ? path
		       : NULL;
}

bool program_may(int capability)
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3];

	if (syscall(SYS_capget, &header, data) < 0)
		return false;
	return data[capability / 32].effective & (1U << capability % 32);
}

/* A program may have the capability alone instead of all that root has. */
static bool is_privileged(const char *path, const struct stat *st)
{
	return (st->st_mode & S_ISUID && st->st_uid == 0) ||
	       getxattr(path, "security.capability", NULL, 0) > 0;
}

int program_gains(const char *path, int capability, struct fail *f)
{
	struct statvfs fs;
	struct stat st;

	if (prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1)
		return fail_set(f, -EPERM,
			"no_new_privs is set, so the set-user-ID program %s has no effect: start "
			"without it (docker: no --security-opt no-new-privileges; systemd: "
			"NoNewPrivileges=no), or mount as root",
			path);
	if (prctl(PR_CAPBSET_READ, capability, 0, 0, 0) == 0)
		return fail_set(f, -EPERM,
			"the set-user-ID program %s is not let have what it needs: in a container "
			"--cap-add SYS_ADMIN",
			path);
	if (stat(path, &st) < 0 || statvfs(path, &fs) < 0)
		return fail_errno(f, -errno, "%s", path);
	if (fs.f_flag & ST_NOSUID)
		return fail_set(f, -EPERM,
			"%s lies on a file system that is mounted nosuid, so it has no effect: mount "
			"-o remount,suid",
			path);
	if (!is_privileged(path, &st))
		return fail_set(f, -EPERM,
			"%s is not set-user-ID root: chown root %s && chmod u+s %s", path, path,
			path);
	return 0;
}
