// One connection through the relay: two sockets, and the bytes on their way between them. Bytes go
// through a pipe by splice(2), which each direction borrows while it holds some.
#include "runner/net/relay_impl.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/scope.h"

#define PIPE_BYTES (256 * 1024)
#define ROUNDS 16 /* of a pipe's content, before others have their turn */
#define REST_USEC (120 * USEC_PER_SEC) /* how long a connection with one direction left may rest */

/* What comes from one side and goes to the other. */
struct flow {
	struct relay_pipe pipe; /* while it holds bytes */
	size_t held;
	uint64_t left; /* bytes that may still pass */
	bool ended; /* nothing more comes */
	bool passed_on; /* and all of it has gone to the other side, which was told */
};

struct side {
	struct loop_source source;
	uint32_t events; /* watched now */
	struct flow flow; /* of what it sends */
};

struct relay_pair {
	struct list link; /* in relay.pairs */
	struct relay *relay; /* borrowed */
	const void *owner;
	struct side sides[2];
	struct buf first; /* for sides[1], before all else */
	size_t first_at;
	bool connecting; /* sides[1] is not there yet */
	uint64_t moved_usec; /* when bytes moved last */
};

static int take_pipe(struct relay *relay, struct relay_pipe *ret)
{
	int fds[2];

	if (relay->pipes_len) {
		*ret = relay->pipes[--relay->pipes_len];
		return 0;
	}
	if (pipe2(fds, O_CLOEXEC | O_NONBLOCK) < 0)
		return -errno;
	/* Where a user's pipes together are limited it stays as it is, and is only slower. */
	fcntl(fds[1], F_SETPIPE_SZ, PIPE_BYTES);
	*ret = (struct relay_pipe){fds[0], fds[1]};
	return 0;
}

static void close_pipe(struct flow *flow)
{
	close_fd(&flow->pipe.read_fd);
	close_fd(&flow->pipe.write_fd);
	flow->held = 0;
}

static void give_back_pipe(struct relay *relay, struct flow *flow)
{
	if (flow->pipe.read_fd < 0)
		return;
	if (flow->held || relay->pipes_len == RELAY_PIPES_MAX) {
		close_pipe(flow);
		return;
	}
	relay->pipes[relay->pipes_len++] = flow->pipe;
	flow->pipe = (struct relay_pipe){-1, -1};
}

/* abrupt: both ends see a reset instead of an end. */
static void end_pair(struct relay_pair *pair, bool abrupt)
{
	const struct linger reset = {.l_onoff = 1};

	for (int i = 0; i < 2; i++) {
		struct side *side = &pair->sides[i];

		loop_unwatch(pair->relay->own, &side->source);
		if (abrupt)
			setsockopt(side->source.fd, SOL_SOCKET, SO_LINGER, &reset, sizeof(reset));
		close_fd(&side->source.fd);
		give_back_pipe(pair->relay, &side->flow);
	}
	buf_clear(&pair->first);
	list_remove(&pair->link);
	atomic_fetch_sub(&pair->relay->connections, 1);
	free(pair);
}

/* From the socket into the pipe. 1: some came; 0: none now, or the end. */
static int pull(struct relay_pair *pair, struct side *from)
{
	struct flow *flow = &from->flow;
	int r = flow->pipe.read_fd < 0 ? take_pipe(pair->relay, &flow->pipe) : 0;
	ssize_t n;

	if (r < 0)
		return r;
	n = splice(from->source.fd, NULL, flow->pipe.write_fd, NULL,
		flow->left < PIPE_BYTES ? flow->left : PIPE_BYTES,
		SPLICE_F_MOVE | SPLICE_F_NONBLOCK);
	if (n < 0)
		return errno == EAGAIN || errno == EINTR ? 0 : -errno;
	flow->held = (size_t)n;
	flow->left -= (uint64_t)n;
	flow->ended = n == 0;
	return n > 0;
}

/* From the pipe into the socket. 1: all of it went; 0: it takes no more now. */
static int push(struct flow *flow, struct side *to)
{
	while (flow->held) {
		ssize_t n = splice(flow->pipe.read_fd, NULL, to->source.fd, NULL, flow->held,
			SPLICE_F_MOVE | SPLICE_F_NONBLOCK);

		if (n < 0)
			return errno == EAGAIN || errno == EINTR ? 0 : -errno;
		flow->held -= (size_t)n;
	}
	return 1;
}

/* 1: all of it went. */
static int push_first(struct relay_pair *pair)
{
	while (pair->first_at < pair->first.len) {
		ssize_t n = send(pair->sides[1].source.fd, pair->first.data + pair->first_at,
			pair->first.len - pair->first_at, MSG_NOSIGNAL | MSG_DONTWAIT);

		if (n < 0)
			return errno == EAGAIN || errno == EINTR ? 0 : -errno;
		pair->first_at += (size_t)n;
	}
	buf_clear(&pair->first);
	pair->first_at = 0;
	return 1;
}

/* Moves what can be moved from one side to the other. 0 or -errno: the connection is broken. */
static int move(struct relay_pair *pair, struct side *from, struct side *to)
{
	struct flow *flow = &from->flow;
	int r = to == &pair->sides[1] ? push_first(pair) : 1;

	for (int round = 0; r == 1 && round < ROUNDS && !flow->passed_on; round++) {
		r = push(flow, to);
		if (r == 1 && !flow->left)
			flow->passed_on = true;
		else if (r == 1 && !flow->ended)
			r = pull(pair, from);
		if (r == 1)
			pair->moved_usec = clock_monotonic_usec();
		if (r >= 0 && flow->ended && !flow->held && !flow->passed_on) {
			flow->passed_on = true;
			shutdown(to->source.fd, SHUT_WR);
		}
	}
	if (!flow->held)
		give_back_pipe(pair->relay, flow);
	return r < 0 ? r : 0;
}

/* A side of which nothing is wanted is still told of its end, but once only. */
static void rewatch(struct relay_pair *pair, int at)
{
	struct side *side = &pair->sides[at];
	const struct flow *in = &side->flow, *out = &pair->sides[!at].flow;
	bool writes = out->held || (at == 1 && (pair->connecting || pair->first.len));
	bool reads = !in->ended && !in->passed_on && !in->held && !pair->connecting &&
		     !(at == 0 && pair->first.len);
	uint32_t events = (writes ? EPOLLOUT : 0) | (reads ? EPOLLIN : 0);

	if (!events)
		events = EPOLLET | EPOLLRDHUP;
	if (events == side->events)
		return;
	side->events = events;
	loop_rewatch(pair->relay->own, &side->source, events);
}

/* Whether a connection that was under way is there by now: 0, -EAGAIN, or why not. */
static int finish_connecting(struct relay_pair *pair, uint32_t events)
{
	socklen_t len = sizeof(int);
	int error = 0;

	if (!(events & (EPOLLOUT | EPOLLERR | EPOLLHUP)))
		return -EAGAIN;
	if (getsockopt(pair->sides[1].source.fd, SOL_SOCKET, SO_ERROR, &error, &len) < 0)
		return -errno;
	pair->connecting = error != 0;
	return -error;
}

static void settle(struct relay_pair *pair)
{
	struct side *a = &pair->sides[0], *b = &pair->sides[1];
	int r = 0;

	if (!pair->connecting) {
		r = move(pair, a, b);
		if (r == 0)
			r = move(pair, b, a);
	}
	if (r < 0 || (a->flow.passed_on && b->flow.passed_on)) {
		end_pair(pair, r < 0);
		return;
	}
	rewatch(pair, 0);
	rewatch(pair, 1);
}

static void on_side(struct relay_pair *pair, int at, uint32_t events)
{
	int r = 0;

	if (pair->connecting && at == 1)
		r = finish_connecting(pair, events);
	else if (events & EPOLLERR)
		r = -ECONNRESET;
	/* Who may send no more, and now has ended, perhaps waits for nothing any more. */
	if (events & EPOLLRDHUP && pair->sides[at].flow.passed_on)
		pair->sides[at].flow.ended = true;
	if (r < 0 && r != -EAGAIN)
		end_pair(pair, true);
	else
		settle(pair);
}

static void on_a(struct loop_source *source, uint32_t events)
{
	on_side(container_of(source, struct relay_pair, sides[0].source), 0, events);
}

static void on_b(struct loop_source *source, uint32_t events)
{
	on_side(container_of(source, struct relay_pair, sides[1].source), 1, events);
}

static int watch(struct relay_pair *pair)
{
	int r;

	pair->sides[0].events = pair->sides[1].events = EPOLLET;
	r = loop_watch(pair->relay->own, &pair->sides[0].source, EPOLLET);
	if (r < 0)
		return r;
	r = loop_watch(pair->relay->own, &pair->sides[1].source, EPOLLET);
	if (r < 0)
		loop_unwatch(pair->relay->own, &pair->sides[0].source);
	return r;
}

static struct relay_pair *new_pair(
	struct relay *relay, int a_fd, int b_fd, uint64_t limit, const void *owner)
{
	struct relay_pair *pair = calloc(1, sizeof(*pair));
	const int yes = 1;

	if (!pair)
		return NULL;
	setsockopt(a_fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof(yes));
	setsockopt(b_fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof(yes));
	pair->relay = relay;
	pair->owner = owner;
	pair->sides[0].source = (struct loop_source){.fd = a_fd, .ready = on_a};
	pair->sides[1].source = (struct loop_source){.fd = b_fd, .ready = on_b};
	pair->sides[0].flow.pipe = pair->sides[1].flow.pipe = (struct relay_pipe){-1, -1};
	pair->sides[0].flow.left = limit;
	pair->sides[1].flow.left = UINT64_MAX;
	pair->connecting = true;
	pair->moved_usec = clock_monotonic_usec();
	return pair;
}

int relay_join(struct relay *relay, int a_fd, int b_fd, struct buf *first, uint64_t limit,
	const void *owner)
{
	struct relay_pair *pair = new_pair(relay, a_fd, b_fd, limit, owner);
	struct sockaddr_storage address;
	socklen_t len = sizeof(address);
	int r = pair ? watch(pair) : -ENOMEM;

	if (r < 0) {
		close(a_fd);
		close(b_fd);
		free(pair);
		return r;
	}
	if (first) {
		pair->first = *first;
		*first = (struct buf){0};
	}
	list_add_tail(&relay->pairs, &pair->link);
	atomic_fetch_add(&relay->connections, 1);
	/* Over a loopback it mostly is connected by now. */
	pair->connecting = getpeername(b_fd, (struct sockaddr *)&address, &len) < 0;
	settle(pair);
	return 0;
}

void relay_end_of(struct relay *relay, const void *owner)
{
	struct list *item, *spare;

	list_for_each_safe(item, spare, &relay->pairs)
	{
		struct relay_pair *pair = list_entry(item, struct relay_pair, link);

		if (pair->owner == owner)
			end_pair(pair, true);
	}
}

void relay_pair_end_all(struct relay *relay)
{
	while (!list_empty(&relay->pairs))
		end_pair(list_entry(relay->pairs.next, struct relay_pair, link), true);
}

static bool is_half(const struct relay_pair *pair)
{
	return pair->sides[0].flow.ended || pair->sides[1].flow.ended;
}

void relay_pair_sweep(struct relay *relay)
{
	uint64_t now = clock_monotonic_usec();
	struct list *item, *spare;

	list_for_each_safe(item, spare, &relay->pairs)
	{
		struct relay_pair *pair = list_entry(item, struct relay_pair, link);

		if ((is_half(pair) || pair->connecting) && now - pair->moved_usec > REST_USEC)
			end_pair(pair, true);
	}
}

bool relay_pair_evict(struct relay *relay)
{
	struct relay_pair *oldest = NULL;
	struct list *item;

	list_for_each(item, &relay->pairs)
	{
		struct relay_pair *pair = list_entry(item, struct relay_pair, link);

		if (is_half(pair) && (!oldest || pair->moved_usec < oldest->moved_usec))
			oldest = pair;
	}
	if (oldest)
		end_pair(oldest, true);
	return oldest;
}
