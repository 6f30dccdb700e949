// The host's side of cdp_url and live_url: accepts, checks, and passes bytes on.
#include "kernels/browser/browser_relay.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include "common/buf.h"
#include "common/clock.h"
#include "common/list.h"
#include "common/scope.h"
#include "kernels/browser/browser.h"
#include "kernels/browser/browser_relay_head.h"
#include "runner/sandbox.h"

#define CONNECTIONS_MAX 64
#define HEAD_MAX (16 * 1024)
#define HEAD_LIMIT_USEC (10 * USEC_PER_SEC)
#define BLOCK (64 * 1024)

struct browser_relay {
	struct loop *loop; /* borrowed */
	struct sandbox *sandbox; /* borrowed */
	struct loop_source listener;
	unsigned port;
	char tokens[BROWSER_DOORS][BROWSER_TOKEN_LEN + 1];
	char urls[BROWSER_DOORS][96];
	struct list connections;
	unsigned connections_len;
};

/* One side of a connection, and what is to be written to it. */
struct side {
	struct loop_source source; /* fd -1: not there yet */
	struct buf out;
	size_t out_at;
	uint32_t events; /* watched now */
	bool reads; /* what it says is taken */
};

struct connection {
	struct list link;
	struct browser_relay *relay; /* borrowed */
	struct side client, inner;
	struct buf head; /* of the request, until it is whole */
	bool ending; /* once client.out is written */
	struct loop_timer limit; /* for the head */
};

static void close_side(struct connection *c, struct side *side)
{
	if (side->source.fd >= 0) {
		loop_unwatch(c->relay->loop, &side->source);
		close_fd(&side->source.fd);
	}
	buf_clear(&side->out);
}

static void free_connection(struct connection *c)
{
	close_side(c, &c->client);
	close_side(c, &c->inner);
	loop_timer_cancel(c->relay->loop, &c->limit);
	list_remove(&c->link);
	c->relay->connections_len--;
	buf_clear(&c->head);
	free(c);
}

static void on_limit(struct loop_timer *timer)
{
	free_connection(container_of(timer, struct connection, limit));
}

/* Writes what the socket takes. False: it is of no use any more. */
static bool push(struct side *side)
{
	while (side->out_at < side->out.len) {
		ssize_t n = send(side->source.fd, side->out.data + side->out_at,
			side->out.len - side->out_at, MSG_NOSIGNAL | MSG_DONTWAIT);

		if (n < 0)
			return errno == EAGAIN || errno == EINTR;
		side->out_at += (size_t)n;
	}
	buf_reset(&side->out);
	side->out_at = 0;
	return true;
}

/* Reads more from one side once the other has taken what there was. */
static void rewatch(struct connection *c, struct side *side, const struct side *other)
{
	uint32_t events =
		(side->out.len ? EPOLLOUT : 0) | (side->reads && !other->out.len ? EPOLLIN : 0);

	if (side->source.fd < 0 || events == side->events)
		return;
	side->events = events;
	loop_rewatch(c->relay->loop, &side->source, events);
}

static void settle(struct connection *c)
{
	if (!push(&c->client) || (c->inner.source.fd >= 0 && !push(&c->inner)) ||
		(c->ending && !c->client.out.len)) {
		free_connection(c);
		return;
	}
	rewatch(c, &c->client, &c->inner);
	rewatch(c, &c->inner, &c->client);
}

static void refuse(struct connection *c, const char *status)
{
	c->client.reads = false;
	c->ending = true;
	buf_printf(&c->client.out, "HTTP/1.1 %s\r\nContent-Length: 0\r\nConnection: close\r\n\r\n",
		status);
}

/* Some bytes from a side: the count, 0 at the end, -EAGAIN. */
static ssize_t take(struct side *side, struct buf *to)
{
	ssize_t n;

	if (buf_reserve(to, BLOCK) < 0)
		return 0;
	n = recv(side->source.fd, to->data + to->len, BLOCK, MSG_DONTWAIT);
	if (n < 0)
		return errno == EAGAIN || errno == EINTR ? -EAGAIN : 0;
	to->len += (size_t)n;
	to->data[to->len] = '\0';
	return n;
}

static void on_inner(struct loop_source *source, uint32_t events)
{
	struct connection *c = container_of(source, struct connection, inner.source);

	if (events & (EPOLLIN | EPOLLHUP | EPOLLERR) && !c->client.out.len &&
		take(&c->inner, &c->client.out) == 0) {
		c->ending = true;
		c->inner.reads = false;
	}
	settle(c);
}

/* The socket lies in a tree that others write to: no link is followed, and it must be one. */
static int connect_inside(struct browser_relay *relay, enum browser_door door)
{
	static const char *const paths[] = {[BROWSER_DOOR_CDP] = BROWSER_HOME "/run/cdp",
		[BROWSER_DOOR_LIVE] = BROWSER_HOME "/run/live"};
	struct open_how how = {.flags = O_PATH | O_CLOEXEC,
		.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS};
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	struct stat st;
	auto_close int path_fd = (int)syscall(
		SYS_openat2, sandbox_tree_fd(relay->sandbox), paths[door], &how, sizeof(how));

	if (path_fd < 0)
		return -errno;
	if (fstat(path_fd, &st) < 0 || !S_ISSOCK(st.st_mode))
		return -ENOTSOCK;
	auto_close int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return -errno;
	snprintf(address.sun_path, sizeof(address.sun_path), "/proc/self/fd/%d", path_fd);
	if (connect(fd, (struct sockaddr *)&address, sizeof(address)) < 0)
		return -errno;
	return take_fd(&fd);
}

/* The head is whole: lets it through, or not. */
static int enter(struct connection *c, size_t len)
{
	const char *const tokens[] = {c->relay->tokens[0], c->relay->tokens[1]};
	struct browser_relay_head head = {
		.port = c->relay->port, .tokens = tokens, .tokens_len = BROWSER_DOORS};
	int r = browser_relay_head_rewrite(&head, c->head.data, len, &c->inner.out);
	int fd;

	if (r < 0)
		return r;
	fd = connect_inside(c->relay, (enum browser_door)head.door);
	if (fd < 0)
		return -ECONNREFUSED;
	c->inner.source = (struct loop_source){.fd = fd, .ready = on_inner};
	c->inner.reads = true;
	r = loop_watch(c->relay->loop, &c->inner.source, 0);
	if (r < 0) {
		close_fd(&c->inner.source.fd);
		return r;
	}
	loop_timer_cancel(c->relay->loop, &c->limit);
	/* A request is one connection's only one: what follows it is not looked at. */
	c->client.reads = head.upgrade;
	if (head.upgrade)
		buf_add(&c->inner.out, c->head.data + len, c->head.len - len);
	buf_clear(&c->head);
	return c->inner.out.error;
}

static void read_head(struct connection *c)
{
	size_t len = browser_relay_head_len(buf_text(&c->head), c->head.len);
	int r = len ? enter(c, len) : c->head.len > HEAD_MAX ? -EINVAL : 0;

	if (r == -EACCES)
		refuse(c, "403 Forbidden");
	else if (r == -EINVAL)
		refuse(c, "400 Bad Request");
	else if (r < 0)
		refuse(c, "502 Bad Gateway");
}

static void on_client(struct loop_source *source, uint32_t events)
{
	struct connection *c = container_of(source, struct connection, client.source);
	bool passes = c->inner.source.fd >= 0;

	if (events & (EPOLLHUP | EPOLLERR)) {
		free_connection(c);
		return;
	}
	if (events & EPOLLIN && c->client.reads && !(passes && c->inner.out.len)) {
		ssize_t n = take(&c->client, passes ? &c->inner.out : &c->head);

		if (n == 0) {
			free_connection(c);
			return;
		}
		if (n > 0 && !passes)
			read_head(c);
	}
	settle(c);
}

static void on_listener(struct loop_source *source, uint32_t events)
{
	struct browser_relay *relay = container_of(source, struct browser_relay, listener);
	// cppcheck-suppress nullPointer
	auto_close int fd = accept4(source->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	struct connection *c;

	(void)events;
	if (fd < 0 || relay->connections_len >= CONNECTIONS_MAX)
		return;
	c = calloc(1, sizeof(*c));
	if (!c)
		return;
	c->relay = relay;
	c->client.source = (struct loop_source){.fd = fd, .ready = on_client};
	c->client.reads = true;
	c->client.events = EPOLLIN;
	c->inner.source.fd = -1;
	c->limit.fire = on_limit;
	if (loop_watch(relay->loop, &c->client.source, EPOLLIN) < 0) {
		free(c);
		return;
	}
	take_fd(&fd);
	list_add_tail(&relay->connections, &c->link);
	relay->connections_len++;
	loop_timer_set(relay->loop, &c->limit, clock_monotonic_usec() + HEAD_LIMIT_USEC);
}

static int make_tokens(struct browser_relay *relay)
{
	for (size_t door = 0; door < BROWSER_DOORS; door++) {
		unsigned char random[BROWSER_TOKEN_LEN / 2];

		if (getrandom(random, sizeof(random), 0) != sizeof(random))
			return -errno;
		for (size_t i = 0; i < sizeof(random); i++)
			snprintf(relay->tokens[door] + 2 * i, 3, "%02x", random[i]);
		snprintf(relay->urls[door], sizeof(relay->urls[door]), "http://127.0.0.1:%u/%s/",
			relay->port, relay->tokens[door]);
	}
	return 0;
}

static int start_listening(struct browser_relay *relay)
{
	struct sockaddr_in address = {
		.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t len = sizeof(address);
	auto_close int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	if (fd < 0 || bind(fd, (struct sockaddr *)&address, len) < 0 || listen(fd, 64) < 0 ||
		getsockname(fd, (struct sockaddr *)&address, &len) < 0)
		return -errno;
	relay->port = ntohs(address.sin_port);
	relay->listener = (struct loop_source){.fd = fd, .ready = on_listener};
	int r = loop_watch(relay->loop, &relay->listener, EPOLLIN);
	if (r < 0)
		relay->listener.fd = -1;
	else
		take_fd(&fd);
	return r;
}

int browser_relay_open(
	struct loop *loop, struct sandbox *sandbox, struct browser_relay **ret, struct fail *f)
{
	struct browser_relay *relay = calloc(1, sizeof(*relay));
	int r;

	if (!relay)
		return -ENOMEM;
	relay->loop = loop;
	relay->sandbox = sandbox;
	relay->listener.fd = -1;
	list_init(&relay->connections);
	r = start_listening(relay);
	if (r == 0)
		r = make_tokens(relay);
	if (r < 0) {
		browser_relay_close(relay);
		return fail_errno(f, r, "listening on 127.0.0.1");
	}
	*ret = relay;
	return 0;
}

void browser_relay_close(struct browser_relay *relay)
{
	if (!relay)
		return;
	while (!list_empty(&relay->connections))
		free_connection(list_entry(relay->connections.next, struct connection, link));
	if (relay->listener.fd >= 0) {
		loop_unwatch(relay->loop, &relay->listener);
		close_fd(&relay->listener.fd);
	}
	free(relay);
}

const char *browser_relay_url(const struct browser_relay *relay, enum browser_door door)
{
	return relay->urls[door];
}
