// browser/pages/N/: one tab, and the handlers of the files that it shares with browser/.
#include "fs/synth/dir_browser.h"

#include <errno.h>
#include <string.h>

#include "common/scope.h"
#include "fs/mount.h"

static int add_line(struct buf *ret, const char *text)
{
	buf_add_str(ret, text);
	return buf_add_char(ret, '\n');
}

int dir_browser_show_url(struct mount *m, const struct synth_node *n, struct buf *ret)
{
	const struct browser_page *page = browser_call_page(m, n);

	return page ? add_line(ret, page->url ? page->url : "") : browser_call_no_page(m, n);
}

int dir_browser_show_status(struct mount *m, const struct synth_node *n, struct buf *ret)
{
	const struct browser_page *page = browser_call_page(m, n);

	return page ? add_line(ret, page->status ? page->status : "null")
		    : browser_call_no_page(m, n);
}

/* Where there is no page, the file is shown as empty and cannot be read. */
static int line_size(const char *text, uint64_t *ret)
{
	*ret = text ? strlen(text) + 1 : 0;
	return 0;
}

int dir_browser_size_url(struct mount *m, const struct synth_node *n, uint64_t *ret)
{
	const struct browser_page *page = browser_call_page(m, n);

	return line_size(page ? page->url : NULL, ret);
}

int dir_browser_size_status(struct mount *m, const struct synth_node *n, uint64_t *ret)
{
	const struct browser_page *page = browser_call_page(m, n);

	return line_size(page && page->status ? page->status : page ? "null" : NULL, ret);
}

int dir_browser_size_title(struct mount *m, const struct synth_node *n, uint64_t *ret)
{
	const struct browser_page *page = browser_call_page(m, n);

	return line_size(page ? page->title : NULL, ret);
}

int dir_browser_show_result(struct mount *m, const struct synth_node *n, struct buf *ret)
{
	const struct browser_page *page = browser_call_page(m, n);
	const struct browser_request *newest = page ? page->newest : NULL;

	return newest ? buf_add(ret, buf_text(&newest->result), newest->result.len) : 0;
}

static struct buf *lines_of(struct mount *m, const struct synth_node *n)
{
	static const char *const names[] = {[BROWSER_CONSOLE] = "console",
		[BROWSER_NETWORK] = "network",
		[BROWSER_DIALOG] = "dialog"};
	struct browser_page *page = browser_call_page(m, n);

	for (size_t i = 0; page && i < ARRAY_LEN(names); i++)
		if (!strcmp(synth_file_of(n)->name, names[i]))
			return &page->lines[i];
	return NULL;
}

int dir_browser_show_lines(struct mount *m, const struct synth_node *n, struct buf *ret)
{
	const struct buf *lines = lines_of(m, n);

	return lines && lines->len ? buf_add(ret, lines->data, lines->len) : 0;
}

/* What the browser keeps lies in the sandbox's tree, and is shown through files/. */
int dir_browser_link_files(struct mount *m, const struct synth_node *n, struct buf *ret)
{
	(void)m;
	return buf_printf(ret, "%sfiles" BROWSER_HOME "/%s",
		n->dir == &synth_page ? "../../../" : "../", synth_file_of(n)->name);
}

static int begin_lines(struct control_call *call, const char *text, size_t len, struct fail *f)
{
	struct buf *lines = lines_of(call->m, &call->node);

	(void)len;
	if (strcmp(text, "clear") != 0)
		return fail_set(f, -EINVAL, "write clear");
	if (lines)
		buf_clear(lines);
	return 0;
}

static int begin_dialog(struct control_call *call, const char *text, size_t len, struct fail *f)
{
	return strcmp(text, "clear") ? browser_call_begin(call, text, len, f)
				     : begin_lines(call, text, len, f);
}

#define CALLS                                                                                      \
	.cancel = browser_call_cancel, .answer = browser_call_answer,                              \
	.release = browser_call_release, .waits_in_write = true
#define LINE(words) .syntax = CONTROL_LINE_OR_JSON, .usage = words, CALLS
#define TEXT(words)                                                                                \
	.syntax = CONTROL_TEXT, .usage = words, .cancel = browser_call_cancel,                     \
	.answer = browser_call_answer, .release = browser_call_release
#define ANYTHING "# Write anything, or {\"timeout\": MS}.\n"

const struct control dir_browser_goto = {
	LINE("# Write a URL, or {\"url\": ..., \"waitUntil\": \"load\", \"timeout\": 30000}.\n"),
	.begin = browser_call_begin_starting};
const struct control dir_browser_back = {LINE(ANYTHING), .begin = browser_call_begin};
const struct control dir_browser_forward = {LINE(ANYTHING), .begin = browser_call_begin};
const struct control dir_browser_reload = {LINE(ANYTHING), .begin = browser_call_begin};
const struct control dir_browser_stop = {LINE(ANYTHING), .begin = browser_call_begin};
const struct control dir_browser_selector = {
	LINE("# Write a selector: css, text=..., role=button[name=\"...\"], xpath=..., ref=e12 from\n"
	     "# `snapshot`; or {\"selector\": ..., \"timeout\": 30000}.\n"),
	.begin = browser_call_begin};
const struct control dir_browser_text = {
	LINE("# Write SELECTOR<TAB>TEXT, or {\"selector\": ..., \"text\": ..., \"timeout\": 30000}.\n"),
	.keeps_space = true, .begin = browser_call_begin};
const struct control dir_browser_key = {
	LINE("# Write a key, as Enter or Control+A; or {\"key\": ..., \"selector\": ...}.\n"),
	.begin = browser_call_begin};
const struct control dir_browser_mouse = {
	LINE("# Write move X Y, click X Y [right], dblclick X Y, wheel DX DY, down or up.\n"),
	.begin = browser_call_begin};
const struct control dir_browser_upload = {
	LINE("# Write SELECTOR<TAB>PATH, the path of a file in the sandbox.\n"),
	.begin = browser_call_begin};
const struct control dir_browser_wait = {
	LINE("# Write a selector, url GLOB, load, networkidle or a number of milliseconds.\n"),
	.begin = browser_call_begin};
const struct control dir_browser_screenshot = {
	LINE("# Write an empty line, full, or {\"fullPage\", \"selector\", \"clip\", \"type\",\n"
	     "# \"quality\"}; read {\"base64Image\",\"path\"}.\n"),
	.begin = browser_call_begin};
const struct control dir_browser_evaluate = {
	TEXT("# Write a script; read {\"value\":...} or {\"error\":{\"message\",\"stack\"}}.\n"),
	.begin = browser_call_begin_starting};
const struct control dir_browser_html = {
	TEXT("# Write HTML to show it.\n"), .begin = browser_call_begin};
const struct control dir_browser_cookies = {
	TEXT("# Write an array of cookies, as reading gives it.\n"), .begin = browser_call_begin};
const struct control dir_browser_storage = {
	TEXT("# Write cookies and local storage, as reading gives them.\n"),
	.begin = browser_call_begin};
const struct control dir_browser_viewport = {
	LINE("# Write WIDTHxHEIGHT.\n"), .begin = browser_call_begin};
const struct control dir_browser_lines = {.syntax = CONTROL_LINE, .begin = begin_lines};
const struct control dir_browser_dialog = {.syntax = CONTROL_LINE, CALLS, .begin = begin_dialog};

static const struct synth_file page_files[] = {BROWSER_PAGE_FILES};

static bool page_exists(struct mount *m, uint32_t object)
{
	return m->browser && browser_page_find(m->browser, object);
}

static void page_name(struct mount *m, uint32_t object, struct buf *ret)
{
	(void)m;
	buf_printf(ret, "browser/pages/%u", object);
}

static void page_parent(struct mount *m, uint32_t object, struct synth_node *ret)
{
	(void)m;
	(void)object;
	*ret = (struct synth_node){.dir = &synth_pages};
}

const struct synth_dir synth_page = {
	.path = "browser/pages/N",
	.help = "one tab",
	.files = page_files,
	.files_len = ARRAY_LEN(page_files),
	.scratch = true,
	.exists = page_exists,
	.name = page_name,
	.parent = page_parent,
};
