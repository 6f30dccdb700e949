// status.json and stats.json.
#include "fs/synth/status.h"

#include <errno.h>
#include <unistd.h>
#include <sys/statvfs.h>

#include "common/clock.h"
#include "common/json_out.h"
#include "fs/files/files.h"
#include "fs/files/files_cache.h"
#include "fs/files/locks.h"
#include "fs/mount.h"
#include "kernels/browser/browser.h"
#include "kernels/context.h"
#include "runner/limits/disk_guard.h"
#include "runner/net/ports.h"

/* Numbers in it change from moment to moment, but a size that stat(2) told must still be true when
 * the file is read: blanks fill it up to a multiple of this. */
#define PAD 256

static int finish(struct json_out *j)
{
	json_out_object_end(j);
	while (!j->to->error && (j->to->len + 1) % PAD)
		buf_add_char(j->to, ' ');
	buf_add_char(j->to, '\n');
	return j->to->error;
}

static void add_limit(struct json_out *j, const char *key, uint64_t value)
{
	if (value)
		json_out_uint(j, key, value);
	else
		json_out_null(j, key);
}

static void add_limits(struct json_out *j, const struct config *c)
{
	json_out_object(j, "limits");
	add_limit(j, "memory", c->memory);
	add_limit(j, "pids", c->pids);
	if (c->cpus > 0)
		json_out_double(j, "cpus", c->cpus);
	else
		json_out_null(j, "cpus");
	add_limit(j, "disk", c->disk);
	add_limit(j, "fsize", c->fsize);
	add_limit(j, "nofile", c->nofile);
	add_limit(j, "outputBytes", c->output_bytes);
	json_out_object_end(j);
}

static void add_known(struct json_out *j, const char *key, uint64_t value)
{
	if (value == UINT64_MAX)
		json_out_null(j, key);
	else
		json_out_uint(j, key, value);
}

static void add_run(struct json_out *j, const struct mount *m, const struct run *run)
{
	const struct sandbox_limits *l = &run->limits;
	struct sandbox_usage usage;

	sandbox_spawn_usage(m->sandbox, run->number, &usage);
	json_out_object(j, NULL);
	json_out_string(j, "id", run->id);
	add_known(j, "cpuMs",
		usage.cpu_usec == UINT64_MAX ? UINT64_MAX : usage.cpu_usec / USEC_PER_MSEC);
	add_known(j, "memoryBytes", usage.memory_bytes);
	add_known(j, "processes", usage.pids);
	json_out_object(j, "limits");
	add_limit(j, "memory", l->memory_bytes);
	add_limit(j, "pids", l->pids);
	if (l->cpus > 0)
		json_out_double(j, "cpus", l->cpus);
	else
		json_out_null(j, "cpus");
	add_limit(j, "fsize", l->file_bytes);
	add_limit(j, "nofile", l->open_files);
	json_out_object_end(j);
	json_out_object_end(j);
}

/* Those that live and have limits of their own. */
static void add_runs(struct json_out *j, const struct mount *m)
{
	struct list *item;

	json_out_array(j, "runs");
	list_for_each(item, runs_list(m->runs))
	{
		const struct run *run = list_entry(item, struct run, link);
		const struct sandbox_limits *l = &run->limits;

		if (run->in_sandbox && (l->memory_bytes || l->pids || l->cpus > 0 ||
					       l->file_bytes || l->open_files))
			add_run(j, m, run);
	}
	json_out_array_end(j);
}

static void add_counts(struct json_out *j, struct mount *m)
{
	uint64_t nodes = 0, fds = 0;

	files_counts(m->files, &nodes, &fds);
	json_out_object(j, "counts");
	json_out_uint(j, "runs", runs_total(m->runs));
	json_out_uint(j, "running", runs_live_count(m->runs));
	json_out_uint(j, "kept", runs_count(m->runs));
	json_out_uint(j, "kernels", contexts_running(m->contexts));
	json_out_uint(j, "requests", m->requests);
	json_out_uint(j, "failures", m->failures);
	json_out_uint(j, "fileNodes", nodes);
	json_out_uint(j, "fileDescriptors", fds);
	json_out_uint(j, "lockOwners", locks_count(m->locks));
	json_out_object_end(j);
}

static void add_enabled(struct json_out *j, const struct mount *m)
{
	char why_not[160];

	json_out_object(j, "enabled");
	json_out_string(j, "ids", sandbox_ids_mode(m->sandbox));
	json_out_string(j, "limits", sandbox_limits_mode(m->sandbox));
	json_out_string(j, "net", m->net);
	json_out_bool(j, "systemWritable", sandbox_can_change_system(m->sandbox));
	json_out_bool(j, "passthrough", files_backing_is_on(m->files));
	files_backing_why_not(m->files, why_not, sizeof(why_not));
	if (*why_not)
		json_out_string(j, "passthroughWhyNot", why_not);
	else
		json_out_null(j, "passthroughWhyNot");
	json_out_bool(j, "keepsNames", files_cache_keeps_names(m->files));
	json_out_bool(j, "idlePoll", idle_poll_can(&m->idle_poll));
	json_out_bool(j, "allowOther", m->config->allow_other);
	json_out_object_end(j);
}

/* "yes", or what to install. */
static void add_languages(struct json_out *j, struct mount *m)
{
	struct kernel_languages *all = contexts_languages(m->contexts);
	const struct kernel_language *language;

	json_out_object(j, "languages");
	for (size_t i = 0; (language = kernel_languages_at(all, i)); i++) {
		struct fail f = {0};
		int r = kernel_language_check(language, m->sandbox, &f);

		json_out_string(j, language->name, r == 0 ? "yes" : f.text);
	}
	json_out_object_end(j);
}

int status_write(struct mount *m, struct buf *ret)
{
	char iso[CLOCK_ISO_LEN];
	struct json_out j;

	clock_iso(m->started_usec, iso);
	json_out_begin(&j, ret);
	json_out_object(&j, NULL);
	json_out_string(&j, "version", SANDPIT_VERSION);
	json_out_string(&j, "name", m->name);
	json_out_string(&j, "mountPoint", m->mount_point);
	json_out_string(&j, "state", runs_sandbox_alive(m->runs) ? "mounted" : "dead");
	json_out_int(&j, "pid", getpid());
	json_out_string(&j, "registry", m->registry_path);
	json_out_string(&j, "startedAt", iso);
	json_out_uint(&j, "uptime", (clock_wall_usec() - m->started_usec) / USEC_PER_SEC);
	add_limits(&j, m->config);
	add_counts(&j, m);
	add_enabled(&j, m);
	add_languages(&j, m);
	ports_json(m->ports, &j, "ports");
	if (m->browser)
		browser_summarize(m->browser, &j);
	return finish(&j);
}

int status_write_usage(struct mount *m, struct buf *ret)
{
	struct sandbox_usage usage = {0};
	struct statvfs fs = {0};
	struct disk_use use;
	struct json_out j;
	int r = sandbox_usage(m->sandbox, &usage);

	if (r == 0 && fstatvfs(m->state_fd, &fs) < 0)
		r = -errno;
	if (r < 0)
		return r;
	json_out_begin(&j, ret);
	json_out_object(&j, NULL);
	json_out_uint(&j, "cpuMs", usage.cpu_usec / USEC_PER_MSEC);
	json_out_uint(&j, "memoryBytes", usage.memory_bytes);
	json_out_uint(&j, "processes", usage.pids);
	json_out_uint(&j, "oomKills", usage.oom_kills);
	json_out_object(&j, "disk");
	if (disk_guard_use(m->disk, &use)) {
		json_out_uint(&j, "usedBytes", use.bytes);
		json_out_uint(&j, "usedItems", use.items);
	} else {
		json_out_null(&j, "usedBytes");
		json_out_null(&j, "usedItems");
	}
	json_out_uint(&j, "totalBytes", (uint64_t)fs.f_blocks * fs.f_frsize);
	json_out_uint(&j, "freeBytes", (uint64_t)fs.f_bavail * fs.f_frsize);
	json_out_object_end(&j);
	add_limits(&j, m->config);
	add_runs(&j, m);
	return finish(&j);
}
