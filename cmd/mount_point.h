// Mount points: what is at a path, whether a sandbox may be mounted there, and taking mounts away.
#pragma once

#include <stdbool.h>

#include "common/fail.h"

struct mount_point {
	int fd; /* owned; O_PATH */
	char *path; /* owned; absolute, without links */
	char *type; /* owned; of what is mounted exactly here; NULL: nothing is */
	long user; /* who mounted it, as the kernel tells, of a FUSE mount; else -1 */
};

/* Looks at a directory, whatever is mounted there; does not wait for a daemon. -ENOENT, -ENOTDIR...
 * with words. Source: /proc/self/fdinfo in proc(5). */
int mount_point_open(const char *path, struct mount_point *ret, struct fail *f);
void mount_point_close(struct mount_point *point);

/* Whether a sandbox, alive or dead, is mounted exactly here. */
bool mount_point_is_sandbox(const struct mount_point *point);

/* Whether the daemon behind the mount is gone ("Transport endpoint is not connected"). */
bool mount_point_is_dead(const struct mount_point *point);

/* Takes the topmost mount at path away; lazily also when it is in use. 0, -EBUSY or another -errno
 * with words. */
int mount_point_detach(const char *path, bool lazily, struct fail *f);

/* Takes away what dead sandboxes left mounted at path, and nothing else. 0 or -errno with words. */
int mount_point_clean(const char *path, struct fail *f);

/* Makes sure that a sandbox can be mounted at path, and gives its real path (owned by the caller).
 * -EBUSY: one is mounted already, or another program's dead mount is; -ENOTEMPTY. With words. */
int mount_point_prepare(const char *path, bool nonempty, char **ret, struct fail *f);

/* Whether path is dir or lies below it; both absolute, without links. */
bool mount_point_is_below(const char *path, const char *dir);

#define auto_mount_point __attribute__((cleanup(mount_point_close)))
