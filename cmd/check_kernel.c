// Checks of what the kernel offers: FUSE, user namespaces, cgroups, seccomp.
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/capability.h>
#include <linux/seccomp.h>
#include <pwd.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "cmd/check.h"
#include "common/mount_table.h"
#include "common/program.h"
#include "common/scope.h"

static long read_number(const char *path, long otherwise)
{
	FILE *file = fopen(path, "re");
	long value = otherwise;

	if (!file)
		return otherwise;
	if (fscanf(file, "%ld", &value) != 1)
		value = otherwise;
	fclose(file);
	return value;
}

enum check_result check_fuse(struct buf *why)
{
	auto_close int fd = open("/dev/fuse", O_RDWR | O_CLOEXEC);

	if (fd >= 0)
		return buf_add_str(why, "/dev/fuse"), CHECK_OK;
	if (errno == EACCES)
		buf_add_str(why, "/dev/fuse may not be opened: chmod 666 /dev/fuse (udev does it "
				 "at start)");
	else if (errno == EPERM)
		buf_add_str(why, "/dev/fuse is not allowed in this container: --device /dev/fuse");
	else
		buf_printf(why, "/dev/fuse: %s (modprobe fuse; in a container --device /dev/fuse)",
			strerror(errno));
	return CHECK_MISSING;
}

enum check_result check_fusermount(struct buf *why)
{
	char path[PATH_MAX];
	struct fail f = {0};

	if (program_may(CAP_SYS_ADMIN))
		return buf_add_str(why, "not needed by who may mount"), CHECK_UNUSED;
	if (geteuid() == 0) {
		buf_add_str(why, "root may not mount here (it lacks CAP_SYS_ADMIN): in a container "
				 "--cap-add SYS_ADMIN --device /dev/fuse");
		return CHECK_MISSING;
	}
	if (!program_find("fusermount3", path, sizeof(path)))
		return buf_add_str(why, "fusermount3 is missing: apt install fuse3"), CHECK_MISSING;
	if (program_gains(path, CAP_SYS_ADMIN, &f) < 0)
		return buf_add_str(why, f.text), CHECK_MISSING;
	if (!getpwuid(getuid())) {
		buf_printf(why,
			"the user id %u has no name, and fusermount3 asks for it: echo "
			"user:x:%u:%u::/tmp:/bin/sh >>/etc/passwd (as root), or mount as root",
			getuid(), getuid(), getgid());
		return CHECK_MISSING;
	}
	buf_add_str(why, path);
	return CHECK_OK;
}

/* Nothing is mounted at / of those that are changed by chroot(2), as seldom is where it was. */
static bool is_chrooted(void)
{
	auto_mount_table struct mount_table table = {0};
	struct mount_entry entry;

	if (mount_table_open(&table) < 0)
		return false;
	while (mount_table_next(&table, &entry) > 0) {
		if (strcmp(entry.dir, "/") == 0)
			return false;
	}
	return true;
}

int check_allow_other(struct fail *f)
{
	FILE *file = fopen("/etc/fuse.conf", "re");
	char line[256], word[32];
	bool found = program_may(CAP_SYS_ADMIN);

	while (!found && file && fgets(line, sizeof(line), file))
		found = sscanf(line, "%31s", word) == 1 && strcmp(word, "user_allow_other") == 0;
	if (file)
		fclose(file);
	return found ? 0
		     : fail_set(f, -EPERM,
			       "allow_other is for users only where /etc/fuse.conf has a line "
			       "user_allow_other");
}

enum check_result check_user_namespaces(struct buf *why)
{
	int r = check_in_child(check_enter_user_namespace);

	if (r == 0)
		return buf_add_str(why, "can be made"), CHECK_OK;
	if (read_number("/proc/sys/user/max_user_namespaces", 1) == 0)
		buf_add_str(why, "no user namespaces: sysctl user.max_user_namespaces=10000");
	else if (read_number("/proc/sys/kernel/unprivileged_userns_clone", 1) == 0)
		buf_add_str(why, "no user namespaces: sysctl kernel.unprivileged_userns_clone=1");
	else if (read_number("/proc/sys/kernel/apparmor_restrict_unprivileged_userns", 0) != 0)
		buf_add_str(why,
			"no user namespaces: sysctl kernel.apparmor_restrict_unprivileged_userns=0");
	else if (r == -EPERM && is_chrooted())
		buf_add_str(why,
			"no user namespaces: the kernel lets none be made in a chroot; enter "
			"the tree with bwrap, systemd-nspawn or docker, which change the root");
	else if (r == -EAGAIN)
		buf_add_str(why, "no process more can be started: raise the limit (ulimit -u; a "
				 "container's pids limit)");
	else
		buf_printf(why,
			"no user namespaces in which to mount: %s (in a container: --security-opt "
			"seccomp=unconfined)",
			strerror(-r));
	return CHECK_MISSING;
}

/* Whether /etc/subuid or /etc/subgid has a line NAME:... or UID:... */
static bool has_range(const char *path, const char *name)
{
	FILE *file = fopen(path, "re");
	char line[256], uid[32];
	bool found = false;

	if (!file)
		return false;
	snprintf(uid, sizeof(uid), "%u", getuid());
	while (!found && fgets(line, sizeof(line), file)) {
		line[strcspn(line, ":")] = '\0';
		found = strcmp(line, name) == 0 || strcmp(line, uid) == 0;
	}
	fclose(file);
	return found;
}

enum check_result check_uid_ranges(struct buf *why)
{
	const struct passwd *user = getpwuid(getuid());
	const char *name = user ? user->pw_name : "USER";
	char path[PATH_MAX];
	struct fail f = {0};

	if (geteuid() == 0)
		return buf_add_str(why, "root needs none"), CHECK_UNUSED;
	if (!program_find("newuidmap", path, sizeof(path))) {
		buf_add_str(why, "apt install uidmap (without, a sandbox has one user only)");
		return CHECK_MISSING;
	}
	if (!has_range("/etc/subuid", name) || !has_range("/etc/subgid", name)) {
		buf_printf(why,
			"usermod --add-subuids 100000-165535 --add-subgids 100000-165535 %s "
			"(without, a sandbox has one user only)",
			name);
		return CHECK_MISSING;
	}
	if (program_gains(path, CAP_SETUID, &f) < 0)
		return buf_add_str(why, f.text), CHECK_MISSING;
	buf_add_str(why, "newuidmap, /etc/subuid, /etc/subgid");
	return CHECK_OK;
}

/* Whether a cgroup can be made below where this process is. */
static bool can_make_group(const char *parent)
{
	char path[4096];

	if (snprintf(path, sizeof(path), "%s/sandpit-check-%ld", parent, (long)getpid()) >=
		(int)sizeof(path))
		return false;
	return mkdir(path, 0755) == 0 && rmdir(path) == 0;
}

/* A version 2 group can limit only what it has controllers for; version 1 may have them all. */
static bool has_controllers(const char *group)
{
	char path[8400], line[256] = "";
	FILE *file;

	snprintf(path, sizeof(path), "%s/cgroup.controllers", group);
	file = fopen(path, "re");
	if (!file)
		return false;
	if (!fgets(line, sizeof(line), file))
		line[0] = '\0';
	fclose(file);
	return strstr(line, "memory") || strstr(line, "pids") || strstr(line, "cpu");
}

/* Where the hierarchy is mounted: alone, or beside version 1. */
static const char *unified_root(void)
{
	if (access("/sys/fs/cgroup/cgroup.procs", F_OK) == 0)
		return "/sys/fs/cgroup";
	if (access("/sys/fs/cgroup/unified/cgroup.procs", F_OK) == 0)
		return "/sys/fs/cgroup/unified";
	return NULL;
}

enum check_result check_cgroups(struct buf *why)
{
	FILE *file = fopen("/proc/self/cgroup", "re");
	const char *root = unified_root();
	bool v1 = false, v2 = false;
	char line[4096], path[8300];

	while (file && fgets(line, sizeof(line), file)) {
		char *place = strrchr(line, ':');

		line[strcspn(line, "\n")] = '\0';
		if (place && strncmp(line, "0::", 3) == 0 && root) {
			snprintf(path, sizeof(path), "%s%s", root, place + 1);
			v2 = has_controllers(path) && can_make_group(path);
		} else if (place && strstr(line, ":memory:")) {
			snprintf(path, sizeof(path), "/sys/fs/cgroup/memory%s", place + 1);
			v1 = can_make_group(path);
		}
	}
	if (file)
		fclose(file);
	if (v1 || v2) {
		buf_printf(why, "%s%s%s", v2 ? "version 2" : "", v1 && v2 ? ", " : "",
			v1 ? "version 1 (memory)" : "");
		return CHECK_OK;
	}
	buf_add_str(why, "none may be made here: limits by rlimits (as a user: systemd-run --user "
			 "--scope -p Delegate=yes sandpit mount ...)");
	return CHECK_MISSING;
}

enum check_result check_seccomp(struct buf *why)
{
	unsigned action = SECCOMP_RET_ERRNO;

	if (syscall(SYS_seccomp, SECCOMP_GET_ACTION_AVAIL, 0, &action) == 0)
		return buf_add_str(why, "filters can be set"), CHECK_OK;
	buf_printf(why, "%s: the kernel lacks CONFIG_SECCOMP_FILTER", strerror(errno));
	return CHECK_MISSING;
}
