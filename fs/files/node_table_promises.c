// What the kernel was told of files/'s nodes and keeps: attributes that it was promised, the names of
// directories, and how both were then.
#include "fs/files/node_table_impl.h"

static bool unpromise(struct node_table *t, struct node *node)
{
	bool was = node->is_promised;

	if (was) {
		list_remove(&node->promised);
		t->promised_len--;
	}
	node->is_promised = false;
	return was;
}

bool node_table_promise(struct node_table *t, uint64_t id, unsigned max, uint64_t *ret_oldest)
{
	struct node *node, *oldest = NULL;
	bool can;

	*ret_oldest = 0;
	node_table_lock(t);
	node = node_table_find(t, id);
	can = node && node->lookups && !node->mappers;
	if (can && !node->is_promised) {
		node->is_promised = true;
		list_add_tail(&t->promised, &node->promised);
		t->promised_len++;
	}
	if (t->promised_len > max) {
		oldest = list_entry(t->promised.next, struct node, promised);
		*ret_oldest = oldest->id;
		unpromise(t, oldest);
	}
	node_table_unlock(t);
	return can;
}

bool node_table_unpromise(struct node_table *t, uint64_t id)
{
	struct node *node;
	bool was;

	node_table_lock(t);
	node = node_table_find(t, id);
	was = node && unpromise(t, node);
	node_table_unlock(t);
	return was;
}

unsigned node_table_take_promised(struct node_table *t, uint64_t *ret_ids, unsigned max)
{
	unsigned len = 0;

	node_table_lock(t);
	while (len < max && !list_empty(&t->promised)) {
		struct node *node = list_entry(t->promised.next, struct node, promised);

		ret_ids[len++] = node->id;
		unpromise(t, node);
	}
	node_table_unlock(t);
	return len;
}

static void end_miss(struct node_table *t, struct node *node)
{
	if (node->is_missed) {
		list_remove(&node->missed);
		t->missed_len--;
	}
	node->is_missed = false;
}

bool node_table_miss(struct node_table *t, uint64_t id)
{
	struct node *node;
	bool can;

	node_table_lock(t);
	node = node_table_find(t, id);
	can = node && node->lookups;
	if (can && !node->is_missed) {
		node->is_missed = true;
		list_add_tail(&t->missed, &node->missed);
		t->missed_len++;
	}
	node_table_unlock(t);
	return can;
}

unsigned node_table_count_missed(struct node_table *t)
{
	unsigned len;

	node_table_lock(t);
	len = t->missed_len;
	node_table_unlock(t);
	return len;
}

unsigned node_table_take_missed(struct node_table *t, uint64_t *ret_ids, unsigned max)
{
	unsigned len = 0;

	node_table_lock(t);
	while (len < max && !list_empty(&t->missed)) {
		struct node *node = list_entry(t->missed.next, struct node, missed);

		ret_ids[len++] = node->id;
		end_miss(t, node);
	}
	node_table_unlock(t);
	return len;
}

void node_table_end_promises(struct node_table *t, struct node *node)
{
	unpromise(t, node);
	end_miss(t, node);
}

static bool has_stamp(const struct node *node, const struct node_stamp *stamp)
{
	return stamp && node->stamped && node->stamp.size == stamp->size &&
	       node->stamp.mtime_nsec == stamp->mtime_nsec &&
	       node->stamp.ctime_nsec == stamp->ctime_nsec;
}

static void set_stamp(struct node *node, const struct node_stamp *stamp)
{
	node->stamped = stamp != NULL;
	if (stamp)
		node->stamp = *stamp;
}

bool node_table_stamp(struct node_table *t, uint64_t id, const struct node_stamp *stamp)
{
	bool same = false;
	struct node *node;

	node_table_lock(t);
	node = node_table_find(t, id);
	if (node) {
		same = has_stamp(node, stamp);
		set_stamp(node, stamp);
	}
	node_table_unlock(t);
	return same;
}

void node_table_names_told(struct node_table *t, uint64_t id, const struct node_stamp *stamp)
{
	struct node *node;

	node_table_lock(t);
	node = node_table_find(t, id);
	if (node) {
		node->listed = true;
		set_stamp(node, stamp);
	}
	node_table_unlock(t);
}

bool node_table_names_old(struct node_table *t, uint64_t id, const struct node_stamp *stamp)
{
	bool drop = false;
	struct node *node;

	node_table_lock(t);
	node = node_table_find(t, id);
	if (node && node->listed) {
		drop = !has_stamp(node, stamp);
		node->listed = !drop;
	}
	node_table_unlock(t);
	return drop;
}

bool node_table_names_begin(struct node_table *t, uint64_t id, unsigned *ret_parts)
{
	bool alone = false;
	struct node *node;

	node_table_lock(t);
	node = node_table_find(t, id);
	if (node) {
		*ret_parts = node->parts;
		alone = node->parts == node->ended_parts;
	}
	node_table_unlock(t);
	return alone;
}

void node_table_names_part(struct node_table *t, uint64_t id)
{
	struct node *node;

	node_table_lock(t);
	node = node_table_find(t, id);
	if (node)
		node->parts++;
	node_table_unlock(t);
}

bool node_table_names_end(struct node_table *t, uint64_t id, unsigned parts)
{
	bool alone = false;
	struct node *node;

	node_table_lock(t);
	node = node_table_find(t, id);
	if (node) {
		alone = node->parts == parts;
		node->ended_parts = node->parts;
	}
	node_table_unlock(t);
	return alone;
}

bool node_table_token(struct node_table *t, uint64_t id, uint64_t token)
{
	struct node *node;
	bool same = false;

	node_table_lock(t);
	node = node_table_find(t, id);
	if (node) {
		same = token && node->token == token;
		node->token = token;
	}
	node_table_unlock(t);
	return same;
}
