// One client of the proxy, from its connection until its server is there or it was refused.
#include "runner/net/proxy_impl.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/scope.h"

#define HEAD_MAX (32 * 1024)
#define HEAD_USEC (15 * USEC_PER_SEC) /* for the whole head, however slowly it comes */
#define CONNECT_USEC (10 * USEC_PER_SEC) /* for each address */
#define DRAIN_USEC (2 * USEC_PER_SEC)
#define BLOCK 4096

enum stage { STAGE_HEAD, STAGE_RESOLVE, STAGE_CONNECT, STAGE_TUNNEL, STAGE_ANSWER, STAGE_DRAIN };

struct proxy_client {
	struct list link; /* in proxy.clients */
	struct proxy *proxy; /* borrowed */
	enum stage stage;
	struct loop_source source; /* the client's connection, owned */
	struct loop_source server; /* owned; fd -1: none */
	struct loop_timer limit; /* of the present stage */
	struct buf head; /* and what came behind it */
	size_t head_len;
	struct proxy_request request;
	enum proxy_rule rule;
	struct resolve *resolve; /* owned; NULL: none under way */
	union resolve_address addresses[RESOLVE_MAX];
	size_t addresses_len, address_at;
	bool special; /* some address was not one to connect to */
	int err; /* of the last address */
	struct buf answer;
	size_t answer_at;
};

static struct loop *loop_of(const struct proxy_client *c)
{
	return relay_loop(c->proxy->relay);
}

static void close_server(struct proxy_client *c)
{
	if (c->server.fd < 0)
		return;
	loop_unwatch(loop_of(c), &c->server);
	close_fd(&c->server.fd);
}

static void end_client(struct proxy_client *c)
{
	if (c->source.fd >= 0) {
		loop_unwatch(loop_of(c), &c->source);
		close_fd(&c->source.fd);
	}
	close_server(c);
	loop_timer_cancel(loop_of(c), &c->limit);
	resolve_cancel(c->resolve);
	buf_clear(&c->head);
	buf_clear(&c->answer);
	proxy_request_clear(&c->request);
	list_remove(&c->link);
	c->proxy->clients_len--;
	free(c);
}

static void enter_stage(struct proxy_client *c, enum stage stage, uint64_t usec, uint32_t events)
{
	c->stage = stage;
	loop_timer_set(loop_of(c), &c->limit, clock_monotonic_usec() + usec);
	loop_rewatch(loop_of(c), &c->source, events);
}

static const char *reason_of(int status)
{
	static const struct {
		int status;
		const char *reason;
	} all[] = {{400, "Bad Request"}, {403, "Forbidden"}, {405, "Method Not Allowed"},
		{408, "Request Timeout"}, {431, "Request Header Fields Too Large"},
		{501, "Not Implemented"}, {502, "Bad Gateway"}, {503, "Service Unavailable"},
		{504, "Gateway Timeout"}};

	for (size_t i = 0; i < ARRAY_LEN(all); i++)
		if (all[i].status == status)
			return all[i].reason;
	return "Internal Server Error";
}

/* Writes what the client takes; then ends its side, and reads on until the client has ended, too: a
 * close with bytes unread would reset the connection and take the answer away. */
static void push_answer(struct proxy_client *c)
{
	while (c->answer_at < c->answer.len) {
		ssize_t n = send(c->source.fd, c->answer.data + c->answer_at,
			c->answer.len - c->answer_at, MSG_NOSIGNAL | MSG_DONTWAIT);

		if (n < 0 && (errno == EAGAIN || errno == EINTR))
			return;
		if (n < 0) {
			end_client(c);
			return;
		}
		c->answer_at += (size_t)n;
	}
	shutdown(c->source.fd, SHUT_WR);
	enter_stage(c, STAGE_DRAIN, DRAIN_USEC, EPOLLIN);
}

static void refuse(struct proxy_client *c, int status, const char *words)
{
	const struct proxy_request *r = &c->request;

	if (*r->host)
		proxy_say(c->proxy, "refused %s%s:%u: %s", r->tunnel ? "CONNECT " : "http://",
			r->host, r->port, words);
	else
		proxy_say(c->proxy, "refused a request: %s", words);
	close_server(c);
	buf_printf(&c->answer,
		"HTTP/1.1 %d %s\r\nContent-Type: text/plain\r\nContent-Length: %zu\r\n"
		"Connection: close\r\n\r\nsandpit: %s\n",
		status, reason_of(status), strlen(words) + 10, words);
	enter_stage(c, STAGE_ANSWER, DRAIN_USEC, EPOLLOUT);
}

static void try_addresses(struct proxy_client *c);

/* Hands both connections to the relay. */
static void pass_on(struct proxy_client *c)
{
	struct proxy_request *r = &c->request;
	size_t more = c->head.len - c->head_len;
	struct buf first = r->head;

	r->head = (struct buf){0};
	if (more > r->body_len)
		more = (size_t)r->body_len;
	buf_add(&first, c->head.data + c->head_len, more);
	loop_unwatch(loop_of(c), &c->source);
	loop_unwatch(loop_of(c), &c->server);
	if (first.error) {
		close_fd(&c->server.fd);
		close_fd(&c->source.fd);
	} else {
		relay_join(c->proxy->relay, take_fd(&c->source.fd), take_fd(&c->server.fd), &first,
			r->body_len == UINT64_MAX ? UINT64_MAX : r->body_len - more, c->proxy);
	}
	buf_clear(&first);
	end_client(c);
}

/* The client was told that the tunnel is there. What it is used for shows in its first bytes. */
static void look_into_tunnel(struct proxy_client *c)
{
	int r = c->rule == PROXY_ANY ? 0
				     : proxy_request_is_web(c->head.data + c->head_len,
					       c->head.len - c->head_len);

	if (r == 0) {
		pass_on(c);
	} else if (r != -EAGAIN) {
		proxy_say(c->proxy, "ended CONNECT %s:%u: it carries neither HTTPS nor HTTP",
			c->request.host, c->request.port);
		end_client(c);
	}
}

static void connected(struct proxy_client *c)
{
	static const char hello[] = "HTTP/1.1 200 Connection established\r\n\r\n";

	if (!c->request.tunnel) {
		pass_on(c);
		return;
	}
	loop_unwatch(loop_of(c), &c->server);
	if (send(c->source.fd, hello, strlen(hello), MSG_NOSIGNAL | MSG_DONTWAIT) !=
		(ssize_t)strlen(hello)) {
		end_client(c);
		return;
	}
	enter_stage(c, STAGE_TUNNEL, HEAD_USEC, EPOLLIN);
	look_into_tunnel(c);
}

static void on_server(struct loop_source *source, uint32_t events)
{
	struct proxy_client *c = container_of(source, struct proxy_client, server);
	socklen_t len = sizeof(int);
	int error = 0;

	(void)events;
	if (getsockopt(source->fd, SOL_SOCKET, SO_ERROR, &error, &len) < 0)
		error = errno;
	if (!error) {
		connected(c);
		return;
	}
	c->err = -error;
	close_server(c);
	try_addresses(c);
}

static int begin_connecting(struct proxy_client *c, const union resolve_address *address)
{
	socklen_t len =
		address->any.sa_family == AF_INET ? sizeof(address->v4) : sizeof(address->v6);
	auto_close int fd =
		socket(address->any.sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	if (fd < 0 || (connect(fd, &address->any, len) < 0 && errno != EINPROGRESS))
		return -errno;
	c->server = (struct loop_source){.fd = fd, .ready = on_server};
	int r = loop_watch(loop_of(c), &c->server, EPOLLOUT);
	if (r < 0)
		c->server.fd = -1;
	else
		take_fd(&fd);
	return r;
}

static void give_up(struct proxy_client *c)
{
	struct fail f;

	if (c->err == -ETIMEDOUT) {
		refuse(c, 504, "the server does not answer");
	} else if (c->err) {
		fail_errno(&f, c->err, "the server cannot be reached");
		refuse(c, 502, f.text);
	} else if (c->special) {
		refuse(c, 403,
			"its address is this machine's or none of the public internet, and net_allow does "
			"not name the address itself");
	} else {
		refuse(c, 502, "it has no address");
	}
}

/* The next address that may be connected to. The name is not looked up again. */
static void try_addresses(struct proxy_client *c)
{
	while (c->address_at < c->addresses_len) {
		const union resolve_address *address = &c->addresses[c->address_at++];

		if (!proxy_rules_address(c->proxy->rules, &address->any)) {
			c->special = true;
			continue;
		}
		c->err = begin_connecting(c, address);
		if (c->err == 0) {
			enter_stage(c, STAGE_CONNECT, CONNECT_USEC, EPOLLET);
			return;
		}
	}
	give_up(c);
}

static void on_resolved(
	void *arg, int err, const union resolve_address *addresses, size_t addresses_len)
{
	struct proxy_client *c = arg;

	c->resolve = NULL;
	if (err) {
		refuse(c, 502,
			err == -ENOENT ? "there is no such host"
				       : "the name servers do not answer");
		return;
	}
	memcpy(c->addresses, addresses, addresses_len * sizeof(*addresses));
	c->addresses_len = addresses_len;
	try_addresses(c);
}

/* The head is whole. */
static void take_request(struct proxy_client *c)
{
	struct proxy_request *r = &c->request;
	struct fail f = {0};
	int status = proxy_request_parse(c->head.data, c->head_len, r, &f);

	if (status) {
		refuse(c, status, f.text);
		return;
	}
	c->rule = proxy_rules_host(c->proxy->rules, r->host, r->port);
	if (c->rule == PROXY_REFUSED) {
		refuse(c, 403, "net_allow does not name this host with this port");
		return;
	}
	/* The name servers are waited for by a limit of their own. */
	enter_stage(c, STAGE_RESOLVE, 60 * USEC_PER_SEC, EPOLLET);
	if (resolve_start(loop_of(c), r->host, r->port, on_resolved, c, &c->resolve) < 0)
		refuse(c, 503, "out of memory or threads");
}

/* False: the client has gone, or there is nothing. */
static bool read_more(struct proxy_client *c)
{
	ssize_t n = -1;

	errno = ENOMEM;
	if (buf_reserve(&c->head, BLOCK) == 0)
		n = recv(c->source.fd, c->head.data + c->head.len, BLOCK, MSG_DONTWAIT);
	if (n <= 0) {
		if (n == 0 || (errno != EAGAIN && errno != EINTR))
			end_client(c);
		return false;
	}
	c->head.len += (size_t)n;
	c->head.data[c->head.len] = '\0';
	return true;
}

static void read_head(struct proxy_client *c)
{
	if (!read_more(c))
		return;
	c->head_len = proxy_request_head_len(c->head.data, c->head.len);
	if (c->head_len && c->head_len <= HEAD_MAX)
		take_request(c);
	else if (c->head_len || c->head.len > HEAD_MAX)
		refuse(c, 431, "the request's head is over 32 KiB");
}

static void read_tunnel(struct proxy_client *c)
{
	if (read_more(c))
		look_into_tunnel(c);
}

static void drain(struct proxy_client *c)
{
	char block[BLOCK];
	ssize_t n = recv(c->source.fd, block, sizeof(block), MSG_DONTWAIT);

	if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR))
		end_client(c);
}

static void on_client(struct loop_source *source, uint32_t events)
{
	struct proxy_client *c = container_of(source, struct proxy_client, source);

	if (events & EPOLLERR || (events & EPOLLHUP && c->stage != STAGE_DRAIN))
		end_client(c);
	else if (c->stage == STAGE_HEAD)
		read_head(c);
	else if (c->stage == STAGE_TUNNEL)
		read_tunnel(c);
	else if (c->stage == STAGE_ANSWER)
		push_answer(c);
	else if (c->stage == STAGE_DRAIN)
		drain(c);
}

static void on_limit(struct loop_timer *timer)
{
	struct proxy_client *c = container_of(timer, struct proxy_client, limit);

	switch (c->stage) {
	case STAGE_HEAD:
		refuse(c, 408, "the request's head did not come within 15 s");
		break;
	case STAGE_RESOLVE:
		resolve_cancel(take_ptr(c->resolve));
		refuse(c, 502, "the name servers do not answer");
		break;
	case STAGE_CONNECT:
		c->err = -ETIMEDOUT;
		close_server(c);
		try_addresses(c);
		break;
	default:
		end_client(c);
	}
}

void proxy_client_new(struct proxy *proxy, int fd)
{
	struct proxy_client *c =
		proxy->clients_len < PROXY_CLIENTS_MAX ? calloc(1, sizeof(*c)) : NULL;

	if (!c) {
		close(fd);
		return;
	}
	c->proxy = proxy;
	c->source = (struct loop_source){.fd = fd, .ready = on_client};
	c->server.fd = -1;
	c->limit.fire = on_limit;
	list_add_tail(&proxy->clients, &c->link);
	proxy->clients_len++;
	if (loop_watch(loop_of(c), &c->source, EPOLLIN) < 0)
		end_client(c);
	else
		enter_stage(c, STAGE_HEAD, HEAD_USEC, EPOLLIN);
}

void proxy_client_end_all(struct proxy *proxy)
{
	while (!list_empty(&proxy->clients))
		end_client(list_entry(proxy->clients.next, struct proxy_client, link));
}
