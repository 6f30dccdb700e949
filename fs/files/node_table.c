// The records of files/'s nodes: by id and by inode, and their life. Lookups are in node_table_lookups.c,
// names in node_table_names.c, descriptors in node_table_fds.c, what the kernel was told of nodes in
// node_table_promises.c.
#include "fs/files/node_table.h"

#include <errno.h>
#include <malloc.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "fs/files/node_table_impl.h"

#define TRIM_EVERY (64u * 1024)

static uint64_t hash_key(const struct node_table *t, const struct node_key *key)
{
	return node_table_mix(t->hash_seed ^ key->dev, key->ino);
}

static uint64_t hash_id(const struct node_table *t, uint64_t id)
{
	return node_table_mix(t->hash_seed, id);
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
	unsigned closing_len = t->closing_len, freed = 0;

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
		close_fd(&node->fd);
		free(node);
		freed++;
	}
	/* The allocator gives little back by itself. */
	if (freed && (atomic_fetch_add(&t->freed, freed) + freed) % TRIM_EVERY < freed)
		malloc_trim(0);
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

struct node *node_table_find_key(struct node_table *t, const struct node_key *key)
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

bool node_table_is(struct node_table *t, uint64_t id, const struct node_key *key)
{
	struct node *node;
	bool is;

	node_table_lock(t);
	node = node_table_find(t, id);
	is = node && node_key_same(&node->key, key);
	node_table_unlock(t);
	return is;
}

uint64_t node_table_of_key(struct node_table *t, const struct node_key *key)
{
	struct node *node;
	uint64_t id;

	node_table_lock(t);
	node = node_table_find_key(t, key);
	id = node && node_key_same(&node->key, key) ? node->id : 0;
	node_table_unlock(t);
	return id;
}

static bool is_unneeded(const struct node_table *t, const struct node *node)
{
	return !node->lookups && !node->refs && node != t->root;
}

static void settle(struct node_table *t, struct node *node);

/* Takes the record out of the table, to be freed. */
static void give_up(struct node_table *t, struct node *node)
{
	while (node->names) {
		struct node *parent = node_table_pop_name(t, node);

		parent->refs--;
		settle(t, parent);
	}
	node_table_end_promises(t, node);
	node_hash_remove(&t->by_id, &node->by_id);
	if (node->in_by_key)
		node_hash_remove(&t->by_key, &node->by_key);
	if (node->fd >= 0) {
		node_table_unlist(t, node);
		t->open_fds--;
	}
	list_remove(&node->forgotten);
	t->idle--;
	node->trash_next = t->trash;
	t->trash = node;
}

/* A record that nothing needs is kept if it has a name, by which a file server that comes back to it
 * can find it again. Recurses once: a record without a name has nothing above it. */
static void settle(struct node_table *t, struct node *node)
{
	if (!is_unneeded(t, node))
		return;
	if (!node->names) {
		give_up(t, node);
		return;
	}
	list_remove(&node->forgotten);
	list_add_tail(&t->forgotten, &node->forgotten);
	if (node->recent)
		node_table_give_up_fd(t, node);
}

/* Frees what has been kept longest until few enough are. Those that are needed again just leave the
 * list. A loop, not a recursion: a tree may be thousands of directories deep. */
void node_table_free_if_unneeded(struct node_table *t, struct node *node)
{
	settle(t, node);
	while (t->idle > t->max_idle && !list_empty(&t->forgotten)) {
		node = list_entry(t->forgotten.next, struct node, forgotten);
		list_remove(&node->forgotten);
		if (is_unneeded(t, node))
			give_up(t, node);
	}
}

void node_table_unref(struct node_table *t, struct node *node)
{
	node->refs--;
	node_table_free_if_unneeded(t, node);
}

struct node *node_table_add(struct node_table *t, const struct node_key *key)
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
	list_init(&node->forgotten);
	t->idle++;
	list_init(&node->promised);
	list_init(&node->missed);
	node->by_id.hash = hash_id(t, node->id);
	node_hash_add(&t->by_id, &node->by_id);
	if (!S_ISLNK(key->type)) {
		node->by_key.hash = hash_key(t, key);
		node_hash_add(&t->by_key, &node->by_key);
		node->in_by_key = true;
	}
	return node;
}

void node_table_counts(struct node_table *t, uint64_t *ret_nodes, uint64_t *ret_fds)
{
	node_table_lock(t);
	*ret_nodes = t->by_id.count;
	*ret_fds = t->open_fds + t->open_handles;
	node_table_unlock(t);
}

static int add_root(struct node_table *t, int tree_fd, const struct node_key *key, uint64_t root_id)
{
	t->next_id = root_id;
	t->root = node_table_add(t, key);
	if (!t->root)
		return -ENOMEM;
	t->root->fd = tree_fd;
	t->root->uses = 1;
	t->root->kept = true;
	return 0;
}

int node_table_new(int tree_fd, const struct node_key *root, uint64_t root_id, unsigned max_fds,
	unsigned max_idle, struct node_table **ret)
{
	struct node_table *t = calloc(1, sizeof(*t));

	if (!t)
		return -ENOMEM;
	pthread_mutex_init(&t->lock, NULL);
	pthread_cond_init(&t->rename_ended, NULL);
	list_init(&t->unused);
	list_init(&t->recent);
	list_init(&t->forgotten);
	list_init(&t->promised);
	list_init(&t->missed);
	t->max_fds = max_fds;
	t->max_idle = max_idle;
	if (getrandom(&t->hash_seed, sizeof(t->hash_seed), GRND_NONBLOCK) < 0)
		t->hash_seed = (uintptr_t)t;
	if (add_root(t, tree_fd, root, root_id) < 0) {
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
	close_fd(&node->fd);
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
