// What lies in a new root: directories, links as on the host, and a copy of the host's /etc without
// its secrets. What a later start finds missing is made again; what is there is left alone.
#include "runner/sandbox_impl.h"

#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/buf.h"
#include "common/scope.h"
#include "runner/sandbox_copy.h"

#define RESOLVE_PLAIN (RESOLVE_IN_ROOT | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS)

static const struct {
	const char *path;
	mode_t mode;
	uid_t uid; /* and gid; only where it is mapped */
} dirs[] = {
	{"dev", 0755, 0},
	{"home", 0755, 0},
	{"home/user", 0755, SANDBOX_DEFAULT_UID},
	{"media", 0755, 0},
	{"mnt", 0755, 0},
	{"proc", 0555, 0},
	{"root", 0700, 0},
	{"run", 0755, 0},
	{"run/lock", 01777, 0},
	{"srv", 0755, 0},
	{"sys", 0555, 0},
	{"tmp", 01777, 0},
	{"var", 0755, 0},
	{"var/cache", 0755, 0},
	{"var/lib", 0755, 0},
	{"var/lib/sandpit-browser", 0755, 0},
	{"var/lib/sandpit-browser/downloads", 0755, 0}, /* what links of browser/ lead to */
	{"var/lib/sandpit-browser/shots", 0755, 0},
	{"var/log", 0755, 0},
	{"var/mail", 0755, 0},
	{"var/spool", 0755, 0},
	{"var/tmp", 01777, 0},
	{"work", 0777, 0},
	{"workspace", 0777, 0},
};

static const char *const links[][2] = {{"var/run", "/run"}, {"var/lock", "/run/lock"}};

/* Links on the host that the tree has, too. */
static const char *const host_links[] = {"bin", "sbin", "lib", "lib32", "lib64", "libx32"};

/* Opens the directory that path lies in; *ret_name points into path. */
static int open_parent(int root_fd, const char *path, const char **ret_name)
{
	const char *slash = strrchr(path, '/');
	char parent[256] = ".";

	*ret_name = slash ? slash + 1 : path;
	if (slash)
		snprintf(parent, sizeof(parent), "%.*s", (int)(slash - path), path);
	return sandbox_tree_openat2(root_fd, parent, O_PATH | O_DIRECTORY, RESOLVE_PLAIN);
}

/* Whether an error means that the sandbox put something else in the place, which is its affair, or
 * that the place belongs to somebody who has no id inside, as in the rootfs of an ordinary user. */
static bool is_taken(int err)
{
	return err == -EEXIST || err == -ELOOP || err == -ENOTDIR || err == -ENOENT ||
	       err == -EACCES || err == -EPERM;
}

static int make_dir(int root_fd, const char *path, mode_t mode, uid_t uid)
{
	const char *name;
	auto_close int parent_fd = open_parent(root_fd, path, &name);

	if (parent_fd < 0)
		return parent_fd;
	if (mkdirat(parent_fd, name, 0700) < 0)
		return -errno;
	auto_close int fd =
		openat(parent_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0 || fchown(fd, uid, uid) < 0 || fchmod(fd, mode) < 0)
		return -errno;
	return 0;
}

static int make_link(int root_fd, const char *path, const char *target)
{
	const char *name;
	auto_close int parent_fd = open_parent(root_fd, path, &name);

	if (parent_fd < 0)
		return parent_fd;
	return symlinkat(target, parent_fd, name) < 0 ? -errno : 0;
}

static int make_host_link(int root_fd, const char *name)
{
	char host[16], target[256];

	snprintf(host, sizeof(host), "/%s", name);
	ssize_t len = readlink(host, target, sizeof(target) - 1);
	if (len < 0)
		return 0;
	target[len] = '\0';
	return make_link(root_fd, name, target);
}

static int make_dirs_and_links(int root_fd, const struct sandbox_plan *plan, struct fail *f)
{
	int err;

	for (size_t i = 0; i < ARRAY_LEN(dirs); i++) {
		uid_t uid = plan->ids.single ? 0 : dirs[i].uid;
		err = make_dir(root_fd, dirs[i].path, dirs[i].mode, uid);
		if (err < 0 && !is_taken(err))
			return fail_errno(f, err, "creating /%s in the sandbox", dirs[i].path);
	}
	for (size_t i = 0; i < ARRAY_LEN(links); i++) {
		err = make_link(root_fd, links[i][0], links[i][1]);
		if (err < 0 && !is_taken(err))
			return fail_errno(f, err, "creating /%s in the sandbox", links[i][0]);
	}
	for (size_t i = 0; i < ARRAY_LEN(host_links) && !plan->config->rootfs; i++) {
		err = make_host_link(root_fd, host_links[i]);
		if (err < 0 && !is_taken(err))
			return fail_errno(f, err, "creating /%s in the sandbox", host_links[i]);
	}
	return 0;
}

/* Patterns of names below /etc that are not copied: secrets, the host's own identity, services and
 * desktops of the host, and what is made anew. Files that others may not read are left out
 * besides. */
static const char *const not_copied[] = {"*-", ".*", "NetworkManager", "PackageKit", "X11",
	"apache2", "apparmor*", "apt/auth.conf*", "avahi", "binfmt.d", "bluetooth", "cloud",
	"containers", "cron*", "cups", "dbus-1", "dhcp", "docker", "environment*", "exports*",
	"fstab", "gdm*", "gitconfig", "group", "grub.d", "gshadow*", "gss", "hostname", "hosts",
	"init", "initramfs-tools", "kernel", "krb5*", "kubernetes", "letsencrypt", "libvirt",
	"lighttpd", "logcheck", "logrotate*", "lvm", "machine-id", "mdadm", "modprobe.d",
	"modules-load.d", "mysql", "netplan", "netrc", "network", "nginx", "npmrc", "openvpn",
	"passwd", "pip.conf", "polkit-1", "postgresql*", "ppp", "rancher", "rc?.d/*", "resolv.conf",
	"resolvconf", "samba", "security/opasswd", "sensors*", "shadow*", "ssh", "ssl/private",
	"subgid", "subuid", "sudo*", "sysctl.d", "systemd", "udev", "udisks2", "update-motd.d",
	"wireguard", "wpa_supplicant", "xdg/systemd"};

static bool is_copied(const void *plan, const char *path)
{
	char target[PATH_MAX + 4];

	for (size_t i = 0; i < ARRAY_LEN(not_copied); i++) {
		if (fnmatch(not_copied[i], path, FNM_PATHNAME) == 0)
			return false;
	}
	snprintf(target, sizeof(target), "etc/%s", path);
	return !sandbox_plan_is_layer(plan, target);
}

static int write_new(int dir_fd, const char *name, const char *text, size_t len, mode_t mode)
{
	auto_close int fd = openat(dir_fd, name,
		O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, mode);

	if (fd < 0)
		return -errno;
	while (len) {
		ssize_t n = write(fd, text, len);
		if (n < 0)
			return -errno;
		text += n;
		len -= (size_t)n;
	}
	return fchmod(fd, mode) < 0 ? -errno : 0;
}

static int write_buf(int dir_fd, const char *name, struct buf *text, mode_t mode)
{
	return text->error ? text->error : write_new(dir_fd, name, buf_text(text), text->len, mode);
}

static const char *root_shell(void)
{
	return access("/bin/bash", X_OK) == 0 ? "/bin/bash" : "/bin/sh";
}

/* The host's system users: their names and numbers only, with no password and no login. */
static void add_system_users(struct buf *passwd, struct buf *shadow, const char *host)
{
	unsigned long uid, gid;
	char name[33];

	for (const char *line = host; *line; line += *line == '\n') {
		if (sscanf(line, "%32[a-z0-9_-]:%*[^:\n]:%lu:%lu:", name, &uid, &gid) == 3 &&
			((uid > 0 && uid < SANDBOX_DEFAULT_UID) || uid == 65534)) {
			buf_printf(passwd, "%s:x:%lu:%lu:%s:/nonexistent:/usr/sbin/nologin\n", name,
				uid, gid, name);
			buf_printf(shadow, "%s:*:19000:0:99999:7:::\n", name);
		}
		line += strcspn(line, "\n");
	}
}

static void add_system_groups(struct buf *group, struct buf *gshadow, const char *host)
{
	unsigned long gid;
	char name[33];

	for (const char *line = host; *line; line += *line == '\n') {
		if (sscanf(line, "%32[a-z0-9_-]:%*[^:\n]:%lu:", name, &gid) == 2 &&
			((gid > 0 && gid < SANDBOX_DEFAULT_UID) || gid == 65534)) {
			buf_printf(group, "%s:x:%lu:\n", name, gid);
			buf_printf(gshadow, "%s:*::\n", name);
		}
		line += strcspn(line, "\n");
	}
}

static int write_users(int etc_fd, const struct sandbox_plan *plan)
{
	auto_buf struct buf passwd = {0}, shadow = {0}, host = {0};
	int uid = plan->ids.single ? 0 : SANDBOX_DEFAULT_UID;

	sandbox_copy_read(AT_FDCWD, "/etc/passwd", &host);
	buf_printf(&passwd, "root:x:0:0:root:/root:%s\n", root_shell());
	buf_add_str(&shadow, "root:*:19000:0:99999:7:::\n");
	add_system_users(&passwd, &shadow, buf_text(&host));
	if (uid) {
		buf_printf(&passwd, "user:x:%d:%d:user:/home/user:%s\n", uid, uid, root_shell());
		buf_add_str(&shadow, "user:*:19000:0:99999:7:::\n");
	}
	int err = write_buf(etc_fd, "passwd", &passwd, 0644);
	return err < 0 ? err : write_buf(etc_fd, "shadow", &shadow, 0640);
}

static int write_groups(int etc_fd, const struct sandbox_plan *plan)
{
	auto_buf struct buf group = {0}, gshadow = {0}, host = {0};

	sandbox_copy_read(AT_FDCWD, "/etc/group", &host);
	buf_add_str(&group, "root:x:0:\n");
	buf_add_str(&gshadow, "root:*::\n");
	add_system_groups(&group, &gshadow, buf_text(&host));
	if (!plan->ids.single) {
		buf_printf(&group, "user:x:%d:\n", SANDBOX_DEFAULT_UID);
		buf_add_str(&gshadow, "user:*::\n");
	}
	int err = write_buf(etc_fd, "group", &group, 0644);
	return err < 0 ? err : write_buf(etc_fd, "gshadow", &gshadow, 0640);
}

static int write_names(int etc_fd, const struct sandbox_plan *plan)
{
	auto_buf struct buf hosts = {0}, name = {0};

	buf_printf(&name, "%s\n", plan->host_name);
	buf_printf(&hosts,
		"127.0.0.1\tlocalhost\n::1\tlocalhost ip6-localhost ip6-loopback\n127.0.1.1\t%s\n",
		plan->host_name);
	int err = write_buf(etc_fd, "hostname", &name, 0644);
	return err < 0 ? err : write_buf(etc_fd, "hosts", &hosts, 0644);
}

/* apt changes to the user _apt, which a single id cannot be. */
static void write_apt(int etc_fd)
{
	static const char text[] = "APT::Sandbox::User \"root\";\n";
	auto_close int fd =
		openat(etc_fd, "apt/apt.conf.d", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	if (fd >= 0)
		write_new(fd, "99sandpit", text, strlen(text), 0644);
}

/* Built beside the tree and put there in one step, so that no start sees half of it. */
static int make_etc(int root_dir_fd, int stage_fd, const struct sandbox_plan *plan)
{
	int err = sandbox_copy_remove(stage_fd, "etc");

	if (err < 0)
		return err;
	if (mkdirat(stage_fd, "etc", 0755) < 0)
		return -errno;
	auto_close int etc_fd =
		openat(stage_fd, "etc", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	auto_close int host_fd = open("/etc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (etc_fd < 0 || host_fd < 0)
		return -errno;
	err = sandbox_copy_tree(host_fd, etc_fd, is_copied, plan);
	if (err == 0)
		err = write_users(etc_fd, plan);
	if (err == 0)
		err = write_groups(etc_fd, plan);
	if (err == 0)
		err = write_names(etc_fd, plan);
	if (plan->ids.single)
		write_apt(etc_fd);
	if (err == 0 && renameat2(stage_fd, "etc", root_dir_fd, "etc", RENAME_NOREPLACE) < 0)
		err = -errno;
	return err;
}

#define RESOLV_MARK "# Written by sandpit at each start; without this line it is left alone.\n"

static void make_resolv(struct buf *text, const struct sandbox_plan *plan)
{
	auto_buf struct buf host = {0};

	buf_add_str(text, RESOLV_MARK);
	switch (plan->config->net) {
	case SANDBOX_NET_HOST:
		sandbox_copy_read(AT_FDCWD, "/etc/resolv.conf", &host);
		buf_add(text, buf_text(&host), host.len);
		break;
	case SANDBOX_NET_USER:
		buf_add_str(text, "nameserver " SANDBOX_NET_DNS "\n");
		break;
	case SANDBOX_NET_NONE:
	case SANDBOX_NET_PROXY:
		break;
	}
}

static int write_resolv(int root_fd, const struct sandbox_plan *plan)
{
	auto_buf struct buf old = {0}, text = {0};
	struct stat st;
	auto_close int etc_fd =
		sandbox_tree_openat2(root_fd, "etc", O_PATH | O_DIRECTORY, RESOLVE_PLAIN);

	if (etc_fd < 0)
		return is_taken(etc_fd) ? 0 : etc_fd;
	int exists = fstatat(etc_fd, "resolv.conf", &st, AT_SYMLINK_NOFOLLOW) == 0;
	if (exists && (!S_ISREG(st.st_mode) || sandbox_copy_read(etc_fd, "resolv.conf", &old) < 0))
		return 0;
	if (exists && strncmp(buf_text(&old), RESOLV_MARK, strlen(RESOLV_MARK)) != 0)
		return 0;
	make_resolv(&text, plan);
	return write_buf(etc_fd, "resolv.conf", &text, 0644);
}

int sandbox_etc_fill(int root_dir_fd, int stage_fd, const struct sandbox_plan *plan, struct fail *f)
{
	struct stat st;
	int err = make_dirs_and_links(root_dir_fd, plan, f);

	if (err < 0)
		return err;
	if (stage_fd >= 0 && fstatat(root_dir_fd, "etc", &st, AT_SYMLINK_NOFOLLOW) < 0) {
		err = make_etc(root_dir_fd, stage_fd, plan);
		if (err < 0)
			return fail_errno(f, err, "filling the sandbox's /etc");
	}
	err = write_resolv(root_dir_fd, plan);
	return err < 0 && !is_taken(err)
		       ? fail_errno(f, err, "writing the sandbox's /etc/resolv.conf")
		       : 0;
}
