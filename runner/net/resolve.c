// Looks up the addresses of a host name.
#include "runner/net/resolve.h"

#include <arpa/nameser.h>
#include <errno.h>
#include <netdb.h>
#include <pthread.h>
#include <resolv.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>

#include "common/scope.h"

#define PATIENCE_SEC 3 /* for each name server */

struct resolve {
	struct loop *loop; /* borrowed, by the loop's side only */
	struct loop_source ended; /* an eventfd, owned */
	resolve_done *done;
	void *arg;
	atomic_int users; /* the loop's side and the thread */
	char name[256];
	uint16_t port;
	int err; /* the result, once the eventfd says so */
	union resolve_address addresses[RESOLVE_MAX];
	size_t addresses_len;
};

static void let_go(struct resolve *resolve)
{
	if (atomic_fetch_sub(&resolve->users, 1) > 1)
		return;
	close_fd(&resolve->ended.fd);
	free(resolve);
}

static int to_errno(int gai)
{
	switch (gai) {
	case 0:
		return 0;
	case EAI_NONAME:
	case EAI_NODATA:
		return -ENOENT;
	case EAI_MEMORY:
		return -ENOMEM;
	case EAI_SYSTEM:
		return errno ? -errno : -EIO;
	default:
		return -EAGAIN;
	}
}

static void look_up(struct resolve *resolve)
{
	const struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICSERV};
	struct addrinfo *all = NULL;
	char port[8];

	snprintf(port, sizeof(port), "%u", resolve->port);
	/* This thread's own settings. */
	if (res_init() == 0) {
		_res.retrans = PATIENCE_SEC;
		_res.retry = 1;
	}
	resolve->err = to_errno(getaddrinfo(resolve->name, port, &hints, &all));
	for (const struct addrinfo *one = all; one && resolve->addresses_len < RESOLVE_MAX;
		one = one->ai_next)
		if (one->ai_addrlen <= sizeof(resolve->addresses[0]))
			memcpy(&resolve->addresses[resolve->addresses_len++], one->ai_addr,
				one->ai_addrlen);
	if (all)
		freeaddrinfo(all);
	if (resolve->err == 0 && !resolve->addresses_len)
		resolve->err = -ENOENT;
}

static void *thread_main(void *arg)
{
	struct resolve *resolve = arg;

	look_up(resolve);
	eventfd_write(resolve->ended.fd, 1);
	let_go(resolve);
	return NULL;
}

static void on_end(struct loop_source *source, uint32_t events)
{
	struct resolve *resolve = container_of(source, struct resolve, ended);

	(void)events;
	loop_unwatch(resolve->loop, source);
	resolve->done(resolve->arg, resolve->err, resolve->addresses, resolve->addresses_len);
	let_go(resolve);
}

static int start_thread(struct resolve *resolve)
{
	pthread_attr_t attr;
	pthread_t thread;
	int r = -pthread_attr_init(&attr);

	if (r < 0)
		return r;
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	r = -pthread_create(&thread, &attr, thread_main, resolve);
	pthread_attr_destroy(&attr);
	return r;
}

int resolve_start(struct loop *loop, const char *name, uint16_t port, resolve_done *done, void *arg,
	struct resolve **ret)
{
	struct resolve *resolve = calloc(1, sizeof(*resolve));
	int r;

	if (!resolve)
		return -ENOMEM;
	resolve->loop = loop;
	resolve->done = done;
	resolve->arg = arg;
	resolve->port = port;
	atomic_init(&resolve->users, 2);
	snprintf(resolve->name, sizeof(resolve->name), "%s", name);
	resolve->ended =
		(struct loop_source){.fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK), .ready = on_end};
	r = resolve->ended.fd < 0 ? -errno : loop_watch(loop, &resolve->ended, EPOLLIN);
	if (r == 0) {
		r = start_thread(resolve);
		if (r < 0)
			loop_unwatch(loop, &resolve->ended);
	}
	if (r < 0) {
		close_fd(&resolve->ended.fd);
		free(resolve);
		return r;
	}
	*ret = resolve;
	return 0;
}

void resolve_cancel(struct resolve *resolve)
{
	if (!resolve)
		return;
	loop_unwatch(resolve->loop, &resolve->ended);
	let_go(resolve);
}
