// What a symbolic link of the sandbox reads as through files/: a target that cannot lead out.
#include "fs/files/link_target.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/scope.h"
#include "common/unsafe.h"

#define LINKS_MAX 40 /* as the kernel */
#define STEPS_MAX 4096 /* components of all links together; a text has at most 2,048 */

/* A place in the tree: so many times ".." from the link's directory, then down by names. */
struct walk {
	int tree_fd; /* borrowed */
	unsigned depth; /* of the link's directory */
	unsigned ups;
	struct buf names; /* each with a slash behind it */
	struct buf rest; /* still to be followed */
	size_t rest_pos;
	size_t dots_end; /* of the last ".." in rest; 0: there is none */
	int fd; /* owned: the place, O_PATH */
	unsigned links, steps;
};

static void walk_clear(struct walk *w)
{
	buf_clear(&w->names);
	buf_clear(&w->rest);
	close_fd(&w->fd);
}

/* The next component of text: its length, 0 at the end. Skips slashes. */
static size_t component(const char **text)
{
	*text += strspn(*text, "/");
	return strcspn(*text, "/");
}

static bool is_dot(const char *name, size_t len)
{
	return len == 1 && name[0] == '.';
}

static bool is_dot_dot(const char *name, size_t len)
{
	return len == 2 && name[0] == '.' && name[1] == '.';
}

/* Behind the last ".." of text; 0 without one. */
static size_t last_dots_end(const char *text)
{
	const char *at = text;
	size_t end = 0, len;

	for (; (len = component(&at)) > 0; at += len)
		if (is_dot_dot(at, len))
			end = (size_t)(at + len - text);
	return end;
}

/* Relative, and no ".." but at its beginning, not more than depth of them. */
static bool is_safe(const char *target, unsigned depth)
{
	unsigned ups = 0;
	size_t len;

	if (*target == '/')
		return false;
	for (; (len = component(&target)) > 0; target += len) {
		if (is_dot(target, len))
			continue;
		if (!is_dot_dot(target, len))
			return !last_dots_end(target);
		if (++ups > depth)
			return false;
	}
	return true;
}

static int open_place(int dir_fd, const char *name)
{
	int fd = openat(dir_fd, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);

	if (fd < 0)
		return -errno;
	return fd;
}

static int same_inode(int a, int b)
{
	struct stat sa, sb;

	if (fstat(a, &sa) < 0 || fstat(b, &sb) < 0)
		return -errno;
	return sa.st_dev == sb.st_dev && sa.st_ino == sb.st_ino;
}

static int go_to_root(struct walk *w)
{
	int fd = open_place(w->tree_fd, ".");

	if (fd < 0)
		return fd;
	close_fd(&w->fd);
	w->fd = fd;
	w->ups = w->depth;
	buf_reset(&w->names);
	return 0;
}

/* Up by the real directory, which is where a name or a link has led to. Never above the root, also
 * when the link's directory was moved in the meantime. */
static int go_up(struct walk *w)
{
	int fd, r;

	r = same_inode(w->fd, w->tree_fd);
	if (r != 0)
		return r < 0 ? r : go_to_root(w);
	if (!w->names.len && w->ups == w->depth)
		return 0;
	fd = open_place(w->fd, "..");
	if (fd < 0)
		return fd;
	close_fd(&w->fd);
	w->fd = fd;
	if (!w->names.len) {
		w->ups++;
		return 0;
	}
	w->names.len--;
	while (w->names.len && w->names.data[w->names.len - 1] != '/')
		w->names.len--;
	w->names.data[w->names.len] = '\0';
	return 0;
}

static int go_down(struct walk *w, int fd, const char *name)
{
	close_fd(&w->fd);
	w->fd = fd;
	buf_add_str(&w->names, name);
	return buf_add_char(&w->names, '/');
}

/* Puts the text of the link fd before the rest. */
static int expand(struct walk *w, int fd)
{
	char text[PATH_MAX];
	auto_buf struct buf rest = {0};
	ssize_t len = readlinkat(fd, "", text, sizeof(text) - 1);

	if (len < 0)
		return -errno;
	if (++w->links > LINKS_MAX)
		return -ELOOP;
	text[len] = '\0';
	if (buf_add_str(&rest, text) < 0 || buf_add_char(&rest, '/') < 0 ||
		buf_add_str(&rest, w->rest.data + w->rest_pos) < 0)
		return -ENOMEM;
	if (rest.len > 2 * PATH_MAX)
		return -ENAMETOOLONG;
	buf_clear(&w->rest);
	w->rest = rest;
	rest = (struct buf){0};
	w->rest_pos = 0;
	w->dots_end = last_dots_end(buf_text(&w->rest));
	return text[0] == '/' ? go_to_root(w) : 0;
}

/* 1: one component further. 0: no further, name is missing or no directory. */
static int follow(struct walk *w, const char *name)
{
	auto_close int fd = open_place(w->fd, name);
	struct stat st;
	int r;

	if (fd == -ENOMEM || fd == -EMFILE || fd == -ENFILE)
		return fd;
	if (fd < 0 || fstat(fd, &st) < 0)
		return 0;
	if (S_ISLNK(st.st_mode))
		r = expand(w, fd);
	else if (S_ISDIR(st.st_mode))
		r = go_down(w, take_fd(&fd), name);
	else
		return 0;
	return r < 0 ? r : 1;
}

/* Follows the rest for as long as there is a ".." in it. Links of links can make the way as long as
 * forty times the longest path, and whoever asks, and a processor, would wait for all of it. */
static int follow_dots(struct walk *w)
{
	int r = 1;

	while (r > 0 && w->rest_pos < w->dots_end) {
		const char *at = w->rest.data + w->rest_pos;
		size_t len = component(&at);
		char name[NAME_MAX + 1];
		size_t start = (size_t)(at - w->rest.data);

		if (++w->steps > STEPS_MAX)
			return -ELOOP;
		if (len > NAME_MAX)
			return -ENAMETOOLONG;
		memcpy(name, at, len);
		name[len] = '\0';
		w->rest_pos = start + len;
		if (is_dot(name, len))
			continue;
		if (is_dot_dot(name, len)) {
			r = go_up(w);
			r = r < 0 ? r : 1;
			continue;
		}
		r = follow(w, name);
		if (r == 0)
			w->rest_pos = start;
	}
	return r < 0 ? r : 0;
}

/* The place and the rest. A rest that cannot be followed keeps its names, so that whoever follows
 * the answer fails at the same one, and loses each "..". */
static int write_answer(const struct walk *w, struct buf *ret)
{
	size_t start = ret->len, len;
	const char *at = w->rest.data + w->rest_pos;

	for (unsigned i = 0; i < w->ups; i++)
		buf_add_str(ret, "../");
	buf_add(ret, w->names.data, w->names.len);
	for (; (len = component(&at)) > 0; at += len) {
		if (is_dot(at, len) || is_dot_dot(at, len))
			continue;
		buf_add(ret, at, len);
		if (at[len] == '/')
			buf_add_char(ret, '/');
	}
	if (ret->len == start)
		buf_add_char(ret, '.');
	if (ret->error)
		return ret->error;
	return ret->len - start < PATH_MAX ? 0 : -ENAMETOOLONG;
}

int link_target_answer(int tree_fd, int dir_fd, unsigned depth, const char *target, struct buf *ret)
{
	auto_call(walk_clear) struct walk w = {.tree_fd = tree_fd, .depth = depth, .fd = -1};
	bool absolute = *target == '/';
	int r;

	if (unsafe_is("links") || is_safe(target, depth))
		return buf_add_str(ret, target);
	if (buf_add_str(&w.rest, target) < 0)
		return -ENOMEM;
	if (absolute)
		w.ups = depth;
	w.dots_end = last_dots_end(target);
	if (w.dots_end) {
		w.fd = open_place(absolute ? tree_fd : dir_fd, ".");
		if (w.fd < 0)
			return w.fd;
		r = follow_dots(&w);
		if (r < 0)
			return r;
	}
	return write_answer(&w, ret);
}
