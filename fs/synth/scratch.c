// Editors' temporary files beside control files.
#include "fs/synth/scratch.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "common/clock.h"
#include "common/scope.h"
#include "fs/mount.h"

static bool of_control_file(const struct synth_dir *dir, const char *name)
{
	for (size_t i = 0; i < dir->files_len; i++) {
		size_t len = strlen(dir->files[i].name);

		if (dir->files[i].control && !strncmp(name, dir->files[i].name, len) && name[len] &&
			strchr(".~-_#,", name[len]))
			return true;
	}
	return false;
}

bool scratch_name_ok(const struct synth_dir *dir, const char *name)
{
	size_t len = strlen(name);

	if (len < 2 || synth_find(dir, name))
		return false;
	if (name[0] == '.' || name[0] == '#' || name[len - 1] == '~' || name[len - 1] == '#')
		return true;
	/* In ports/ a number is a server that is not there, not vim's 4913. */
	if (name[strspn(name, "0123456789")] == '\0')
		return dir != &synth_ports;
	if (!strncmp(name, "sed", 3) && len == 9)
		return true;
	return !strncmp(name, "tmp", 3) || of_control_file(dir, name);
}

/* As mkstemp() makes them for `perl -i`: only of a file that must not exist is it told from a slip of
 * the fingers. */
static bool random_name(const char *name, int flags)
{
	return (flags & O_EXCL) && strlen(name) == 8 &&
	       !name[strspn(
		       name, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789")];
}

static bool in_dir(const struct scratch *s, const struct synth_node *dir)
{
	return s->name && s->node.dir == dir->dir && s->node.object == dir->object;
}

static struct scratch *by_name(struct mount *m, const struct synth_node *dir, const char *name)
{
	struct list *item;

	list_for_each(item, &m->scratch)
	{
		struct scratch *s = list_entry(item, struct scratch, link);

		if (in_dir(s, dir) && !strcmp(s->name, name))
			return s;
	}
	return NULL;
}

struct scratch *scratch_of(struct mount *m, const struct synth_node *n)
{
	struct list *item;

	list_for_each(item, &m->scratch)
	{
		struct scratch *s = list_entry(item, struct scratch, link);

		if (s->node.instance == n->instance)
			return s;
	}
	return NULL;
}

static unsigned count(struct mount *m, const struct synth_node *dir)
{
	struct list *item;
	unsigned n = 0;

	list_for_each(item, &m->scratch) n += in_dir(list_entry(item, struct scratch, link), dir);
	return n;
}

/* An id that no living scratch file has: ids of files that are gone may still be known outside. */
static uint16_t new_id(struct mount *m)
{
	struct synth_node n;

	do
		n.instance = ++m->next_scratch;
	while (scratch_of(m, &n));
	return n.instance;
}

int scratch_create(struct mount *m, const struct synth_node *dir, const char *name, int flags,
	struct scratch **ret)
{
	struct scratch *s;

	if (!dir->dir->scratch || (!scratch_name_ok(dir->dir, name) && !random_name(name, flags)))
		return -ENOENT;
	if (by_name(m, dir, name))
		return -EEXIST;
	if (count(m, dir) >= SCRATCH_FILES)
		return -ENOSPC;
	s = calloc(1, sizeof(*s));
	if (!s)
		return -ENOMEM;
	s->name = strdup(name);
	if (!s->name) {
		free(s);
		return -ENOMEM;
	}
	s->node = (struct synth_node){.dir = dir->dir,
		.object = dir->object,
		.slot = SYNTH_SCRATCH,
		.instance = new_id(m)};
	s->changed_usec = clock_wall_usec();
	list_add_tail(&m->scratch, &s->link);
	*ret = s;
	return 0;
}

bool scratch_find(
	struct mount *m, const struct synth_node *dir, const char *name, struct synth_node *ret)
{
	struct scratch *s = by_name(m, dir, name);

	if (s)
		*ret = s->node;
	return s;
}

int scratch_list(struct mount *m, const struct synth_node *dir, synth_emit emit, void *arg)
{
	struct list *item;
	int r = 0;

	list_for_each(item, &m->scratch)
	{
		struct scratch *s = list_entry(item, struct scratch, link);

		if (in_dir(s, dir))
			r = emit(arg, s->name, &s->node);
		if (r)
			break;
	}
	return r;
}

int scratch_truncate(struct scratch *s, uint64_t size)
{
	int r = 0;

	if (size > SCRATCH_BYTES)
		return -EFBIG;
	if (size > s->data.len) {
		r = buf_reserve(&s->data, size - s->data.len);
		s->data.error = 0; /* of this write only */
		if (r < 0)
			return r;
		memset(s->data.data + s->data.len, 0, size - s->data.len);
	}
	s->data.len = size;
	s->changed_usec = clock_wall_usec();
	return 0;
}

int scratch_write(struct scratch *s, const void *data, size_t len, uint64_t off)
{
	int r;

	if (off > SCRATCH_BYTES || len > SCRATCH_BYTES - off)
		return -EFBIG;
	r = off + len > s->data.len ? scratch_truncate(s, off + len) : 0;
	if (r == 0 && len)
		memcpy(s->data.data + off, data, len);
	s->changed_usec = clock_wall_usec();
	return r;
}

static void drop(struct scratch *s)
{
	if (s->name || s->open)
		return;
	list_remove(&s->link);
	buf_clear(&s->data);
	free(s);
}

void scratch_unlink(struct scratch *s)
{
	free(s->name);
	s->name = NULL;
	drop(s);
}

void scratch_close(struct scratch *s)
{
	s->open--;
	drop(s);
}

int scratch_rename(struct mount *m, struct scratch *s, const char *name)
{
	struct scratch *other = by_name(m, &s->node, name);
	char *copy;

	if (other == s)
		return 0;
	if (!scratch_name_ok(s->node.dir, name))
		return -EACCES;
	copy = strdup(name);
	if (!copy)
		return -ENOMEM;
	if (other)
		scratch_unlink(other);
	free(s->name);
	s->name = copy;
	return 0;
}

void scratch_free_all(struct mount *m)
{
	while (!list_empty(&m->scratch)) {
		struct scratch *s = list_entry(m->scratch.next, struct scratch, link);

		s->open = 0;
		scratch_unlink(s);
	}
}
