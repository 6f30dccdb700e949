// net=proxy: the proxy's start and end, its listener, and what programs inside are told of it.
#include "runner/net/proxy_impl.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/scope.h"
#include "runner/sandbox.h"

#define REST_USEC (100 * USEC_PER_MSEC)
#define SAID_MAX 20
#define SAID_USEC (10 * USEC_PER_SEC)

void proxy_say(struct proxy *proxy, const char *format, ...)
{
	uint64_t now = clock_monotonic_usec();
	char text[200];
	va_list args;

	if (now - proxy->said_usec > SAID_USEC) {
		proxy->said_usec = now;
		proxy->said = 0;
	}
	if (++proxy->said > SAID_MAX)
		return;
	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	relay_report(proxy->relay, "%s%s", text,
		proxy->said == SAID_MAX ? " (more in the next seconds are not told)" : "");
}

static void on_rest(struct loop_timer *timer)
{
	struct proxy *proxy = container_of(timer, struct proxy, rest);

	loop_watch(relay_loop(proxy->relay), &proxy->listener, EPOLLIN);
}

static void on_listener(struct loop_source *source, uint32_t events)
{
	struct proxy *proxy = container_of(source, struct proxy, listener);
	int fd = relay_accept(proxy->relay, source->fd);

	(void)events;
	if (fd == -EMFILE) {
		loop_unwatch(relay_loop(proxy->relay), source);
		loop_timer_set(
			relay_loop(proxy->relay), &proxy->rest, clock_monotonic_usec() + REST_USEC);
	}
	if (fd >= 0)
		proxy_client_new(proxy, fd);
}

static void open_listener(struct relay *relay, struct relay_note *note)
{
	struct proxy *proxy = container_of(note, struct proxy, opening);

	proxy->listener.ready = on_listener;
	proxy->rest.fire = on_rest;
	if (loop_watch(relay_loop(relay), &proxy->listener, EPOLLIN) < 0)
		relay_report(relay, "the proxy does not listen: out of memory");
}

static void on_report(void *arg, const char *text)
{
	struct proxy *proxy = arg;

	if (proxy->config.log)
		proxy->config.log(proxy->config.arg, "proxy: %s", text);
}

/* What net_allow names is the host's, also where it is called by a name that everybody has for
 * himself. */
static void add_exceptions(const struct proxy *proxy, struct buf *to)
{
	static const char *const own[] = {"localhost", "127.0.0.1", "::1"};

	for (size_t i = 0; i < ARRAY_LEN(own); i++)
		if (!proxy_rules_names(proxy->rules, own[i]) &&
			!(i == 2 && proxy_rules_names(proxy->rules, "localhost")))
			buf_printf(to, "%s%s", to->len ? "," : "", own[i]);
}

static int make_environment(struct proxy *proxy)
{
	static const char *const names[] = {
		"http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY"};
	struct buf except auto_buf = {0};
	char **at = proxy->environment;
	int r = 0;

	add_exceptions(proxy, &except);
	for (size_t i = 0; i < ARRAY_LEN(names) && r >= 0; i++)
		r = asprintf(at++, "%s=http://127.0.0.1:%d", names[i], PROXY_PORT);
	if (r >= 0)
		r = asprintf(at++, "no_proxy=%s", buf_text(&except));
	if (r >= 0)
		r = asprintf(at++, "NO_PROXY=%s", buf_text(&except));
	/* Node looks at them only when told so. */
	if (r >= 0)
		r = asprintf(at++, "NODE_USE_ENV_PROXY=1");
	if (r < 0)
		*--at = NULL;
	return r < 0 || except.error ? -ENOMEM : 0;
}

static int start(struct proxy *proxy, struct fail *f)
{
	const struct relay_config config = {
		.loop = proxy->config.loop, .reported = on_report, .arg = proxy};
	int r = proxy_rules_new(proxy->config.allow, &proxy->rules);

	if (r == 0)
		r = make_environment(proxy);
	if (r < 0)
		return fail_errno(
			f, r, "net_allow=%s", proxy->config.allow ? proxy->config.allow : "");
	proxy->listener.fd = sandbox_listen(proxy->config.sandbox, PROXY_PORT);
	if (proxy->listener.fd < 0)
		return fail_errno(f, proxy->listener.fd, "listening for net=proxy in the sandbox");
	r = relay_new(&config, &proxy->relay);
	if (r < 0)
		return fail_errno(f, r, "starting the proxy");
	proxy->opening.act = open_listener;
	relay_post(proxy->relay, &proxy->opening);
	return 0;
}

int proxy_new(const struct proxy_config *config, struct proxy **ret, struct fail *f)
{
	struct proxy *proxy = calloc(1, sizeof(*proxy));
	int r;

	if (!proxy)
		return -ENOMEM;
	proxy->config = *config;
	proxy->listener.fd = -1;
	list_init(&proxy->clients);
	r = start(proxy, f);
	if (r < 0) {
		proxy_free(proxy);
		return r;
	}
	*ret = proxy;
	return 0;
}

void proxy_free(struct proxy *proxy)
{
	if (!proxy)
		return;
	relay_stop(proxy->relay);
	proxy_client_end_all(proxy);
	relay_free(proxy->relay);
	close_fd(&proxy->listener.fd);
	proxy_rules_free(proxy->rules);
	for (size_t i = 0; i < ARRAY_LEN(proxy->environment); i++)
		free(proxy->environment[i]);
	free(proxy);
}

char *const *proxy_environment(const struct proxy *proxy)
{
	return proxy->environment;
}
