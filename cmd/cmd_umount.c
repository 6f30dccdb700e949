// sandpit umount: ends the daemon and sees to it that the mount is gone, or cleans up after a
// daemon that is gone already.
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/pidfd.h>
#include <unistd.h>

#include "cmd/cmd.h"
#include "cmd/mount_point.h"
#include "cmd/registry.h"
#include "common/buf.h"
#include "common/clock.h"
#include "common/json_in.h"
#include "common/scope.h"

/* Stopping a sandbox that is busy writing takes a while; this long means that it hangs. */
#define PATIENCE_USEC (60 * USEC_PER_SEC)
#define STATUS_MAX (1024 * 1024)

static int wait_for_end(int pidfd, const char *dir, struct fail *f)
{
	uint64_t end = clock_monotonic_usec() + PATIENCE_USEC;
	struct pollfd poll_fd = {.fd = pidfd, .events = POLLIN};
	int r;

	do {
		uint64_t now = clock_monotonic_usec();

		r = now >= end ? 0 : poll(&poll_fd, 1, (int)((end - now) / USEC_PER_MSEC + 1));
	} while (r < 0 && errno == EINTR);
	if (r > 0)
		return 0;
	return fail_set(f, -ETIMEDOUT,
		"%s: the daemon was asked to end a minute ago and still runs; sandpit list shows "
		"the sandbox, its log tells what it does",
		dir);
}

/* -ESRCH: no daemon of ours serves this mount point. */
static int end_daemon(int pidfd, const char *dir, struct fail *f)
{
	if (pidfd < 0)
		return pidfd;
	if (pidfd_send_signal(pidfd, SIGTERM, NULL, 0) < 0)
		return errno == ESRCH ? -ESRCH : fail_errno(f, -errno, "%s: its daemon", dir);
	return wait_for_end(pidfd, dir, f);
}

/* What is left when the daemon has ended: nothing, or a dead mount. */
static int clean(const char *path, struct fail *f)
{
	int r = mount_point_clean(path, f);

	if (r == 0)
		registry_prune(path);
	return r;
}

static int read_text(const char *dir, const char *name, struct buf *to)
{
	auto_free char *path = NULL;
	auto_close int fd = -1;

	if (asprintf(&path, "%s/%s", dir, name) < 0)
		return -ENOMEM;
	fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	return fd < 0 ? -errno : buf_read(to, fd, STATUS_MAX);
}

/* The daemon of one that was mounted with another XDG_STATE_HOME, by what the mount itself tells: a
 * pidfd, -ESRCH. */
static int told_pidfd(const char *path)
{
	auto_call(json_in_free) struct json_object *status = NULL;
	auto_buf struct buf text = {0};
	const struct json_object *entry;
	size_t len;

	if (read_text(path, "status.json", &text) < 0 ||
		json_in_parse(buf_text(&text), text.len, &status, NULL) < 0)
		return -ESRCH;
	entry = json_in_get(status, "registry");
	if (!entry || json_in_type(entry) != JSON_IN_STRING)
		return -ESRCH;
	return registry_pidfd_at(json_in_string(entry, &len), path);
}

/* One that is not in our registry. Where its daemon cannot be found, as another user's, the kernel's
 * end of the mount ends it. What another user's mount says is not asked for: it could name a file of its own
 * that says it were ours, and locked by whatever process it likes to see ended. */
static int umount_unknown(const char *path, const char *dir, bool is_own, struct fail *f)
{
	auto_close int pidfd = -1;
	struct mount_point point;
	bool is_left;
	int r = clean(path, f);

	if (r < 0)
		return r;
	pidfd = is_own ? told_pidfd(path) : -ESRCH;
	r = end_daemon(pidfd, dir, f);
	if (r != -ESRCH)
		return r < 0 ? r : clean(path, f);

	r = mount_point_open(path, &point, f);
	if (r < 0)
		return r;
	is_left = mount_point_is_sandbox(&point);
	/* Open, it would keep the mount busy. */
	mount_point_close(&point);
	return is_left ? mount_point_detach(path, false, f) : 0;
}

static int umount_dir(const char *dir, struct fail *f)
{
	auto_mount_point struct mount_point point = {.fd = -1};
	auto_close int pidfd = -1;
	int r = mount_point_open(dir, &point, f);

	if (r < 0)
		return r;
	close_fd(&point.fd);
	pidfd = registry_pidfd(point.path);
	r = end_daemon(pidfd, dir, f);
	if (r == 0)
		return clean(point.path, f);
	if (r != -ESRCH)
		return r;
	if (!mount_point_is_sandbox(&point))
		return fail_set(f, -EINVAL, "%s: no sandbox is mounted there", dir);
	return umount_unknown(point.path, dir, point.user == (long)getuid(), f);
}

static int run(const struct cmd *cmd, int argc, char **argv)
{
	static const struct option longs[] = {{"help", no_argument, NULL, 'h'}, {0}};
	struct fail f = {0};
	int option, r;

	opterr = 0;
	while ((option = getopt_long(argc, argv, ":", longs, NULL)) != -1)
		return cmd_bad_option(cmd, option, argv);
	if (optind == argc)
		return cmd_usage(cmd, "which? DIR is missing");
	if (optind + 1 < argc)
		return cmd_usage(cmd, "one DIR only, not also '%s'", argv[optind + 1]);
	r = umount_dir(argv[optind], &f);
	return r < 0 ? cmd_failed(cmd->name, r, &f) : CMD_OK;
}

const struct cmd cmd_umount = {
	.name = "umount",
	.usage = "DIR",
	.summary = "stops the sandbox at DIR and unmounts it",
	.help = "Stops everything in the sandbox, flushes, unmounts, and returns when all of it\n"
		"is done. The sandbox's state is kept. Also takes away a dead mount, one that\n"
		"says \"Transport endpoint is not connected\".\n",
	.run = run,
};
