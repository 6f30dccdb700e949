// Where overlays can be mounted, and why not, where the kernel says no more than EINVAL.
#include "runner/sandbox.h"

#include <errno.h>
#include <limits.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/vfs.h>

#include "common/scope.h"

bool sandbox_takes_layers(int dir_fd)
{
	struct statfs fs;

	return fstatfs(dir_fd, &fs) < 0 || fs.f_type != OVERLAYFS_SUPER_MAGIC;
}

/* A mount that lies on something below dir. */
static bool find_mount_below(const char *dir, char ret[PATH_MAX])
{
	FILE *file = fopen("/proc/self/mountinfo", "re");
	char *line auto_free = NULL;
	size_t room = 0, len = strlen(dir);
	bool found = false;

	if (!file)
		return false;
	while (!found && getline(&line, &room, file) > 0) {
		found = sscanf(line, "%*d %*d %*s %*s %4095s", ret) == 1 &&
			strncmp(ret, dir, len) == 0 && ret[len] == '/';
	}
	fclose(file);
	return found;
}

bool sandbox_explain_overlay(const char *lower, int layers_fd, const char *state_path, bool is_root,
	int err, struct fail *f)
{
	char below[PATH_MAX];

	if (err != -EINVAL)
		return false;
	if (!sandbox_takes_layers(layers_fd)) {
		fail_set(f, err,
			"%s lies on an overlay, as all of a container does but its volumes: set "
			"XDG_STATE_HOME, or state=, to a directory on a volume (docker -v), or on a "
			"tmpfs, where it is lost with the container",
			state_path);
		return true;
	}
	/* The kernel does not let a user namespace see what a mount of others hides. */
	if (!is_root && find_mount_below(lower, below)) {
		fail_set(f, err,
			"%s cannot be shared with the sandbox as long as something is mounted at %s: "
			"unmount that, mount the sandbox as root, or use rootfs=",
			lower, below);
		return true;
	}
	return false;
}
