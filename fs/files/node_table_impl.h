// What node_table.c (records), node_table_lookups.c, node_table_names.c, node_table_fds.c (descriptors) and
// node_table_promises.c share.
// Everything here is under the table's lock.
#pragma once

#include <pthread.h>
#include <stdatomic.h>

#include "common/list.h"
#include "fs/files/node_hash.h"
#include "fs/files/node_table.h"

#define NODE_TABLE_BATCH 32 /* descriptors that are given up under the lock at once */

struct node_name {
	struct node_hash_link by_text; /* in table->by_name */
	struct node *node;
	struct node *parent; /* counted in parent->refs */
	struct node_name *next; /* of the same node, newest first */
	unsigned char len;
	char text[];
};

struct node {
	struct node_hash_link by_id;
	struct node_hash_link by_key;
	uint64_t id;
	struct node_key key;
	uint64_t lookups; /* that the kernel holds */
	unsigned refs; /* names below it, uses, handles */
	unsigned uses; /* of fd */
	int fd; /* owned, O_PATH; -1: not open */
	bool in_by_key; /* not for symbolic links, nor once its inode number is another's */
	bool reserved;
	bool kept; /* fd is not closed to make room */
	bool small; /* fd may stay open for a short while although it is no directory's */
	bool recent; /* in table->recent, not in table->unused */
	bool stamped;
	struct node_stamp stamp;
	uint64_t token;
	bool listed; /* the kernel may hold a directory's names, as they were at the stamp, if stamped */
	unsigned parts,
		ended_parts; /* of its names, that the kernel was given, and when one ended last */
	int backing_id; /* of its handles that have one */
	unsigned backed, cached; /* handles of regular files, by how the kernel serves them */
	unsigned mappers; /* handles through whose mappings it may be changed unseen */
	bool is_promised; /* in table->promised */
	struct list promised;
	bool is_missed; /* in table->missed */
	struct list missed;
	struct node_name *names; /* owned */
	struct node_handle *handles; /* owned */
	struct list unused; /* in table->unused or recent while fd is open and nobody uses it */
	struct list forgotten; /* in table->forgotten */
	struct node *trash_next;
};

struct node_table {
	pthread_mutex_t lock;
	pthread_cond_t rename_ended;
	unsigned renaming; /* renames under way */
	uint64_t renames; /* that have ended */
	struct node_hash by_id, by_key, by_name;
	uint64_t hash_seed;
	uint64_t next_id;
	struct node *root; /* owned; its fd is borrowed */
	unsigned max_fds;
	unsigned open_fds; /* without... */
	unsigned open_handles;
	struct list unused; /* directories, longest unused first */
	struct list promised; /* nodes of whose attributes the kernel is sure, oldest first */
	unsigned promised_len;
	struct list missed; /* nodes that the kernel could not be told of, oldest first */
	unsigned missed_len;
	struct list recent; /* small files, longest unused first */
	unsigned recent_len;
	struct list forgotten; /* nodes that nothing needed when they were put in, oldest first */
	uint64_t idle; /* nodes without lookups */
	uint64_t max_idle;
	struct node *trash; /* these three: for node_table_unlock() to free and close */
	struct node_handle *handle_trash;
	int closing[NODE_TABLE_BATCH + 8]; /* a batch, and what else one function gives up */
	unsigned closing_len;
	atomic_uint freed; /* nodes, ever; not under the lock */
};

void node_table_lock(struct node_table *t);
/* Also frees and closes, outside of the lock, what was given up under it. */
void node_table_unlock(struct node_table *t);

struct node *node_table_find(struct node_table *t, uint64_t id);
/* That of the inode number: the inode may be another one. */
struct node *node_table_find_key(struct node_table *t, const struct node_key *key);

/* A new record, which nothing needs yet. NULL: no memory. */
struct node *node_table_add(struct node_table *t, const struct node_key *key);
void node_table_free_if_unneeded(struct node_table *t, struct node *node);

/* Gives up one reference, and the node with it when it was the last one. */
void node_table_unref(struct node_table *t, struct node *node);

/* The kernel has forgotten the node, and with it what it was promised. */
void node_table_end_promises(struct node_table *t, struct node *node);

static inline uint64_t node_table_mix(uint64_t a, uint64_t b)
{
	__extension__ unsigned __int128 product =
		(unsigned __int128)(a ^ 0x9e3779b97f4a7c15u) * (b ^ 0xbf58476d1ce4e5b9u);

	return (uint64_t)product ^ (uint64_t)(product >> 64);
}

struct node_name *node_table_find_name(
	struct node_table *t, const struct node *parent, const char *text, size_t len);

/* One more name for a node; no node has it yet. A directory has one, a file the newest few: older
 * ones are dropped. -ESTALE: the parent lies below the node. -ENOMEM, -ENAMETOOLONG. */
int node_table_add_name(
	struct node_table *t, struct node *node, struct node *parent, const char *text);
void node_table_remove_name(struct node_table *t, struct node_name *name);

/* Removes a node's first name; gives the directory that it was in, to be unreferenced. */
struct node *node_table_pop_name(struct node_table *t, struct node *node);

/* Takes a node out of the list that it is in while its descriptor is not in use. */
void node_table_unlist(struct node_table *t, struct node *node);

/* The node has no descriptor yet: fd becomes it. Nobody uses it so far. */
void node_table_install(struct node_table *t, struct node *node, int fd);

/* Closes a descriptor that nobody uses. */
void node_table_give_up_fd(struct node_table *t, struct node *node);

/* Nobody uses the node's descriptor any more: it is kept, or not. */
void node_table_rest(struct node_table *t, struct node *node);

/* Gives up descriptors of directories that nobody uses until at most keep are open, or a batch is full. */
void node_table_evict(struct node_table *t, unsigned keep);
