// A hash table whose links lie in the records: chains, doubled as it fills. The user hashes and
// compares. A zeroed table is empty.
#pragma once

#include <stdint.h>
#include <stdlib.h>

struct node_hash_link {
	struct node_hash_link *next;
	uint64_t hash;
};

struct node_hash {
	struct node_hash_link **slots; /* owned; the records are not */
	size_t size; /* a power of two, or 0 */
	size_t count;
};

static inline void node_hash_clear(struct node_hash *h)
{
	free(h->slots);
	*h = (struct node_hash){0};
}

/* The first link of the chain in which hash would be. */
static inline struct node_hash_link *node_hash_chain(const struct node_hash *h, uint64_t hash)
{
	return h->size ? h->slots[hash & (h->size - 1)] : NULL;
}

static inline void node_hash_put(struct node_hash *h, struct node_hash_link *link)
{
	struct node_hash_link **slot = &h->slots[link->hash & (h->size - 1)];

	link->next = *slot;
	*slot = link;
}

static inline int node_hash_resize(struct node_hash *h, size_t size)
{
	struct node_hash old = *h;
	struct node_hash_link **slots = calloc(size, sizeof(*slots));

	if (!slots)
		return -1;
	h->slots = slots;
	h->size = size;
	for (size_t i = 0; i < old.size; i++) {
		struct node_hash_link *link = old.slots[i], *next;

		for (; link; link = next) {
			next = link->next;
			node_hash_put(h, link);
		}
	}
	free(old.slots);
	return 0;
}

/* Makes sure that one more fits; -1 only when there is no table at all: a fuller one still works. */
static inline int node_hash_room(struct node_hash *h)
{
	if (h->count < h->size)
		return 0;
	if (node_hash_resize(h, h->size ? h->size * 2 : 256) < 0 && !h->size)
		return -1;
	return 0;
}

/* After node_hash_room(). link->hash is set. */
static inline void node_hash_add(struct node_hash *h, struct node_hash_link *link)
{
	node_hash_put(h, link);
	h->count++;
}

static inline void node_hash_remove(struct node_hash *h, struct node_hash_link *link)
{
	struct node_hash_link **at = &h->slots[link->hash & (h->size - 1)];

	while (*at && *at != link)
		at = &(*at)->next;
	if (!*at)
		return;
	*at = link->next;
	h->count--;
}
