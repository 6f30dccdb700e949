// The nodes of files/: which node id stands for which inode of the tree, by which names it is
// reached, and the descriptors that are kept open on them.
//
// A record costs memory only; a descriptor is opened when one is needed, by name from the nearest
// directory that has one, and counts only if it leads to the same inode. The table has one mutex,
// taken and left inside each function and never held across a system call. Ids are never used
// twice.
#pragma once

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>

struct node_table;
struct node;

/* What tells one inode from another. */
struct node_key {
	dev_t dev;
	ino_t ino;
	mode_t type; /* S_IFMT's bits */
	int64_t born_nsec; /* 0: not known, fits any: inode numbers are used again, this is not */
};

/* What a lookup has found. */
struct node_found {
	struct node_key key;
	bool reserved; /* it is shown as an empty directory */
	int fd; /* O_PATH of a small file, which may stay open for a short while; -1: none */
};

/* By which a change of content is seen. */
struct node_stamp {
	int64_t mtime_nsec;
	int64_t ctime_nsec;
	int64_t size;
};

/* An open file of a node. The node keeps it, and is kept by it, until node_table_detach(). */
struct node_handle {
	int fd; /* owned */
	bool closes_unseen; /* its user's */
	struct node *node; /* the rest is the table's own */
	struct node_handle *next;
	unsigned users;
	bool detached;
	bool maps;
	bool cached; /* the kernel reads and writes through us and its page cache */
	bool direct; /* its user's: the kernel writes through us only */
	int backing_id; /* or by itself: 0 or what it knows the file by */
};

/* How the kernel reads and writes an open file: see node_table_back(). */
enum node_backing { NODE_BACKING_NONE, NODE_BACKING_WANTED, NODE_BACKING_HAS };

/* A node in use: fd stays open until node_use_drop(). It may be O_PATH, and may be a handle's. */
struct node_use {
	struct node_table *table; /* NULL: nothing in here */
	struct node *node;
	struct node_handle *handle;
	int fd;
	mode_t type;
	bool reserved;
};

/* Where a node is: its own descriptor and an empty name, or its directory's and its name there. */
struct node_place {
	struct node_use use;
	char name[NAME_MAX + 1];
	struct node_key key;
	unsigned depth; /* of a symbolic link's directory: 0 is the root */
	bool reserved; /* the node itself */
};

/* Zeroed structs are empty; dropping an empty one is harmless. */
void node_use_drop(struct node_use *use);
#define auto_use __attribute__((cleanup(node_use_drop)))

static inline void node_place_drop(struct node_place *place)
{
	node_use_drop(&place->use);
}
#define auto_place __attribute__((cleanup(node_place_drop)))

bool node_key_same(const struct node_key *a, const struct node_key *b);

/* A table with only the root, whose id is root_id; the next are counted from there. tree_fd is
 * borrowed, O_PATH. max_idle: how many records are kept that have no lookups, for file servers that
 * come back to them. -ENOMEM. */
int node_table_new(int tree_fd, const struct node_key *root, uint64_t root_id, unsigned max_fds,
	unsigned max_idle, struct node_table **ret);
/* With all records and descriptors, handles included. Nobody may be in the table any more. */
void node_table_free(struct node_table *t);
void node_table_counts(struct node_table *t, uint64_t *ret_nodes, uint64_t *ret_fds);

/* A lookup of name in parent has found this: gives the node's id and counts one lookup. Each name of
 * a symbolic link is a node of its own; other inodes are one node, however many names they have.
 * Takes found->fd (sets it to -1) unless it fails. ret_depth: see struct node_place. -ESTALE: the
 * parent is not known, or lies below what was found. -ENOMEM. */
int node_table_enter(struct node_table *t, uint64_t parent, const char *name,
	struct node_found *found, uint64_t *ret_id, unsigned *ret_depth);

/* The same for a file that has no name yet (O_TMPFILE): usable only while it has a handle. */
int node_table_enter_nameless(struct node_table *t, const struct node_key *key, uint64_t *ret_id);

/* One more lookup of a node that is known. -ESTALE: it is not. */
int node_table_again(struct node_table *t, uint64_t id);

/* Takes lookups back. A node without any that nothing else needs is idle: it can still be used, as
 * long as there are not too many newer ones, and is freed at once if it has no name. Unknown ids are
 * ignored. */
void node_table_forget(struct node_table *t, uint64_t id, uint64_t lookups);

/* The directory that holds a node; 0 for the root. -ESTALE: none is known. */
int node_table_parent(struct node_table *t, uint64_t id, uint64_t *ret_parent);

/* The id of the node known by this name, or 0. */
uint64_t node_table_child(struct node_table *t, uint64_t parent, const char *name);

/* What is about to lose this name may still be somebody's working directory or open FIFO, and can only
 * be opened now. Gives nothing for a regular file, whose opens we have, for a symbolic link, and where
 * there is nothing. */
void node_table_use_leaving(
	struct node_table *t, uint64_t parent, const char *name, struct node_use *ret);

/* The name is gone. A descriptor that the node has stays open until the kernel forgets the node. */
void node_table_unname(struct node_table *t, uint64_t parent, const char *name);

/* Around the system call that renames: those who do not find a node at its old name meanwhile wait
 * for the end and look again. renamed: whether it worked. */
void node_table_rename_begin(struct node_table *t);
void node_table_rename_end(struct node_table *t, bool renamed, uint64_t parent, const char *name,
	uint64_t newparent, const char *newname, bool exchange);

/* Opens (O_PATH) or finds open what id stands for. -ESTALE: unknown, or not to be found by any name
 * that is known. -errno of open. */
int node_table_use(struct node_table *t, uint64_t id, struct node_use *ret);

/* As node_table_use() when a descriptor is open, else only of its directory: for what can be done
 * by name and checked by key. A symbolic link is always given by name. */
int node_table_place(struct node_table *t, uint64_t id, struct node_place *ret);

/* Gives fd, an open file of id, to the table: from now on it serves for the node, too. Takes fd,
 * also on error. -ESTALE, -ENOMEM. */
int node_table_attach(struct node_table *t, uint64_t id, int fd, struct node_handle **ret);
/* Until then the node may be changed through a mapping of the handle's file unseen. */
void node_table_handle_maps(struct node_table *t, struct node_handle *handle);
/* How the handle's file is served: as those that its node has already. The first decides: with id 0 it
 * is WANTED to ask the kernel, then to call again with what the kernel gave (> 0), or with < 0: NONE.
 * HAS: handle->backing_id is the node's, which may be another than id. */
enum node_backing node_table_back(struct node_table *t, struct node_handle *handle, int id);
/* Whether some handle of the same node is cached. */
bool node_table_has_cached(struct node_table *t, const struct node_handle *handle);
uint64_t node_table_handle_id(const struct node_handle *handle);
/* The handle is closed when its last user is done with it. Gives the kernel's id for the node's file,
 * when it was the last handle that had it; else 0. */
int node_table_detach(struct node_table *t, struct node_handle *handle);

/* Whether the stamp is the one given last for this node; the new one is remembered. NULL forgets
 * it and says false. */
bool node_table_stamp(struct node_table *t, uint64_t id, const struct node_stamp *stamp);

/* The kernel is promised that the node's attributes stay as they are; false: not while somebody may
 * change them through a mapping that we do not see. There are at most max such nodes: gives one whose
 * promise has to be taken back instead, or 0. */
bool node_table_promise(struct node_table *t, uint64_t id, unsigned max, uint64_t *ret_oldest);
/* Ends the promise; whether there was one. */
bool node_table_unpromise(struct node_table *t, uint64_t id);
/* Ends up to max of them, the oldest first; how many ids were given. */
unsigned node_table_take_promised(struct node_table *t, uint64_t *ret_ids, unsigned max);

/* A promise has ended and the kernel could not be told, as it has not taken the node in yet: remembered
 * until it is taken or the kernel forgets the node, whatever is promised meanwhile. false: it has. */
bool node_table_miss(struct node_table *t, uint64_t id);
unsigned node_table_count_missed(struct node_table *t);
/* Up to max of them, those remembered first first; how many ids were given. */
unsigned node_table_take_missed(struct node_table *t, uint64_t *ret_ids, unsigned max);

/* Whether the node is this inode; the id of the node that is, or 0. */
bool node_table_is(struct node_table *t, uint64_t id, const struct node_key *key);
uint64_t node_table_of_key(struct node_table *t, const struct node_key *key);

/* Parts of a directory's names that the kernel is given are counted, as it mixes those of all who list it.
 * A listing begins: whether all before have come to their end. Another part. The end: whether there were as
 * many as parts, so nobody else's. */
bool node_table_names_begin(struct node_table *t, uint64_t id, unsigned *ret_parts);
void node_table_names_part(struct node_table *t, uint64_t id);
bool node_table_names_end(struct node_table *t, uint64_t id, unsigned parts);
/* The kernel was given the names of the directory, as they are at this stamp; NULL: it is not known when. */
void node_table_names_told(struct node_table *t, uint64_t id, const struct node_stamp *stamp);
/* Whether it has to be told to drop them: it was given some, and the stamp is another. Says so once. */
bool node_table_names_old(struct node_table *t, uint64_t id, const struct node_stamp *stamp);

/* Whether token, not 0, is the one given last for this node; it is remembered. */
bool node_table_token(struct node_table *t, uint64_t id, uint64_t token);

/* Closes the longer unused half of the descriptors, after EMFILE. */
void node_table_relieve(struct node_table *t);
