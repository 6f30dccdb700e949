// What the daemon's parts share.
#include "fs/mount.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "common/clock.h"
#include "common/unsafe.h"
#include "common/visible.h"
#include "fs/event_log.h"
#include "fs/files/files_cache.h"

void mount_log(struct mount *m, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	event_log_add(m->log, format, args);
	va_end(args);
}

static void set_error(struct mount *m, const char *path, int err, const struct fail *f)
{
	struct buf line = {0};
	const char *name = strerrorname_np(-err);

	int (*add)(struct buf *, const char *) = unsafe_is("visible") ? buf_add_str : visible_add;

	add(&line, path);
	buf_add_str(&line, ": ");
	add(&line, f && *f->text ? f->text : strerror(-err));
	buf_printf(&line, " (%s)", name ? name : "error");
	free(m->error);
	m->error = buf_take(&line);
	m->error_usec = clock_wall_usec();
}

int mount_failed(struct mount *m, const char *path, int err, const struct fail *f)
{
	set_error(m, path, err, f);
	if (m->error)
		mount_log(m, "refused %s", m->error);
	return err;
}

int mount_unreadable(struct mount *m, const char *path, int err, const struct fail *f)
{
	set_error(m, path, err, f);
	return err;
}

void mount_tell(struct mount *m)
{
	uint64_t heard = loop_handled(m->loop) - m->own_events;

	if (heard == m->heard)
		return;
	m->heard = heard;
	if (m->files && !files_cache_is_quiet(m->files))
		files_cache_renew(m->files);
}
