// The tabs of the browser: what is known of each, and its lines of console, network and dialogs.
#include "kernels/browser/browser_internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/scope.h"

#define PAGES_MAX 1000
#define LINES_MAX (256 * 1024) /* bytes kept of each kind */

struct browser_page *browser_page_find(const struct browser *b, uint32_t number)
{
	struct list *item;

	list_for_each(item, &b->pages)
	{
		struct browser_page *page = list_entry(item, struct browser_page, link);

		if (page->number == number)
			return page;
	}
	return NULL;
}

int browser_page_add(struct browser *b, uint32_t number, struct browser_page **ret)
{
	struct browser_page *page;

	if (number < b->next_page || number == UINT32_MAX || b->pages_len >= PAGES_MAX)
		return -EINVAL;
	page = calloc(1, sizeof(*page));
	if (!page)
		return -ENOMEM;
	page->number = number;
	b->next_page = number + 1;
	list_add_tail(&b->pages, &page->link);
	b->pages_len++;
	if (!b->active)
		b->active = number;
	*ret = page;
	return 0;
}

static void free_page(struct browser_page *page)
{
	browser_request_unref(page->newest);
	for (size_t i = 0; i < BROWSER_KEPT; i++)
		browser_request_unref(page->kept[i]);
	for (size_t i = 0; i < BROWSER_LINES; i++)
		buf_clear(&page->lines[i]);
	free(page->url);
	free(page->title);
	free(page->status);
	free(page);
}

/* The active page is gone: its opener takes over, else the newest. */
static void choose_active(struct browser *b, uint32_t opener)
{
	b->active = 0;
	if (opener && browser_page_find(b, opener))
		b->active = opener;
	else if (!list_empty(&b->pages))
		b->active = list_entry(b->pages.prev, struct browser_page, link)->number;
	if (b->active)
		b->config.log(b->config.arg, "browser: page %u is active", b->active);
}

void browser_page_remove(struct browser *b, struct browser_page *page)
{
	uint32_t number = page->number, opener = page->opener;

	list_remove(&page->link);
	b->pages_len--;
	free_page(page);
	if (b->active == number)
		choose_active(b, opener);
}

/* Whole lines from the front, so that half of the room is free again. */
static void forget_half(struct buf *lines)
{
	char *end = memchr(lines->data + lines->len / 2, '\n', lines->len - lines->len / 2);
	size_t cut = end ? (size_t)(end - lines->data) + 1 : lines->len;

	memmove(lines->data, lines->data + cut, lines->len - cut + 1);
	lines->len -= cut;
}

void browser_page_line(
	struct browser_page *page, enum browser_lines kind, const char *text, size_t len)
{
	struct buf *lines = &page->lines[kind];

	if (len >= LINES_MAX / 4 || memchr(text, '\n', len))
		return;
	if (lines->len + len + 1 > LINES_MAX)
		forget_half(lines);
	if (buf_add(lines, text, len) == 0)
		buf_add_char(lines, '\n');
}

static void put(struct browser_request **place, struct browser_request *request)
{
	browser_request_ref(request);
	browser_request_unref(*place);
	*place = request;
}

static void put_by_op(struct browser_request **places, size_t len, struct browser_request *request)
{
	for (size_t i = 0; i < len; i++) {
		if (!places[i] || !strcmp(places[i]->op, request->op)) {
			put(&places[i], request);
			return;
		}
	}
}

void browser_page_keep(
	struct browser *b, struct browser_page *page, struct browser_request *request)
{
	if (!request->page)
		put_by_op(b->whole, ARRAY_LEN(b->whole), request);
	if (!page)
		return;
	put(&page->newest, request);
	put_by_op(page->kept, BROWSER_KEPT, request);
}

struct browser_request *browser_page_last(
	const struct browser *b, const struct browser_page *page, const char *op)
{
	struct browser_request *const *places = page ? page->kept : b->whole;
	size_t len = page ? BROWSER_KEPT : ARRAY_LEN(b->whole);

	for (size_t i = 0; i < len && places[i]; i++)
		if (!strcmp(places[i]->op, op))
			return places[i];
	return NULL;
}
