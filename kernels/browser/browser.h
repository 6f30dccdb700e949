// The browser of a sandbox: its driver's process, its tabs, and the requests under way. Belongs to
// the loop's leader.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "common/buf.h"
#include "common/fail.h"
#include "common/json_out.h"
#include "common/list.h"
#include "common/loop.h"
#include "common/waiters.h"
#include "kernels/browser/browser_relay.h"
#include "kernels/kernel.h"

/* Where it keeps its files, inside the sandbox. */
#define BROWSER_HOME "/var/lib/sandpit-browser"

/* In words, where it does not run. */
#define BROWSER_NONE "no browser runs; write a URL to browser/goto"

enum browser_state { BROWSER_STOPPED, BROWSER_STARTING, BROWSER_RUNNING, BROWSER_CRASHED };

enum browser_lines { BROWSER_CONSOLE, BROWSER_NETWORK, BROWSER_DIALOG, BROWSER_LINES };

/* One request, counted: by the browser while it goes on, by its writer, by the page that shows its
 * answer. */
struct browser_request {
	struct list link; /* in browser.requests while it goes on */
	struct browser *browser; /* borrowed */
	unsigned refs;
	uint32_t id;
	uint32_t page; /* 0: the browser as a whole */
	const char *op; /* borrowed from a table */
	char *text; /* owned; until it is sent */
	size_t text_len;
	bool read; /* asks for what a file shows, changes nothing */
	bool sent;
	bool done;
	int error; /* of the end: 0 or -errno */
	struct fail why;
	struct buf answer; /* what its writer reads */
	struct buf result; /* result.json */
	void (*ended)(struct browser_request *request); /* NULL: nobody waits */
	void *owner; /* of ended */
};

#define BROWSER_KEPT 32 /* answers a page */

struct browser_page {
	struct list link; /* in browser.pages, oldest first */
	uint32_t number;
	uint32_t opener; /* 0: none */
	char *url, *title, *status; /* owned */
	bool crashed;
	struct buf lines[BROWSER_LINES];
	struct browser_request *newest; /* counted; NULL: none */
	struct browser_request *kept[BROWSER_KEPT]; /* counted; the last of each op */
};

struct browser_config {
	struct loop *loop; /* borrowed, all */
	struct sandbox *sandbox;
	struct runs *runs;
	bool shares_network; /* the sandbox's loopback is the host's */
	void (*log)(void *arg, const char *format, ...) __attribute__((format(printf, 2, 3)));
	void *arg;
};

struct browser {
	struct browser_config config;
	struct kernel_host host;
	int null_fd; /* owned */
	struct kernel *kernel; /* owned; NULL: none */
	enum browser_state state;
	bool closing;
	struct loop_timer close_limit;
	struct list pages; /* of struct browser_page.link */
	unsigned pages_len;
	uint32_t active; /* the page that the top files act on; 0: none */
	uint32_t next_page; /* numbers are never used again */
	uint32_t next_request;
	struct list requests; /* that go on */
	struct browser_request *whole[4]; /* counted; the last of pages/new and the like */
	uint16_t port; /* inside, of Chromium's debugger; what the driver told; 0: none */
	bool doors[BROWSER_DOORS]; /* what the browser has behind cdp_url and live_url */
	struct browser_relay *relay; /* owned; NULL: nobody asked for a URL yet */
	char version[32]; /* of what the driver told */
	char own_sandbox
		[16]; /* "chromium" or "sandpit", where nothing but sandpit's is around it */
	char *about; /* owned; a JSON object: what the driver told of itself; NULL: nothing */
	struct buf words; /* what the driver last wrote to its standard error */
	struct list closed; /* waiters: the browser has ended */

	uint64_t timeout_msec; /* of requests that name none */
	unsigned width, height; /* of new windows */
	char *settings; /* owned; config.json as it was written; NULL: never */
};

int browser_open(const struct browser_config *config, struct browser **ret, struct fail *f);
/* NULL is allowed. Who waits is told. */
void browser_close_all(struct browser *b);

/* What the sandbox tells (for struct runs_hooks). */
void browser_event(struct browser *b, const struct sandbox_event *event);
void browser_sandbox_died(struct browser *b);

const char *browser_state_name(const struct browser *b);

/* state.json. */
int browser_describe(const struct browser *b, struct buf *ret);

/* The entry of status.json, as a member of the object that j is in. */
void browser_summarize(const struct browser *b, struct json_out *j);

/* A URL on the host's loopback that reaches the browser; made when it is first asked for, and good
 * until the browser ends. Borrowed. -ENXIO: no browser runs; -ENOPKG: it has no display;
 * -EOPNOTSUPP: its port is not open. */
int browser_url(struct browser *b, enum browser_door door, const char **ret, struct fail *f);

/* Ends it; waiters of b->closed are told. False: there is nothing to wait for. */
bool browser_end(struct browser *b);

/* browser_page.c */
struct browser_page *browser_page_find(const struct browser *b, uint32_t number);
int browser_page_add(struct browser *b, uint32_t number, struct browser_page **ret);
void browser_page_remove(struct browser *b, struct browser_page *page);
void browser_page_line(
	struct browser_page *page, enum browser_lines kind, const char *text, size_t len);
/* Counts the request as the page's newest, and the newest of its op. page NULL: of the browser. */
void browser_page_keep(
	struct browser *b, struct browser_page *page, struct browser_request *request);
/* The last ended request of that op; NULL: none. Borrowed. */
struct browser_request *browser_page_last(
	const struct browser *b, const struct browser_page *page, const char *op);

/* browser_request.c */
struct browser_ask {
	uint32_t page; /* 0: as a whole, or a new one */
	const char *op; /* a literal */
	const char *text;
	size_t text_len;
	bool read;
	bool starts; /* the browser is started for it if need be */
};

/* Sends a request. -ENXIO: no browser runs; -ENOPKG: it is not installed. *ret is the caller's, to
 * browser_request_unref(); ended is called once, later, unless it is unset before. */
int browser_request_new(struct browser *b, const struct browser_ask *ask,
	struct browser_request **ret, struct fail *f);
void browser_request_ref(struct browser_request *request);
void browser_request_unref(struct browser_request *request); /* NULL is allowed */
/* The writer was interrupted. */
void browser_request_cancel(struct browser_request *request);

/* The value of timeout_msec has changed. */
void browser_retime(struct browser *b);

/* config.json without its secrets. */
int browser_show_settings(const struct browser *b, struct buf *ret);

/* Settings of config.json: a JSON object with known keys. -EINVAL with words. */
int browser_configure(struct browser *b, const char *text, size_t len, struct fail *f);
