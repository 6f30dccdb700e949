// The files that browser/ and browser/pages/N/ have in common.
#pragma once

#include "fs/synth/browser_call.h"

int dir_browser_show_url(struct mount *m, const struct synth_node *n, struct buf *ret);
int dir_browser_size_url(struct mount *m, const struct synth_node *n, uint64_t *ret);
int dir_browser_show_status(struct mount *m, const struct synth_node *n, struct buf *ret);
int dir_browser_size_status(struct mount *m, const struct synth_node *n, uint64_t *ret);
int dir_browser_size_title(struct mount *m, const struct synth_node *n, uint64_t *ret);
int dir_browser_show_result(struct mount *m, const struct synth_node *n, struct buf *ret);
int dir_browser_show_lines(struct mount *m, const struct synth_node *n, struct buf *ret);
int dir_browser_link_files(struct mount *m, const struct synth_node *n, struct buf *ret);

extern const struct control dir_browser_goto, dir_browser_back, dir_browser_forward,
	dir_browser_reload, dir_browser_stop, dir_browser_selector, dir_browser_text,
	dir_browser_key, dir_browser_mouse, dir_browser_upload, dir_browser_wait,
	dir_browser_screenshot, dir_browser_evaluate, dir_browser_html, dir_browser_cookies,
	dir_browser_storage, dir_browser_viewport, dir_browser_lines, dir_browser_dialog;

#define BROWSER_ASKS(file, words, how)                                                             \
	{                                                                                          \
		.name = file, .help = words, .mode = 0644, .show = browser_call_show,              \
		.control = &(how)                                                                  \
	}
/* Not readable by all: tar does not even open empty files that are, and these are empty until then. */
#define BROWSER_FROZEN(file, words)                                                                \
	{                                                                                          \
		.name = file, .help = words, .mode = 0440, .size = browser_call_no_size,           \
		.freeze = browser_call_freeze                                                      \
	}
#define BROWSER_BOTH(file, words, how)                                                             \
	{                                                                                          \
		.name = file, .help = words, .mode = 0640, .size = browser_call_no_size,           \
		.freeze = browser_call_freeze, .control = &(how)                                   \
	}
#define BROWSER_NOTES(file, words, how)                                                            \
	{                                                                                          \
		.name = file, .help = words, .mode = 0644, .show = dir_browser_show_lines,         \
		.control = &(how)                                                                  \
	}
#define BROWSER_LINK(file, words)                                                                  \
	{                                                                                          \
		.name = file, .help = words, .type = SYNTH_LINK, .link = dir_browser_link_files    \
	}

/* clang-format off */
#define BROWSER_PAGE_FILES \
	BROWSER_ASKS("goto", "write a URL: goes there, returns when the page has loaded", \
		dir_browser_goto), \
	{.name = "url", .help = "the page's address", .mode = 0444, \
		.show = dir_browser_show_url, .size = dir_browser_size_url}, \
	{.name = "title", .help = "the page's title", .mode = 0444, \
		.size = dir_browser_size_title, .freeze = browser_call_freeze}, \
	{.name = "status", .help = "the HTTP status of the page; null where there is none", \
		.mode = 0444, .show = dir_browser_show_status, .size = dir_browser_size_status}, \
	BROWSER_ASKS("back", "write anything: the page before", dir_browser_back), \
	BROWSER_ASKS("forward", "write anything: the page after", dir_browser_forward), \
	BROWSER_ASKS("reload", "write anything: loads the page again", dir_browser_reload), \
	BROWSER_ASKS("stop", "write anything: stops loading, and what waits", dir_browser_stop), \
	BROWSER_BOTH("content.html", "the page's HTML as of open; write HTML to show it", \
		dir_browser_html), \
	BROWSER_FROZEN("text", "the page's text"), \
	BROWSER_FROZEN("snapshot", "the accessibility tree as YAML, with [ref=...] to act on"), \
	BROWSER_ASKS("click", "write a selector", dir_browser_selector), \
	BROWSER_ASKS("dblclick", "write a selector", dir_browser_selector), \
	BROWSER_ASKS("hover", "write a selector", dir_browser_selector), \
	BROWSER_ASKS("check", "write a selector: a box is checked", dir_browser_selector), \
	BROWSER_ASKS("uncheck", "write a selector: a box is unchecked", dir_browser_selector), \
	BROWSER_ASKS("focus", "write a selector", dir_browser_selector), \
	BROWSER_ASKS("type", "SELECTOR<TAB>TEXT: key by key, after what is there", \
		dir_browser_text), \
	BROWSER_ASKS("fill", "SELECTOR<TAB>TEXT: instead of what is there", dir_browser_text), \
	BROWSER_ASKS("select", "SELECTOR<TAB>VALUE or label: chooses an option", dir_browser_text), \
	BROWSER_ASKS("key", "write a key, as Control+A", dir_browser_key), \
	BROWSER_ASKS("mouse", "move X Y, click X Y, wheel DX DY", dir_browser_mouse), \
	BROWSER_ASKS("upload", "SELECTOR<TAB>PATH of a file in the sandbox", dir_browser_upload), \
	BROWSER_ASKS("evaluate", "write a script: runs in the page; reads back its value", \
		dir_browser_evaluate), \
	BROWSER_ASKS("wait", "a selector, url GLOB, load, networkidle, or milliseconds", \
		dir_browser_wait), \
	BROWSER_ASKS("screenshot", "an empty line, full or JSON: takes one into shots/", \
		dir_browser_screenshot), \
	BROWSER_FROZEN("screenshot.png", "what the page shows, taken when opened"), \
	BROWSER_FROZEN("screenshot-full.png", "all of the page, taken when opened"), \
	BROWSER_FROZEN("page.pdf", "the page, printed when opened"), \
	BROWSER_LINK("shots", "kept images"), \
	BROWSER_LINK("downloads", "finished downloads; NAME.part while they run"), \
	BROWSER_NOTES("console", "what the page said, as JSON lines; write clear", \
		dir_browser_lines), \
	BROWSER_NOTES("network", "what it loaded, as JSON lines; write clear", dir_browser_lines), \
	BROWSER_NOTES("dialog", "its dialogs, as JSON lines; accept, dismiss, policy, clear", \
		dir_browser_dialog), \
	BROWSER_BOTH("cookies.json", "the cookies; write others", dir_browser_cookies), \
	BROWSER_BOTH("storage.json", "cookies and local storage; write others", \
		dir_browser_storage), \
	BROWSER_BOTH("viewport", "the size of the page, as 1280x800", dir_browser_viewport), \
	{.name = "result.json", .help = "what became of the page's last request", .mode = 0444, \
		.show = dir_browser_show_result}
/* clang-format on */
