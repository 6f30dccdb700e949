// An intrusive doubly linked list. A zeroed head must be list_init()ed before use.
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "common/scope.h"

struct list {
	struct list *next, *prev;
};

static inline void list_init(struct list *head)
{
	head->next = head->prev = head;
}

static inline bool list_empty(const struct list *head)
{
	return head->next == head;
}

static inline void list_add_tail(struct list *head, struct list *item)
{
	item->prev = head->prev;
	item->next = head;
	head->prev->next = item;
	head->prev = item;
}

/* Takes the item out of its list; harmless on an item that is in none but was list_init()ed. */
static inline void list_remove(struct list *item)
{
	item->prev->next = item->next;
	item->next->prev = item->prev;
	list_init(item);
}

#define list_entry(item, type, member) container_of(item, type, member)

#define list_for_each(item, head)                                                                  \
	for ((item) = (head)->next; (item) != (head); (item) = (item)->next)

/* The body may remove item. */
#define list_for_each_safe(item, spare, head)                                                      \
	for ((item) = (head)->next, (spare) = (item)->next; (item) != (head);                      \
		(item) = (spare), (spare) = (item)->next)
