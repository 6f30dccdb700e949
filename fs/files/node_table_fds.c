// The descriptors of files/'s nodes: opened when needed, by name, kept within a bound.
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/sysmacros.h>

#include "fs/files/node_table_impl.h"

/* How often a node that was not found is looked for again because a rename went on meanwhile. */
#define RENAME_TRIES 8

/* Descriptors of files that stay open a while, so that one that was just looked up can be opened
 * although a command has put another in its place. Few, and of small files only: an open
 * descriptor keeps the disk space of a file that was removed. */
#define RECENT_MAX 16

static bool is_open(const struct node *node)
{
	return node->fd >= 0 || node->handles;
}

/* Of an open node: its own descriptor, else that of an open file. */
static void take_use(struct node_table *t, struct node *node, struct node_use *ret)
{
	*ret = (struct node_use){
		.table = t, .node = node, .type = node->key.type, .reserved = node->reserved};
	node->refs++;
	if (node->fd >= 0) {
		if (!node->uses++)
			node_table_unlist(t, node);
		ret->fd = node->fd;
		return;
	}
	ret->handle = node->handles;
	ret->handle->users++;
	ret->fd = ret->handle->fd;
}

static void free_handle(struct node_table *t, struct node_handle *handle)
{
	struct node *node = handle->node;

	handle->next = t->handle_trash;
	t->handle_trash = handle;
	t->open_handles--;
	node_table_unref(t, node);
}

void node_table_unlist(struct node_table *t, struct node *node)
{
	list_remove(&node->unused);
	if (node->recent)
		t->recent_len--;
	node->recent = false;
}

void node_table_give_up_fd(struct node_table *t, struct node *node)
{
	node_table_unlist(t, node);
	t->closing[t->closing_len++] = take_fd(&node->fd);
	t->open_fds--;
}

/* That of a directory is kept for what is below it. */
void node_table_rest(struct node_table *t, struct node *node)
{
	if (S_ISDIR(node->key.type)) {
		list_add_tail(&t->unused, &node->unused);
		node_table_evict(t, t->max_fds);
		return;
	}
	list_add_tail(&t->recent, &node->unused);
	node->recent = true;
	t->recent_len++;
	if (!node->small)
		node_table_give_up_fd(t, node);
	else if (t->recent_len > RECENT_MAX)
		node_table_give_up_fd(t, list_entry(t->recent.next, struct node, unused));
}

static void drop_use(struct node_use *use)
{
	struct node_table *t = use->table;
	struct node *node = use->node;

	if (use->handle) {
		if (!--use->handle->users && use->handle->detached)
			free_handle(t, use->handle);
	} else if (!--node->uses && !node->kept) {
		node_table_rest(t, node);
	}
	node_table_unref(t, node);
	*use = (struct node_use){0};
}

void node_use_drop(struct node_use *use)
{
	struct node_table *t = use->table;

	if (!t)
		return;
	node_table_lock(t);
	drop_use(use);
	node_table_unlock(t);
}

void node_table_evict(struct node_table *t, unsigned keep)
{
	while (t->open_fds > keep && !list_empty(&t->unused) && t->closing_len < NODE_TABLE_BATCH)
		node_table_give_up_fd(t, list_entry(t->unused.next, struct node, unused));
}

void node_table_relieve(struct node_table *t)
{
	unsigned keep, closed;

	node_table_lock(t);
	keep = t->open_fds / 2;
	do {
		node_table_evict(t, keep);
		closed = t->closing_len;
		node_table_unlock(t);
		node_table_lock(t);
	} while (closed == NODE_TABLE_BATCH);
	node_table_unlock(t);
}

static int key_of_fd(int fd, struct node_key *ret)
{
	struct statx sx;

	if (statx(fd, "", AT_EMPTY_PATH | AT_NO_AUTOMOUNT, STATX_TYPE | STATX_INO | STATX_BTIME,
		    &sx) < 0)
		return -errno;
	*ret = (struct node_key){
		.dev = makedev(sx.stx_dev_major, sx.stx_dev_minor),
		.ino = sx.stx_ino,
		.type = sx.stx_mode & S_IFMT,
	};
	if (sx.stx_mask & STATX_BTIME)
		ret->born_nsec = sx.stx_btime.tv_sec * 1000000000LL + sx.stx_btime.tv_nsec;
	return 0;
}

/* Opens what has this name and sees that it is the inode of key. -ESTALE: it is not. */
static int open_checked(int dir_fd, const char *name, const struct node_key *key)
{
	auto_close int fd = openat(dir_fd, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	struct node_key found;
	int r;

	if (fd < 0)
		return errno == ENOENT || errno == ENOTDIR ? -ESTALE : -errno;
	r = key_of_fd(fd, &found);
	if (r < 0)
		return r;
	return node_key_same(&found, key) ? take_fd(&fd) : -ESTALE;
}

void node_table_install(struct node_table *t, struct node *node, int fd)
{
	node->fd = fd;
	t->open_fds++;
}

/* Opens a node by one of its names, below a parent that is open. Leaves the lock meanwhile. held
 * keeps the node that was opened last from being closed again before the next one needs it. */
static int open_step(struct node_table *t, const struct node_name *name, struct node_use *held)
{
	struct node *node = name->node;
	struct node_key key = node->key;
	char text[NAME_MAX + 1];
	struct node_use dir;
	int fd;

	take_use(t, name->parent, &dir);
	memcpy(text, name->text, name->len + 1u);
	node->refs++;
	node_table_unlock(t);

	fd = open_checked(dir.fd, text, &key);
	if (fd == -EMFILE || fd == -ENFILE) {
		node_table_relieve(t);
		fd = open_checked(dir.fd, text, &key);
	}

	node_table_lock(t);
	if (held->table)
		drop_use(held);
	if (fd >= 0 && node->fd >= 0)
		t->closing[t->closing_len++] = fd;
	else if (fd >= 0)
		node_table_install(t, node, fd);
	if (fd >= 0)
		take_use(t, node, held);
	drop_use(&dir);
	node_table_unref(t, node);
	return fd < 0 ? fd : 0;
}

/* The name by which to open next: of node (its attempt-th), or of the highest directory above it
 * that lies below an open one. NULL: there is no way. */
static const struct node_name *next_step(const struct node *node, unsigned attempt)
{
	const struct node_name *name = node->names;

	while (name && attempt--)
		name = name->next;
	while (name && !is_open(name->parent))
		name = name->parent->names;
	return name;
}

/* Opens node, which the caller holds a reference on. held: to be dropped once node is in use. */
static int open_node(struct node_table *t, struct node *node, struct node_use *held)
{
	unsigned attempt = 0;
	int r = 0;

	while (r == 0 && !is_open(node)) {
		const struct node_name *name = next_step(node, attempt);

		r = name ? open_step(t, name, held) : -ESTALE;
		if (r == -ESTALE && name) {
			attempt++;
			r = 0;
		}
	}
	return r;
}

/* Whether it is worth looking again. Waits for renames under way; the lock is left meanwhile. */
static bool was_renamed(struct node_table *t, uint64_t renames)
{
	while (t->renaming && t->renames == renames)
		pthread_cond_wait(&t->rename_ended, &t->lock);
	return t->renames != renames;
}

static int use_locked(struct node_table *t, struct node *node, struct node_use *ret)
{
	struct node_use held = {0};
	int r = -ESTALE;

	node->refs++;
	for (unsigned tries = 0; r == -ESTALE && tries < RENAME_TRIES; tries++) {
		uint64_t renames = t->renames;

		r = open_node(t, node, &held);
		if (r == -ESTALE && !was_renamed(t, renames))
			break;
	}
	if (r == 0)
		take_use(t, node, ret);
	if (held.table)
		drop_use(&held);
	node_table_unref(t, node);
	return r;
}

int node_table_use(struct node_table *t, uint64_t id, struct node_use *ret)
{
	struct node *node;
	int r = -ESTALE;

	*ret = (struct node_use){0};
	node_table_lock(t);
	node = node_table_find(t, id);
	if (node)
		r = use_locked(t, node, ret);
	node_table_unlock(t);
	return r;
}

static int place_by_name(struct node_table *t, struct node *node, struct node_place *ret)
{
	const struct node_name *name = node->names;
	int r;

	if (!name)
		return -ESTALE;
	memcpy(ret->name, name->text, name->len + 1u);
	if (S_ISLNK(node->key.type))
		for (struct node *dir = name->parent; dir->names; dir = dir->names->parent)
			ret->depth++;
	r = use_locked(t, name->parent, &ret->use);
	return r;
}

int node_table_place(struct node_table *t, uint64_t id, struct node_place *ret)
{
	struct node *node;
	int r = -ESTALE;

	*ret = (struct node_place){0};
	node_table_lock(t);
	node = node_table_find(t, id);
	if (node) {
		ret->key = node->key;
		ret->reserved = node->reserved;
		if (is_open(node) && !S_ISLNK(node->key.type)) {
			take_use(t, node, &ret->use);
			r = 0;
		} else {
			r = place_by_name(t, node, ret);
		}
	}
	node_table_unlock(t);
	return r;
}

int node_table_attach(struct node_table *t, uint64_t id, int fd, struct node_handle **ret)
{
	struct node_handle *handle = malloc(sizeof(*handle));
	struct node *node;

	if (!handle) {
		close(fd);
		return -ENOMEM;
	}
	*handle = (struct node_handle){.fd = fd};
	node_table_lock(t);
	node = node_table_find(t, id);
	if (node) {
		handle->node = node;
		handle->next = node->handles;
		node->handles = handle;
		node->refs++;
		t->open_handles++;
	} else {
		handle->next = t->handle_trash;
		t->handle_trash = handle;
	}
	node_table_unlock(t);
	if (!node)
		return -ESTALE;
	*ret = handle;
	return 0;
}

void node_table_handle_maps(struct node_table *t, struct node_handle *handle)
{
	node_table_lock(t);
	handle->node->mappers += !handle->maps;
	handle->maps = true;
	node_table_unlock(t);
}

uint64_t node_table_handle_id(const struct node_handle *handle)
{
	return handle->node->id;
}

enum node_backing node_table_back(struct node_table *t, struct node_handle *handle, int id)
{
	struct node *node = handle->node;
	enum node_backing how = NODE_BACKING_HAS;

	node_table_lock(t);
	if (node->cached || (!node->backed && id < 0)) {
		node->cached++;
		handle->cached = true;
		how = NODE_BACKING_NONE;
	} else if (!node->backed && id == 0) {
		how = NODE_BACKING_WANTED;
	} else {
		if (!node->backed++)
			node->backing_id = id;
		handle->backing_id = node->backing_id;
	}
	node_table_unlock(t);
	return how;
}

bool node_table_has_cached(struct node_table *t, const struct node_handle *handle)
{
	bool has;

	node_table_lock(t);
	has = handle->node->cached;
	node_table_unlock(t);
	return has;
}

/* Gives what the kernel knows the node's file by, when nobody needs it any more. */
static int leave_backing(struct node *node, struct node_handle *handle)
{
	node->mappers -= handle->maps;
	node->cached -= handle->cached;
	if (!handle->backing_id || --node->backed)
		return 0;
	return node->backing_id;
}

int node_table_detach(struct node_table *t, struct node_handle *handle)
{
	struct node_handle **at;
	int backing_id;

	node_table_lock(t);
	at = &handle->node->handles;
	while (*at != handle)
		at = &(*at)->next;
	*at = handle->next;
	backing_id = leave_backing(handle->node, handle);
	handle->detached = true;
	if (!handle->users)
		free_handle(t, handle);
	node_table_unlock(t);
	return backing_id;
}
