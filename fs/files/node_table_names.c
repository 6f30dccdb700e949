// The names by which files/'s nodes are reached, and what renames and removals do to them.
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/scope.h"
#include "fs/files/node_table_impl.h"

/* A file with more names than this is found by those that were looked up last. */
#define NAMES_MAX 8

/* Seeded: the names and inode numbers come from a sandbox that may want them to collide. */
static uint64_t hash_name(const struct node_table *t, uint64_t parent, const char *text, size_t len)
{
	uint64_t hash = node_table_mix(t->hash_seed, parent + len);

	for (size_t i = 0; i < len; i += sizeof(uint64_t)) {
		uint64_t part = 0;

		memcpy(&part, text + i, len - i < sizeof(part) ? len - i : sizeof(part));
		hash = node_table_mix(hash ^ t->hash_seed, part);
	}
	return hash;
}

struct node_name *node_table_find_name(
	struct node_table *t, const struct node *parent, const char *text, size_t len)
{
	uint64_t hash = hash_name(t, parent->id, text, len);
	struct node_hash_link *link = node_hash_chain(&t->by_name, hash);

	for (; link; link = link->next) {
		struct node_name *name = container_of(link, struct node_name, by_text);

		if (link->hash == hash && name->parent == parent && name->len == len &&
			!memcmp(name->text, text, len))
			return name;
	}
	return NULL;
}

static struct node_name *find_name_by_id(struct node_table *t, uint64_t parent, const char *text)
{
	struct node *dir = node_table_find(t, parent);

	return dir ? node_table_find_name(t, dir, text, strlen(text)) : NULL;
}

/* Out of the table, not out of its node's list. Gives the directory, which loses a reference. */
static struct node *free_name(struct node_table *t, struct node_name *name)
{
	struct node *parent = name->parent;

	node_hash_remove(&t->by_name, &name->by_text);
	free(name);
	return parent;
}

struct node *node_table_pop_name(struct node_table *t, struct node *node)
{
	struct node_name *name = node->names;

	node->names = name->next;
	return free_name(t, name);
}

void node_table_remove_name(struct node_table *t, struct node_name *name)
{
	struct node_name **at = &name->node->names;

	while (*at != name)
		at = &(*at)->next;
	*at = name->next;
	node_table_unref(t, free_name(t, name));
}

static bool is_below(const struct node *node, const struct node *above)
{
	for (; node; node = node->names ? node->names->parent : NULL)
		if (node == above)
			return true;
	return false;
}

int node_table_add_name(
	struct node_table *t, struct node *node, struct node *parent, const char *text)
{
	size_t len = strlen(text);
	struct node_name *name, *old;
	unsigned count = 1;

	if (len > NAME_MAX)
		return -ENAMETOOLONG;
	/* Moved about from inside while the kernel still has the old place. */
	if (S_ISDIR(node->key.type) && is_below(parent, node))
		return -ESTALE;
	if (node_hash_room(&t->by_name) < 0)
		return -ENOMEM;
	name = malloc(sizeof(*name) + len + 1);
	if (!name)
		return -ENOMEM;
	*name = (struct node_name){.node = node, .parent = parent, .next = node->names};
	name->len = (unsigned char)len;
	memcpy(name->text, text, len + 1);
	name->by_text.hash = hash_name(t, parent->id, text, len);
	node_hash_add(&t->by_name, &name->by_text);
	parent->refs++;
	node->names = name;

	for (old = name; old->next && count < (S_ISREG(node->key.type) ? NAMES_MAX : 1); count++)
		old = old->next;
	if (old->next)
		node_table_remove_name(t, old->next);
	return 0;
}

int node_table_parent(struct node_table *t, uint64_t id, uint64_t *ret_parent)
{
	struct node *node;
	int r = -ESTALE;

	node_table_lock(t);
	node = node_table_find(t, id);
	if (node && (node->names || node == t->root)) {
		*ret_parent = node->names ? node->names->parent->id : 0;
		r = 0;
	}
	node_table_unlock(t);
	return r;
}

uint64_t node_table_child(struct node_table *t, uint64_t parent, const char *name)
{
	struct node_name *found;
	uint64_t id;

	node_table_lock(t);
	found = find_name_by_id(t, parent, name);
	id = found ? found->node->id : 0;
	node_table_unlock(t);
	return id;
}

/* Unlike remove_name(), for a name whose node may be needed by nobody else. */
static void drop_name(struct node_table *t, struct node_name *name)
{
	struct node *node = name->node;

	node->refs++;
	node_table_remove_name(t, name);
	node_table_unref(t, node);
}

/* Until the kernel is done with it: there is no name to open it by. */
static void keep_fd(struct node_table *t, struct node *node)
{
	if (node->fd < 0 || !node->lookups)
		return;
	node->kept = true;
	node_table_unlist(t, node);
}

void node_table_use_leaving(
	struct node_table *t, uint64_t parent, const char *name, struct node_use *ret)
{
	struct node_name *found;
	uint64_t id = 0;

	*ret = (struct node_use){0};
	node_table_lock(t);
	found = find_name_by_id(t, parent, name);
	if (found && !S_ISREG(found->node->key.type) && !S_ISLNK(found->node->key.type))
		id = found->node->id;
	node_table_unlock(t);
	if (id)
		node_table_use(t, id, ret);
}

void node_table_unname(struct node_table *t, uint64_t parent, const char *name)
{
	struct node_name *found;

	node_table_lock(t);
	found = find_name_by_id(t, parent, name);
	if (found) {
		keep_fd(t, found->node);
		drop_name(t, found);
	}
	node_table_unlock(t);
}

void node_table_rename_begin(struct node_table *t)
{
	node_table_lock(t);
	t->renaming++;
	node_table_unlock(t);
}

/* Without memory for the new name the node is found again by the next lookup. */
static void move_names(struct node_table *t, struct node_name *from, struct node_name *to,
	struct node *parent, struct node *newparent, const char *name, const char *newname,
	bool exchange)
{
	struct node *node = NULL, *other = NULL;

	if (from) {
		node = from->node;
		node->refs++;
	}
	if (to) {
		other = to->node;
		other->refs++;
		if (!exchange && other != node)
			keep_fd(t, other);
	}
	if (from)
		node_table_remove_name(t, from);
	if (to)
		node_table_remove_name(t, to);
	if (node)
		node_table_add_name(t, node, newparent, newname);
	if (other && exchange)
		node_table_add_name(t, other, parent, name);
	if (node)
		node_table_unref(t, node);
	if (other)
		node_table_unref(t, other);
}

void node_table_rename_end(struct node_table *t, bool renamed, uint64_t parent, const char *name,
	uint64_t newparent, const char *newname, bool exchange)
{
	struct node *dir, *newdir;

	node_table_lock(t);
	dir = node_table_find(t, parent);
	newdir = node_table_find(t, newparent);
	if (renamed && dir && newdir) {
		dir->refs++;
		newdir->refs++;
		move_names(t, node_table_find_name(t, dir, name, strlen(name)),
			node_table_find_name(t, newdir, newname, strlen(newname)), dir, newdir,
			name, newname, exchange);
		node_table_unref(t, dir);
		node_table_unref(t, newdir);
	}
	t->renaming--;
	t->renames++;
	pthread_cond_broadcast(&t->rename_ended);
	node_table_unlock(t);
}
