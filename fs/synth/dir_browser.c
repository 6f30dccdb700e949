// browser/: the browser as a whole and its active page; browser/pages/: its tabs.
#include "fs/synth/dir_browser.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/scope.h"
#include "fs/mount.h"

static int show_state(struct mount *m, const struct synth_node *n, struct buf *ret)
{
	(void)n;
	return browser_describe(m->browser, ret);
}

static enum browser_door door_of(const struct synth_node *n)
{
	return strcmp(synth_file_of(n)->name, "cdp_url") ? BROWSER_DOOR_LIVE : BROWSER_DOOR_CDP;
}

static int show_door(struct mount *m, const struct synth_node *n, struct buf *ret)
{
	struct buf path auto_buf = {0};
	struct fail f = {0};
	const char *url;
	int r = browser_url(m->browser, door_of(n), &url, &f);

	if (r == 0)
		return buf_printf(ret, "%s\n", url);
	synth_path(m, n, &path);
	return mount_unreadable(m, buf_text(&path), r, &f);
}

/* As long as there is nothing to read, or nobody has asked, there is no URL to measure. */
static int size_door(struct mount *m, const struct synth_node *n, uint64_t *ret)
{
	const struct browser *b = m->browser;

	*ret = b->relay && b->doors[door_of(n)]
		       ? strlen(browser_relay_url(b->relay, door_of(n))) + 1
		       : 0;
	return 0;
}

static int show_timeout(struct mount *m, const struct synth_node *n, struct buf *ret)
{
	(void)n;
	return buf_printf(ret, "%llu\n", (unsigned long long)m->browser->timeout_msec);
}

static int begin_timeout(struct control_call *call, const char *text, size_t len, struct fail *f)
{
	char *end;
	unsigned long long msec = strtoull(text, &end, 10);

	(void)len;
	if (*text < '0' || *text > '9' || *end || msec > 86400000)
		return fail_set(f, -EINVAL, "write milliseconds, 0 (never) to 86400000");
	call->m->browser->timeout_msec = msec;
	browser_retime(call->m->browser);
	return 0;
}

static int show_config(struct mount *m, const struct synth_node *n, struct buf *ret)
{
	(void)n;
	return browser_show_settings(m->browser, ret);
}

static int begin_config(struct control_call *call, const char *text, size_t len, struct fail *f)
{
	return browser_configure(call->m->browser, text, len, f);
}

static void on_closed(struct waiter *waiter)
{
	control_call_end(container_of(waiter, struct control_call, waiter), 0);
}

static int begin_close(struct control_call *call, const char *text, size_t len, struct fail *f)
{
	(void)text;
	(void)len;
	(void)f;
	if (!browser_end(call->m->browser))
		return 0;
	call->going = true;
	call->waiter.wake = on_closed;
	list_add_tail(&call->m->browser->closed, &call->waiter.link);
	return 0;
}

static int answer_close(struct control_call *call, struct buf *ret)
{
	(void)call;
	return buf_add_str(ret, "{\"op\":\"close\",\"ok\":true}\n");
}

static const struct control timeout_control = {.syntax = CONTROL_LINE, .begin = begin_timeout};
static const struct control config_control = {.syntax = CONTROL_JSON, .begin = begin_config};
static const struct control close_control = {.syntax = CONTROL_LINE,
	.waits_in_write = true,
	.usage = "# Write anything: the browser ends; the next goto starts it again.\n",
	.begin = begin_close,
	.answer = answer_close};

static const struct synth_file browser_files[] = {
	BROWSER_PAGE_FILES,
	{.name = "pages",
		.help = "a directory a tab",
		.type = SYNTH_DIRECTORY,
		.child = &synth_pages},
	{.name = "state.json",
		.help = "stopped, starting, running or crashed; version, pages, memory",
		.mode = 0444,
		.show = show_state},
	{.name = "cdp_url",
		.help = "a URL on the host for Playwright's connectOverCDP",
		.mode = 0440,
		.show = show_door,
		.size = size_door},
	{.name = "live_url",
		.help = "a URL on the host: a page that shows and controls the browser",
		.mode = 0440,
		.show = show_door,
		.size = size_door},
	{.name = "timeout",
		.help = "milliseconds that a request may take if it names no timeout",
		.mode = 0644,
		.show = show_timeout,
		.control = &timeout_control},
	{.name = "config.json",
		.help = "ignore_tls, credentials, headers, offline, user_agent, headless, cdp",
		.mode = 0644,
		.show = show_config,
		.control = &config_control},
	{.name = "close",
		.help = "write anything: the browser ends; its profile is kept",
		.mode = 0644,
		.control = &close_control},
};

static void browser_parent(struct mount *m, uint32_t object, struct synth_node *ret)
{
	(void)m;
	(void)object;
	*ret = (struct synth_node){.dir = &synth_browser};
}

const struct synth_dir synth_browser = {
	.path = "browser",
	.help = "a Chromium in the sandbox; the files act on its active page",
	.files = browser_files,
	.files_len = ARRAY_LEN(browser_files),
	.scratch = true,
};

/* browser/pages/ */

static int begin_new(struct control_call *call, const char *text, size_t len, struct fail *f)
{
	return browser_call_ask(call,
		&(struct browser_ask){.op = "new", .text = text, .text_len = len, .starts = true},
		f);
}

static int show_active(struct mount *m, const struct synth_node *n, struct buf *ret)
{
	return m->browser->active ? buf_printf(ret, "%u\n", m->browser->active)
				  : browser_call_no_page(m, n);
}

static int size_active(struct mount *m, const struct synth_node *n, uint64_t *ret)
{
	(void)n;
	*ret = m->browser->active ? (uint64_t)snprintf(NULL, 0, "%u\n", m->browser->active) : 0;
	return 0;
}

static struct browser_page *page_named(struct mount *m, const char *name)
{
	char *end;
	unsigned long number = strtoul(name, &end, 10);

	if (*name < '1' || *name > '9' || *end || number > UINT32_MAX)
		return NULL;
	return browser_page_find(m->browser, (uint32_t)number);
}

static int begin_active(struct control_call *call, const char *text, size_t len, struct fail *f)
{
	const struct browser_page *page = page_named(call->m, text);

	(void)len;
	if (!page && !call->m->browser->kernel)
		return fail_set(f, -ENXIO, BROWSER_NONE);
	if (!page)
		return fail_set(f, -ENOENT, "there is no page %.40s", text);
	call->m->browser->active = page->number;
	return browser_call_ask(
		call, &(struct browser_ask){.page = page->number, .op = "activate"}, f);
}

static const struct control new_control = {.syntax = CONTROL_LINE_OR_JSON,
	.usage = "# Write a URL, or an empty line: a new tab, which becomes the active one.\n",
	.waits_in_write = true,
	.begin = begin_new,
	.cancel = browser_call_cancel,
	.answer = browser_call_answer,
	.release = browser_call_release};
static const struct control active_control = {.syntax = CONTROL_LINE,
	.waits_in_write = true,
	.begin = begin_active,
	.cancel = browser_call_cancel,
	.release = browser_call_release};

static const struct synth_file pages_files[] = {
	{.name = "new",
		.help = "write a URL: a new tab; reads back its number",
		.mode = 0644,
		.show = browser_call_show,
		.control = &new_control},
	{.name = "active",
		.help = "the number of the page that the files above act on",
		.mode = 0644,
		.show = show_active,
		.size = size_active,
		.control = &active_control},
};

static int lookup_page(struct mount *m, uint32_t object, const char *name, struct synth_node *ret)
{
	const struct browser_page *page = page_named(m, name);

	(void)object;
	if (!page)
		return -ENOENT;
	*ret = (struct synth_node){.dir = &synth_page, .object = page->number};
	return 0;
}

static int list_pages(struct mount *m, uint32_t object, synth_emit emit, void *arg)
{
	struct list *item;
	int r = 0;

	(void)object;
	list_for_each(item, &m->browser->pages)
	{
		const struct browser_page *page = list_entry(item, struct browser_page, link);
		const struct synth_node n = {.dir = &synth_page, .object = page->number};
		char name[16];

		snprintf(name, sizeof(name), "%u", page->number);
		r = emit(arg, name, &n);
		if (r)
			break;
	}
	return r;
}

/* The directory is gone at once, the tab a moment later. */
static int close_page(struct mount *m, const struct synth_node *child, struct fail *f)
{
	struct browser_page *page = browser_page_find(m->browser, child->object);
	struct browser_request *request;
	int r;

	if (!page)
		return -ENOENT;
	r = browser_request_new(m->browser,
		&(struct browser_ask){.page = page->number, .op = "closePage", .read = true},
		&request, f);
	if (r < 0)
		return r;
	browser_request_unref(request);
	mount_log(m, "browser: page %u closed", page->number);
	browser_page_remove(m->browser, page);
	return 0;
}

const struct synth_dir synth_pages = {
	.path = "browser/pages",
	.help = "the tabs of the browser",
	.files = pages_files,
	.files_len = ARRAY_LEN(pages_files),
	.scratch = true,
	.lookup = lookup_page,
	.list = list_pages,
	.rmdir = close_page,
	.parent = browser_parent,
};
