// Visits everything below a directory through descriptors.
#include "runner/checkpoint/tree_walk.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/buf.h"
#include "common/names.h"
#include "common/scope.h"

/* A directory under way. */
struct frame {
	struct tree_entry entry; /* its fd is owned; path and name are not set */
	struct buf text; /* names, each followed by NUL */
	const char **names; /* owned; sorted */
	size_t len, at;
	size_t path_len;
};

struct walk {
	struct task *t;
	const struct tree_visitor *visitor;
	void *arg;
	struct frame *frames; /* owned */
	size_t depth, room;
	struct buf path;
};

int tree_walk_reopen(int fd, int flags)
{
	char path[40];
	int opened;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	opened = open(path, flags | O_CLOEXEC | O_NOCTTY);
	return opened < 0 ? -errno : opened;
}

static int by_text(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static int sort_names(struct frame *frame)
{
	const char *at = buf_text(&frame->text);

	frame->names = calloc(frame->len + 1, sizeof(*frame->names));
	if (!frame->names || frame->text.error)
		return -ENOMEM;
	for (size_t i = 0; i < frame->len; i++) {
		frame->names[i] = at;
		at += strlen(at) + 1;
	}
	qsort(frame->names, frame->len, sizeof(*frame->names), by_text);
	return 0;
}

static bool is_wanted(const struct dirent *entry, bool only_directories)
{
	return !only_directories || entry->d_type == DT_DIR || entry->d_type == DT_UNKNOWN;
}

static int read_names(struct frame *frame, bool only_directories)
{
	int fd = tree_walk_reopen(frame->entry.fd, O_RDONLY | O_DIRECTORY);
	DIR *dir auto_dir = names_take(fd);
	struct dirent *entry;

	if (fd < 0)
		return fd;
	if (!dir)
		return -errno;
	while ((errno = 0, entry = names_next(dir))) {
		if (!is_wanted(entry, only_directories))
			continue;
		buf_add(&frame->text, entry->d_name, strlen(entry->d_name) + 1);
		frame->len++;
	}
	return errno ? -errno : sort_names(frame);
}

static void pop(struct walk *w)
{
	struct frame *frame = &w->frames[--w->depth];

	close(frame->entry.fd);
	buf_clear(&frame->text);
	free(frame->names);
}

static int make_room(struct walk *w)
{
	size_t room = w->room ? 2 * w->room : 16;
	struct frame *frames;

	if (w->depth < w->room)
		return 0;
	frames = realloc(w->frames, room * sizeof(*frames));
	if (!frames)
		return -ENOMEM;
	w->frames = frames;
	w->room = room;
	return 0;
}

static void set_path(struct walk *w, struct tree_entry *entry)
{
	const char *slash = strrchr(buf_text(&w->path), '/');

	entry->path = buf_text(&w->path);
	entry->name = slash ? slash + 1 : entry->path;
}

/* Takes the entry's descriptor. */
static int push(struct walk *w, struct tree_entry *entry, struct fail *f)
{
	struct frame *frame;
	int r = make_room(w);

	if (r < 0 || w->depth == TREE_WALK_DEPTH_MAX) {
		close(entry->fd);
		return r < 0 ? r
			     : task_refuse(w->t, TASK_LIMIT_EXCEEDED, f,
				       "%.200s...: more than %d directories in each other",
				       entry->path, TREE_WALK_DEPTH_MAX);
	}
	frame = &w->frames[w->depth++];
	*frame = (struct frame){.entry = *entry, .path_len = w->path.len};
	r = read_names(frame, w->visitor->only_directories);
	return r < 0 ? task_failed(w->t, r, f, "listing %s", *entry->path ? entry->path : ".") : 0;
}

static bool enters(const struct walk *w, const struct tree_entry *entry)
{
	if (!S_ISDIR(entry->sx.stx_mode) || (entry->sx.stx_attributes & STATX_ATTR_MOUNT_ROOT))
		return false;
	return !w->visitor->excluded || !w->visitor->excluded(w->arg, entry);
}

static int look_at(struct tree_entry *entry)
{
	const unsigned mask = STATX_BASIC_STATS | STATX_MNT_ID;

	return statx(entry->fd, "", AT_EMPTY_PATH, mask, &entry->sx) < 0 ? -errno : 0;
}

static int step(struct walk *w, const char *name, struct fail *f)
{
	struct frame *frame = &w->frames[w->depth - 1];
	struct tree_entry entry;
	bool enter;
	int r;

	w->path.len = frame->path_len;
	r = buf_printf(&w->path, "%s%s", frame->path_len ? "/" : "", name);
	set_path(w, &entry);
	if (r == 0 && w->path.len > TREE_WALK_PATH_MAX)
		r = task_refuse(w->t, TASK_LIMIT_EXCEEDED, f,
			"%.200s...: the path is longer than %d bytes", entry.path,
			TREE_WALK_PATH_MAX);
	if (r == 0)
		r = task_check(w->t, f);
	if (r < 0)
		return r;
	entry.fd = openat(frame->entry.fd, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	if (entry.fd < 0 && errno == ENOENT)
		return w->visitor->vanished ? w->visitor->vanished(w->arg, entry.path) : 0;
	r = entry.fd < 0 ? -errno : look_at(&entry);
	if (r < 0) {
		close_fd(&entry.fd);
		return task_failed(w->t, r, f, "%s", entry.path);
	}
	enter = enters(w, &entry);
	r = w->visitor->visit(w->arg, &entry, f);
	if (r == 0 && enter)
		return push(w, &entry, f);
	close(entry.fd);
	return r;
}

static int leave(struct walk *w, struct fail *f)
{
	struct frame *frame = &w->frames[w->depth - 1];
	struct tree_entry entry = frame->entry;
	int r = 0;

	w->path.len = frame->path_len;
	if (w->path.data)
		w->path.data[w->path.len] = '\0';
	set_path(w, &entry);
	if (w->visitor->leave)
		r = w->visitor->leave(w->arg, &entry, f);
	pop(w);
	return r;
}

static int begin(struct walk *w, int dir_fd, struct fail *f)
{
	struct tree_entry entry = {.path = "", .name = ""};
	int r;

	entry.fd = openat(dir_fd, ".", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (entry.fd < 0)
		return task_failed(w->t, -errno, f, "opening the directory");
	r = look_at(&entry);
	if (r == 0)
		r = w->visitor->visit(w->arg, &entry, f);
	if (r == 0)
		return push(w, &entry, f);
	close(entry.fd);
	return r;
}

int tree_walk(
	struct task *t, int dir_fd, const struct tree_visitor *visitor, void *arg, struct fail *f)
{
	struct walk w = {.t = t, .visitor = visitor, .arg = arg};
	int r = begin(&w, dir_fd, f);

	while (r == 0 && w.depth) {
		struct frame *frame = &w.frames[w.depth - 1];

		r = frame->at < frame->len ? step(&w, frame->names[frame->at++], f) : leave(&w, f);
	}
	while (w.depth)
		pop(&w);
	free(w.frames);
	buf_clear(&w.path);
	return r;
}
