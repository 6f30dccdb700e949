// The mount's root: the directories, and what tells of the mount as a whole.
#include "fs/synth/synth.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>

#include "common/clock.h"
#include "common/json_out.h"
#include "common/scope.h"
#include "fs/event_log.h"
#include "fs/mount.h"
#include "fs/synth/dir_checkpoint.h"
#include "fs/synth/readme.h"
#include "fs/synth/status.h"

static int show_readme(struct mount *m, const struct synth_node *n, struct buf *ret)
{
	(void)n;
	return readme_write(m, ret);
}

static int show_status(struct mount *m, const struct synth_node *n, struct buf *ret)
{
	(void)n;
	return status_write(m, ret);
}

static int show_stats(struct mount *m, const struct synth_node *n, struct buf *ret)
{
	(void)n;
	return status_write_usage(m, ret);
}

static int show_error(struct mount *m, const struct synth_node *n, struct buf *ret)
{
	(void)n;
	return m->error ? buf_printf(ret, "%s\n", m->error) : 0;
}

static ssize_t read_log(
	struct mount *m, const struct synth_node *n, void *data, size_t len, uint64_t off)
{
	(void)n;
	return event_log_read(m->log, data, len, off);
}

static int size_log(struct mount *m, const struct synth_node *n, uint64_t *ret)
{
	(void)n;
	*ret = event_log_size(m->log);
	return 0;
}

static const struct synth_file root_files[] = {
	{.name = "README",
		.help = "this text; more is in man 7 sandpit",
		.mode = 0444,
		.show = show_readme},
	{.name = "status.json",
		.help = "version, uptime, limits, counts, what is enabled",
		.mode = 0444,
		.show = show_status},
	{.name = "stats.json",
		.help = "cpu, memory, processes and disk that the sandbox uses now",
		.mode = 0444,
		.show = show_stats},
	{.name = "error",
		.help = "the last request that failed, and why",
		.mode = 0444,
		.show = show_error},
	{.name = "log",
		.help = "one line an event, for tail -f",
		.mode = 0444,
		.pread = read_log,
		.size = size_log},
	{.name = "ctl",
		.help = "run commands, and their defaults",
		.type = SYNTH_DIRECTORY,
		.child = &synth_ctl},
	{.name = "out",
		.help = "a directory a run, and `last`",
		.type = SYNTH_DIRECTORY,
		.child = &synth_out},
	{.name = "code",
		.help = "kernels with memory: a directory a context",
		.type = SYNTH_DIRECTORY,
		.child = &synth_code},
	{.name = "checkpoint",
		.help = "write `persist PATH` or `restore PATH`; reading tells how it went",
		.mode = 0644,
		.show = dir_checkpoint_show,
		.control = &dir_checkpoint_control},
	{.name = "checkpoint.plan",
		.help = "write a path: what a persist of it would make",
		.mode = 0644,
		.show = dir_checkpoint_show_plan,
		.control = &dir_checkpoint_plan_control},
	{.name = "checkpoints",
		.help = "what is stored, newest last",
		.type = SYNTH_DIRECTORY,
		.child = &synth_checkpoints},
	{.name = "browser",
		.help = "a Chromium in the sandbox",
		.type = SYNTH_DIRECTORY,
		.child = &synth_browser},
	{.name = "ports",
		.help = "servers in the sandbox, reachable from outside",
		.type = SYNTH_DIRECTORY,
		.child = &synth_ports},
	{.name = "files", .help = "the sandbox's own file tree", .type = SYNTH_FILES_ROOT},
};

const struct synth_dir synth_root = {
	.path = "",
	.help = "the mount",
	.files = root_files,
	.files_len = ARRAY_LEN(root_files),
};
