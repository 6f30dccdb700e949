// The lookups of files/'s nodes that the kernel holds: how a node is entered, and forgotten.
#include <errno.h>
#include <string.h>

#include "common/scope.h"
#include "fs/files/node_table_impl.h"

/* Whether a node found by its inode number is the inode. Without a time of birth that is not sure once
 * nobody has asked for the node for a while: the number may have been used again. */
static bool is_inode(const struct node *node, const struct node_key *key)
{
	return node_key_same(&node->key, key) && (node->lookups || key->born_nsec);
}

/* The node of an inode that was found by another name, or none. A node whose inode number now is
 * another inode's loses it, and its names. */
static struct node *known_inode(struct node_table *t, const struct node_key *key)
{
	struct node *node = S_ISLNK(key->type) ? NULL : node_table_find_key(t, key);

	if (!node || is_inode(node, key))
		return node;
	node_hash_remove(&t->by_key, &node->by_key);
	node->in_by_key = false;
	node->refs++;
	while (node->names)
		node_table_unref(t, node_table_pop_name(t, node));
	node_table_unref(t, node);
	return NULL;
}

static unsigned depth_of(const struct node_table *t, const struct node *node)
{
	unsigned depth = 0;

	for (; node != t->root && node->names; node = node->names->parent)
		depth++;
	return depth;
}

static int enter_locked(struct node_table *t, struct node *parent, const char *text,
	const struct node_key *key, struct node **ret)
{
	struct node_name *name = node_table_find_name(t, parent, text, strlen(text));
	struct node *node;
	int r;

	if (name && node_key_same(&name->node->key, key)) {
		*ret = name->node;
		return 0;
	}
	if (name)
		node_table_remove_name(t, name);
	node = known_inode(t, key);
	if (!node)
		node = node_table_add(t, key);
	if (!node)
		return -ENOMEM;
	r = node_table_add_name(t, node, parent, text);
	if (r < 0) {
		node_table_free_if_unneeded(t, node);
		return r;
	}
	*ret = node;
	return 0;
}

static void add_lookup(struct node_table *t, struct node *node)
{
	if (!node->lookups++)
		t->idle--;
}

static void lend_fd(struct node_table *t, struct node *node, struct node_found *found)
{
	int fd = take_fd(&found->fd);

	if (fd < 0)
		return;
	if (node->fd >= 0) {
		t->closing[t->closing_len++] = fd;
		return;
	}
	node->small = true;
	node_table_install(t, node, fd);
	node_table_rest(t, node);
}

int node_table_enter(struct node_table *t, uint64_t parent, const char *name,
	struct node_found *found, uint64_t *ret_id, unsigned *ret_depth)
{
	struct node *dir, *node = NULL;
	int r = -ESTALE;

	node_table_lock(t);
	dir = node_table_find(t, parent);
	if (dir) {
		dir->refs++;
		r = enter_locked(t, dir, name, &found->key, &node);
		if (r == 0) {
			add_lookup(t, node);
			node->reserved = found->reserved;
			*ret_id = node->id;
			*ret_depth = depth_of(t, dir);
			lend_fd(t, node, found);
		}
		node_table_unref(t, dir);
	}
	node_table_unlock(t);
	return r;
}

int node_table_enter_nameless(struct node_table *t, const struct node_key *key, uint64_t *ret_id)
{
	struct node *node;

	node_table_lock(t);
	node = known_inode(t, key);
	if (!node)
		node = node_table_add(t, key);
	if (node) {
		add_lookup(t, node);
		*ret_id = node->id;
	}
	node_table_unlock(t);
	return node ? 0 : -ENOMEM;
}

int node_table_again(struct node_table *t, uint64_t id)
{
	struct node *node;

	node_table_lock(t);
	node = node_table_find(t, id);
	if (node)
		add_lookup(t, node);
	node_table_unlock(t);
	return node ? 0 : -ESTALE;
}

/* The kernel is done with it. The descriptor of what has no name was kept for the kernel only. */
static void end_lookups(struct node_table *t, struct node *node)
{
	t->idle++;
	node_table_end_promises(t, node);
	if (!node->kept || node == t->root)
		return;
	node->kept = false;
	if (node->fd >= 0 && !node->uses)
		node_table_rest(t, node);
}

void node_table_forget(struct node_table *t, uint64_t id, uint64_t lookups)
{
	struct node *node;

	node_table_lock(t);
	node = node_table_find(t, id);
	if (node && node->lookups) {
		node->lookups -= lookups < node->lookups ? lookups : node->lookups;
		if (!node->lookups)
			end_lookups(t, node);
		node_table_free_if_unneeded(t, node);
	}
	node_table_unlock(t);
}
