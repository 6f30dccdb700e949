// Who removes a directory that goes as a whole.
#include "fs/removals.h"

#include "common/buf.h"
#include "common/scope.h"
#include "fs/agent.h"
#include "fs/mount.h"
#include "fs/synth/synth.h"

void removals_note(struct mount *m, pid_t pid, const struct synth_node *dir)
{
	struct removals *r = &m->removals;

	for (size_t i = 0; i < REMOVALS_MAX; i++)
		if (r->readers[i].pid == pid && r->readers[i].dir == dir->dir &&
			r->readers[i].object == dir->object)
			return;
	r->readers[r->next++ % REMOVALS_MAX] =
		(struct removal){.dir = dir->dir, .object = dir->object, .pid = pid};
}

bool removals_has(struct mount *m, pid_t pid)
{
	for (size_t i = 0; i < REMOVALS_MAX; i++) {
		const struct removal *reader = &m->removals.readers[i];
		struct buf path auto_buf = {0};

		if (!reader->dir || reader->pid != pid)
			continue;
		reader->dir->name(m, reader->object, &path);
		if (!path.error && agent_is_below(m->agent, pid, buf_text(&path)))
			return true;
	}
	return false;
}
