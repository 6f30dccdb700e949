// The records of files/'s nodes: by id, by inode, by name. Descriptors are in node_fds.c.
#include "fs/node_table.h"

#include <errno.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "fs/node_table_impl.h"

/* A file with more names than this is found by those that were looked up last. */
#define NAMES_MAX 8

static uint64_t mix(uint64_t a, uint64_t b)
{
	__extension__ unsigned __int128 product =
		(unsigned __int128)(a ^ 0x9e3779b97f4a7c15u) * (b ^ 0xbf58476d1ce4e5b9u);

	return (uint64_t)product ^ (uint64_t)(product >> 64);
}

/* Seeded: the names and inode numbers come from a sandbox that may want them to collide. */
static uint64_t hash_name(const struct node_table *t, uint64_t parent, const char *text, size_t len)
{
	uint64_t hash = mix(t->hash_seed, parent + len);

	for (size_t i = 0; i < len; i += sizeof(uint64_t)) {
		uint64_t part = 0;

		memcpy(&part, text + i, len - i < sizeof(part) ? len - i : sizeof(part));
		hash = mix(hash ^ t->hash_seed, part);
	}
	return hash;
}

static uint64_t hash_key(const struct node_table *t, const struct node_key *key)
{
	return mix(t->hash_seed ^ key->dev, key->ino);
}

static uint64_t hash_id(const struct node_table *t, uint64_t id)
{
	return mix(t->hash_seed, id);
}

bool node_key_same(const struct node_key *a, const struct node_key *b)
{
	bool same_birth = a->born_nsec == b->born_nsec || !a->born_nsec || !b->born_nsec;

	return a->ino == b->ino && a->dev == b->dev && a->type == b->type && same_birth;
}

void node_table_lock(struct node_table *t)
{
	pthread_mutex_lock(&t->lock);
}

void node_table_unlock(struct node_table *t)
{
	struct node *trash = take_ptr(t->trash);
	struct node_handle *handles = take_ptr(t->handle_trash);
	int closing[ARRAY_LEN(t->closing)];
	unsigned closing_len = t->closing_len;

	if (closing_len)
		memcpy(closing, t->closing, closing_len * sizeof(*closing));
	t->closing_len = 0;
	pthread_mutex_unlock(&t->lock);

	for (unsigned i = 0; i < closing_len; i++)
		close(closing[i]);
	while (handles) {
		struct node_handle *handle = handles;

		handles = handle->next;
		close(handle->fd);
		free(handle);
	}
	while (trash) {
		struct node *node = trash;

		trash = node->trash_next;
		scope_close(&node->fd);
		free(node);
	}
}

struct node *node_table_find(struct node_table *t, uint64_t id)
{
	uint64_t hash = hash_id(t, id);
	struct node_hash_link *link = node_hash_chain(&t->by_id, hash);

	for (; link; link = link->next) {
		struct node *node = container_of(link, struct node, by_id);

		if (node->id == id)
			return node;
	}
	return NULL;
}

static struct node *find_key(struct node_table *t, const struct node_key *key)
{
	uint64_t hash = hash_key(t, key);
	struct node_hash_link *link = node_hash_chain(&t->by_key, hash);

	for (; link; link = link->next) {
		struct node *node = container_of(link, struct node, by_key);

		if (node->key.ino == key->ino && node->key.dev == key->dev)
			return node;
	}
	return NULL;
}

static struct node_name *find_name(
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

	return dir ? find_name(t, dir, text, strlen(text)) : NULL;
}

static void remove_name(struct node_table *t, struct node_name *name)
{
	struct node_name **at = &name->node->names;

	while (*at != name)
		at = &(*at)->next;
	*at = name->next;
	node_hash_remove(&t->by_name, &name->by_text);
	node_table_unref(t, name->parent);
	free(name);
}

/* Frees the record if nothing needs it; its parents' records may follow. A loop, not a recursion:
 * a tree may be thousands of directories deep. */
static void free_if_unneeded(struct node_table *t, struct node *node)
{
	while (node && !node->lookups && !node->refs && node != t->root) {
		struct node *parent = NULL;

		while (node->names && node->names->next)
			remove_name(t, node->names);
		if (node->names) {
			struct node_name *last = take_ptr(node->names);

			parent = last->parent;
			parent->refs--;
			node_hash_remove(&t->by_name, &last->by_text);
			free(last);
		}
		node_hash_remove(&t->by_id, &node->by_id);
		if (node->in_by_key)
			node_hash_remove(&t->by_key, &node->by_key);
		if (node->fd >= 0) {
			node_table_unlist(t, node);
			t->open_fds--;
		}
		node->trash_next = t->trash;
		t->trash = node;
		node = parent;
	}
}

void node_table_unref(struct node_table *t, struct node *node)
{
	node->refs--;
	free_if_unneeded(t, node);
}

static bool is_below(const struct node *node, const struct node *above)
{
	for (; node; node = node->names ? node->names->parent : NULL)
		if (node == above)
			return true;
	return false;
}

/* The caller has seen to it that no node has this name yet. */
static int add_name(struct node_table *t, struct node *node, struct node *parent, const char *text)
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
		remove_name(t, old->next);
	return 0;
}

static struct node *add_node(struct node_table *t, const struct node_key *key)
{
	struct node *node;

	if (node_hash_room(&t->by_id) < 0 || node_hash_room(&t->by_key) < 0)
		return NULL;
	node = calloc(1, sizeof(*node));
	if (!node)
		return NULL;
	node->id = t->next_id++;
	node->key = *key;
	node->fd = -1;
	list_init(&node->unused);
	node->by_id.hash = hash_id(t, node->id);
	node_hash_add(&t->by_id, &node->by_id);
	if (!S_ISLNK(key->type)) {
		node->by_key.hash = hash_key(t, key);
		node_hash_add(&t->by_key, &node->by_key);
		node->in_by_key = true;
	}
	return node;
}

/* The node of an inode that was found by another name, or none. A node whose inode number now is
 * another inode's loses it, and its names. */
static struct node *known_inode(struct node_table *t, const struct node_key *key)
{
	struct node *node = S_ISLNK(key->type) ? NULL : find_key(t, key);

	if (!node || node_key_same(&node->key, key))
		return node;
	node_hash_remove(&t->by_key, &node->by_key);
	node->in_by_key = false;
	node->refs++;
	while (node->names)
		remove_name(t, node->names);
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
	struct node_name *name = find_name(t, parent, text, strlen(text));
	struct node *node;
	int r;

	if (name && node_key_same(&name->node->key, key)) {
		*ret = name->node;
		return 0;
	}
	if (name)
		remove_name(t, name);
	node = known_inode(t, key);
	if (!node)
		node = add_node(t, key);
	if (!node)
		return -ENOMEM;
	r = add_name(t, node, parent, text);
	if (r < 0) {
		free_if_unneeded(t, node);
		return r;
	}
	*ret = node;
	return 0;
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
			node->lookups++;
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
		node = add_node(t, key);
	if (node) {
		node->lookups++;
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
		node->lookups++;
	node_table_unlock(t);
	return node ? 0 : -ESTALE;
}

void node_table_forget(struct node_table *t, uint64_t id, uint64_t lookups)
{
	struct node *node;

	node_table_lock(t);
	node = node_table_find(t, id);
	if (node) {
		node->lookups -= lookups < node->lookups ? lookups : node->lookups;
		free_if_unneeded(t, node);
	}
	node_table_unlock(t);
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
	remove_name(t, name);
	node_table_unref(t, node);
}

void node_table_unname(struct node_table *t, uint64_t parent, const char *name, bool keep)
{
	struct node_name *found;

	node_table_lock(t);
	found = find_name_by_id(t, parent, name);
	if (found) {
		if (keep && found->node->fd >= 0) {
			found->node->kept = true;
			node_table_unlist(t, found->node);
		}
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
	struct node *node = from ? from->node : NULL, *other = to ? to->node : NULL;

	if (node)
		node->refs++;
	if (other)
		other->refs++;
	if (from)
		remove_name(t, from);
	if (to)
		remove_name(t, to);
	if (node)
		add_name(t, node, newparent, newname);
	if (other && exchange)
		add_name(t, other, parent, name);
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
		move_names(t, find_name(t, dir, name, strlen(name)),
			find_name(t, newdir, newname, strlen(newname)), dir, newdir, name, newname,
			exchange);
		node_table_unref(t, dir);
		node_table_unref(t, newdir);
	}
	t->renaming--;
	t->renames++;
	pthread_cond_broadcast(&t->rename_ended);
	node_table_unlock(t);
}

bool node_table_stamp(struct node_table *t, uint64_t id, const struct node_stamp *stamp)
{
	bool same = false;
	struct node *node;

	node_table_lock(t);
	node = node_table_find(t, id);
	if (node) {
		same = stamp && node->stamped && node->stamp.size == stamp->size &&
		       node->stamp.mtime_nsec == stamp->mtime_nsec &&
		       node->stamp.ctime_nsec == stamp->ctime_nsec;
		node->stamped = stamp != NULL;
		if (stamp)
			node->stamp = *stamp;
	}
	node_table_unlock(t);
	return same;
}

void node_table_counts(struct node_table *t, uint64_t *ret_nodes, uint64_t *ret_fds)
{
	node_table_lock(t);
	*ret_nodes = t->by_id.count;
	*ret_fds = t->open_fds + t->open_handles;
	node_table_unlock(t);
}

static int add_root(struct node_table *t, int tree_fd, const struct node_key *key)
{
	t->next_id = NODE_TABLE_ROOT;
	t->root = add_node(t, key);
	if (!t->root)
		return -ENOMEM;
	t->root->fd = tree_fd;
	t->root->uses = 1;
	t->root->kept = true;
	return 0;
}

int node_table_new(
	int tree_fd, const struct node_key *root, unsigned max_fds, struct node_table **ret)
{
	struct node_table *t = calloc(1, sizeof(*t));

	if (!t)
		return -ENOMEM;
	pthread_mutex_init(&t->lock, NULL);
	pthread_cond_init(&t->rename_ended, NULL);
	list_init(&t->unused);
	list_init(&t->recent);
	t->max_fds = max_fds;
	if (getrandom(&t->hash_seed, sizeof(t->hash_seed), GRND_NONBLOCK) < 0)
		t->hash_seed = (uintptr_t)t;
	if (add_root(t, tree_fd, root) < 0) {
		node_table_free(t);
		return -ENOMEM;
	}
	*ret = t;
	return 0;
}

static void free_node(struct node *node)
{
	while (node->names) {
		struct node_name *name = node->names;

		node->names = name->next;
		free(name);
	}
	while (node->handles) {
		struct node_handle *handle = node->handles;

		node->handles = handle->next;
		close(handle->fd);
		free(handle);
	}
	scope_close(&node->fd);
	free(node);
}

void node_table_free(struct node_table *t)
{
	if (!t)
		return;
	if (t->root)
		t->root->fd = -1;
	for (size_t i = 0; i < t->by_id.size; i++) {
		struct node_hash_link *link = t->by_id.slots[i], *next;

		for (; link; link = next) {
			next = link->next;
			free_node(container_of(link, struct node, by_id));
		}
	}
	node_hash_clear(&t->by_id);
	node_hash_clear(&t->by_key);
	node_hash_clear(&t->by_name);
	pthread_cond_destroy(&t->rename_ended);
	pthread_mutex_destroy(&t->lock);
	free(t);
}
