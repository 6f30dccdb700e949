// What is refused on synthetic files, in words for /error and the log.
#include "fs/synth/synth_refusal.h"

#include <errno.h>

#include "common/scope.h"

int synth_failed(struct mount *m, const struct synth_node *dir, const char *name, int err,
	const struct fail *f)
{
	struct buf path auto_buf = {0};

	synth_path(m, dir, &path);
	if (path.len)
		buf_add_char(&path, '/');
	buf_add_str(&path, name);
	return mount_failed(m, buf_text(&path), err, f);
}

int synth_refuse(
	struct mount *m, const struct synth_node *dir, const char *name, int err, const char *words)
{
	struct fail f = {0};

	fail_set(&f, err, "%s", words);
	return synth_failed(m, dir, name, err, &f);
}

int synth_refuse_node(struct mount *m, const struct synth_node *n, int err, const char *words)
{
	struct buf path auto_buf = {0};
	struct fail f = {0};

	synth_path(m, n, &path);
	fail_set(&f, err, "%s", words);
	return mount_failed(m, buf_text(&path), err, &f);
}

int synth_scratch_done(struct mount *m, const struct synth_node *n, int r)
{
	return r == -EFBIG ? synth_refuse_node(m, n, r, "a temporary file here is 1 MiB at most")
			   : r;
}

int synth_refuse_at(struct mount *m, uint64_t parent, const char *name, int err, const char *words)
{
	struct synth_node dir;
	int r = synth_node_of(m, parent, &dir);

	return r < 0 ? r : synth_refuse(m, &dir, name, err, words);
}
