// Servers in the sandbox, reachable from the host's loopback: which are open, and the way in. The
// listeners are the leader's to open and close, what comes through them is the relay thread's.
#include "runner/net/ports.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/random.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/scope.h"
#include "runner/peer.h"
#include "runner/net/port_scan.h"
#include "runner/net/relay.h"
#include "runner/sandbox.h"

#define LOOK_USEC USEC_PER_SEC /* how often it is seen whether a server still listens */
#define GONE_USEC (2 * USEC_PER_SEC) /* a server that is started again keeps its URL */
#define REST_USEC (100 * USEC_PER_MSEC)
#define DIGITS 5 /* of a port that is chosen here, so that a URL's length is known before */
#define TRIES 64
#define SPARING 10 /* looking takes at most one part in so many of the time */

/* Where connections come in; the thread's own once it is posted. */
struct door {
	struct loop_source listener; /* its descriptor is owned */
	struct relay *relay; /* borrowed */
	int peer_fd; /* borrowed; -1: everybody may come in */
	uid_t user;
	struct port_found to;
	struct loop_timer rest;
	bool resting;
	struct relay_note opening, closing;
};

struct port {
	struct list link; /* in ports.open */
	uint16_t port, host_port;
	char url[40];
	int listener_fd; /* borrowed from the door */
	struct door *door; /* closed by a note */
	struct port_found to;
	uint64_t seen_usec; /* when it last listened */
};

struct ports {
	struct ports_config config;
	struct port_scan *scan; /* owned */
	struct relay *relay; /* owned; NULL: nothing was open yet */
	struct list open;
	struct buf found; /* of struct port_found: the last scan */
	size_t found_len;
	uint64_t fresh_until_usec; /* of the last scan */
	struct loop_timer look; /* while something is open */
};

/* The thread */

static void on_rest(struct loop_timer *timer)
{
	struct door *door = container_of(timer, struct door, rest);

	door->resting = loop_watch(relay_loop(door->relay), &door->listener, EPOLLIN) < 0;
}

/* Without descriptors the listener would stay ready and keep the thread busy. */
static void rest(struct door *door)
{
	loop_unwatch(relay_loop(door->relay), &door->listener);
	door->resting = true;
	door->rest.fire = on_rest;
	loop_timer_set(relay_loop(door->relay), &door->rest, clock_monotonic_usec() + REST_USEC);
}

static int connect_inside(const struct door *door)
{
	auto_close int fd = socket(
		door->to.address.any.sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	if (fd < 0)
		return -errno;
	if (connect(fd, &door->to.address.any, door->to.address_len) < 0 && errno != EINPROGRESS)
		return -errno;
	return take_fd(&fd);
}

static void refuse(int fd)
{
	const struct linger reset = {.l_onoff = 1};

	setsockopt(fd, SOL_SOCKET, SO_LINGER, &reset, sizeof(reset));
	close(fd);
}

/* On this machine's loopback other users could come in, too. */
static bool may_enter(const struct door *door, int fd)
{
	uid_t uid;

	if (door->peer_fd < 0)
		return true;
	int r = peer_uid(door->peer_fd, fd, &uid);
	if (r == 0 && uid != door->user && uid != 0)
		relay_report(door->relay, "port %u: a connection of user %u was refused",
			door->to.port, uid);
	return r == 0 && (uid == door->user || uid == 0);
}

static void on_connection(struct loop_source *source, uint32_t events)
{
	struct door *door = container_of(source, struct door, listener);
	int fd = relay_accept(door->relay, source->fd);
	int inner;

	(void)events;
	if (fd == -EMFILE)
		rest(door);
	if (fd < 0)
		return;
	inner = may_enter(door, fd) ? connect_inside(door) : -EPERM;
	if (inner < 0)
		refuse(fd);
	else
		relay_join(door->relay, fd, inner, NULL, UINT64_MAX, door);
}

static void open_door(struct relay *relay, struct relay_note *note)
{
	struct door *door = container_of(note, struct door, opening);

	door->relay = relay;
	if (loop_watch(relay_loop(relay), &door->listener, EPOLLIN) < 0)
		rest(door);
}

static void close_door(struct relay *relay, struct relay_note *note)
{
	struct door *door = container_of(note, struct door, closing);

	relay_end_of(relay, door);
	if (door->resting)
		loop_timer_cancel(relay_loop(relay), &door->rest);
	else
		loop_unwatch(relay_loop(relay), &door->listener);
	close(door->listener.fd);
	free(door);
}

/* A server that now listens at another address. */
struct aim {
	struct relay_note note;
	struct door *door;
	struct port_found to;
};

static void aim_door(struct relay *relay, struct relay_note *note)
{
	struct aim *aim = container_of(note, struct aim, note);

	(void)relay;
	aim->door->to = aim->to;
	free(aim);
}

/* The leader */

static struct port *find_open(const struct ports *ports, uint16_t number)
{
	struct list *item;

	list_for_each(item, &ports->open)
	{
		struct port *port = list_entry(item, struct port, link);

		if (port->port == number)
			return port;
	}
	return NULL;
}

static int compare_ports(const void *one, const void *other)
{
	const struct port_found *a = one, *b = other;

	return a->port < b->port ? -1 : a->port > b->port;
}

static const struct port_found *find_found(const struct ports *ports, uint16_t number)
{
	const struct port_found key = {.port = number};

	if (ports->config.is_own(ports->config.arg, number))
		return NULL;
	return ports->found_len ? bsearch(&key, ports->found.data, ports->found_len, sizeof(key),
					  compare_ports)
				: NULL;
}

static void end_port(struct ports *ports, struct port *port, const char *why)
{
	/* From now on connections are refused, whenever the thread comes to it. */
	shutdown(port->listener_fd, SHUT_RDWR);
	port->door->closing.act = close_door;
	relay_post(ports->relay, &port->door->closing);
	if (ports->config.log)
		ports->config.log(ports->config.arg, "port %u closed%s", port->port, why);
	list_remove(&port->link);
	free(port);
}

static void aim(struct ports *ports, struct port *port, const struct port_found *found)
{
	struct aim *aim;

	if (!memcmp(&port->to.address, &found->address, found->address_len))
		return;
	aim = calloc(1, sizeof(*aim));
	if (!aim)
		return;
	port->to = *found;
	*aim = (struct aim){.note.act = aim_door, .door = port->door, .to = *found};
	relay_post(ports->relay, &aim->note);
}

static int look(struct ports *ports)
{
	uint64_t start = clock_usec(CLOCK_THREAD_CPUTIME_ID), now;
	struct list *item, *spare;
	int r = port_scan_read(ports->scan, &ports->found, &ports->found_len);

	/* By its own time: what others did meanwhile makes nothing older. */
	now = clock_monotonic_usec();
	ports->fresh_until_usec = now + SPARING * (clock_usec(CLOCK_THREAD_CPUTIME_ID) - start);
	list_for_each_safe(item, spare, &ports->open)
	{
		struct port *port = list_entry(item, struct port, link);
		const struct port_found *found = find_found(ports, port->port);

		if (found) {
			port->seen_usec = now;
			aim(ports, port, found);
		} else if (now - port->seen_usec > GONE_USEC) {
			end_port(ports, port, ": nothing listens there any more");
		}
	}
	return r;
}

/* Looks for one. A server that was seen a moment ago is not looked for again: `ls -l` asks for each of
 * thousands, and a scan reads all of them. One that was not is, as it may have started since. -errno;
 * *ret is NULL where nothing listens. */
static int look_for(struct ports *ports, uint16_t number, const struct port_found **ret)
{
	int r;

	*ret = clock_monotonic_usec() < ports->fresh_until_usec ? find_found(ports, number) : NULL;
	if (*ret)
		return 0;
	r = look(ports);
	*ret = r < 0 ? NULL : find_found(ports, number);
	return r;
}

static void on_look(struct loop_timer *timer)
{
	struct ports *ports = container_of(timer, struct ports, look);

	look(ports);
	if (!list_empty(&ports->open))
		loop_timer_set(ports->config.loop, timer, clock_monotonic_usec() + LOOK_USEC);
}

static void on_report(void *arg, const char *text)
{
	struct ports *ports = arg;

	if (ports->config.log)
		ports->config.log(ports->config.arg, "ports: %s", text);
}

static int enter(void *arg)
{
	return sandbox_enter_net(((struct ports *)arg)->config.sandbox);
}

static int need_relay(struct ports *ports, struct fail *f)
{
	const struct relay_config config = {
		.loop = ports->config.loop, .enter = enter, .reported = on_report, .arg = ports};
	int r = ports->relay ? 0 : relay_new(&config, &ports->relay);

	return r < 0 ? fail_errno(f, r, "entering the sandbox's network") : 0;
}

static int listen_at(uint16_t host_port)
{
	const struct sockaddr_in address = {.sin_family = AF_INET,
		.sin_port = htons(host_port),
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	const int yes = 1;
	auto_close int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	/* One that was just closed does not keep its port. */
	if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes)) < 0 ||
		bind(fd, (const struct sockaddr *)&address, sizeof(address)) < 0 ||
		listen(fd, 128) < 0)
		return -errno;
	return take_fd(&fd);
}

/* One that is free, of DIGITS digits. */
static int listen_anywhere(uint16_t *ret_port)
{
	uint16_t number;
	int fd = -EADDRINUSE;

	for (int i = 0; i < TRIES && fd == -EADDRINUSE; i++) {
		if (getrandom(&number, sizeof(number), 0) != sizeof(number))
			return -errno;
		*ret_port = (uint16_t)(20000 + number % 40000);
		fd = listen_at(*ret_port);
	}
	return fd;
}

static int explain(struct fail *f, int err, uint16_t host_port)
{
	if (err == -EADDRINUSE)
		return fail_set(f, err,
			"port %u of the host is in use; write another, or 0 for any", host_port);
	if (err == -EACCES)
		return fail_set(f, err,
			"port %u of the host is kept for root (sysctl "
			"net.ipv4.ip_unprivileged_port_start)",
			host_port);
	return fail_errno(f, err, "listening on port %u of the host's loopback", host_port);
}

static int make_port(
	struct ports *ports, const struct port_found *found, int fd, uint16_t host_port)
{
	struct port *port = calloc(1, sizeof(*port));
	struct door *door = calloc(1, sizeof(*door));

	if (!port || !door) {
		free(port);
		free(door);
		return -ENOMEM;
	}
	*door = (struct door){.listener = {.fd = fd, .ready = on_connection},
		.peer_fd = ports->config.peer_fd,
		.user = ports->config.user,
		.to = *found,
		.opening.act = open_door};
	*port = (struct port){.port = found->port,
		.host_port = host_port,
		.listener_fd = fd,
		.door = door,
		.to = *found,
		.seen_usec = clock_monotonic_usec()};
	snprintf(port->url, sizeof(port->url), "http://127.0.0.1:%u/", host_port);
	list_add_tail(&ports->open, &port->link);
	relay_post(ports->relay, &door->opening);
	loop_timer_set(ports->config.loop, &ports->look, clock_monotonic_usec() + LOOK_USEC);
	if (ports->config.log)
		ports->config.log(ports->config.arg, "port %u opened at %s", port->port, port->url);
	return 0;
}

static int open_port(
	struct ports *ports, const struct port_found *found, uint16_t host_port, struct fail *f)
{
	int r = need_relay(ports, f);

	if (r < 0)
		return r;
	auto_close int fd = host_port ? listen_at(host_port) : listen_anywhere(&host_port);
	if (fd < 0)
		return explain(f, fd, host_port);
	r = make_port(ports, found, fd, host_port);
	if (r == 0)
		take_fd(&fd);
	return r;
}

static int find_server(struct ports *ports, uint16_t number, struct port_found *ret, struct fail *f)
{
	const struct port_found *found;
	int r = look_for(ports, number, &found);

	if (r < 0)
		return fail_errno(f, r, "reading the sandbox's /proc/net/tcp");
	if (!found)
		return fail_set(f, -ENOENT, "nothing in the sandbox listens on port %u", number);
	*ret = *found;
	return 0;
}

int ports_bind(struct ports *ports, uint16_t number, uint16_t host_port, struct fail *f)
{
	struct port *old = find_open(ports, number);
	struct port_found found;
	int r;

	if (old && old->host_port == host_port)
		return 0;
	r = find_server(ports, number, &found, f);
	if (r == 0)
		r = open_port(ports, &found, host_port, f);
	/* Looking may have closed it. */
	old = r == 0 ? find_open(ports, number) : NULL;
	if (old && old->link.next != &ports->open)
		end_port(ports, old, ": it moved");
	return r;
}

int ports_url(struct ports *ports, uint16_t number, const char **ret, struct fail *f)
{
	const struct port *port = find_open(ports, number);
	int r = port ? 0 : ports_bind(ports, number, 0, f);

	if (r < 0)
		return r;
	*ret = find_open(ports, number)->url;
	return 0;
}

size_t ports_url_len(const struct ports *ports, uint16_t number)
{
	const struct port *port = find_open(ports, number);

	return port ? strlen(port->url) : strlen("http://127.0.0.1:/") + DIGITS;
}

void ports_close(struct ports *ports, uint16_t number)
{
	struct port *port = find_open(ports, number);

	if (port)
		end_port(ports, port, "");
}

bool ports_listens(struct ports *ports, uint16_t number)
{
	const struct port_found *found;

	return number && look_for(ports, number, &found) == 0 && found;
}

bool ports_exists(struct ports *ports, uint16_t number)
{
	return find_found(ports, number) || ports_listens(ports, number);
}

int ports_each(struct ports *ports, int (*each)(void *arg, uint16_t port), void *arg)
{
	int r = look(ports);

	for (size_t i = 0; r == 0 && i < ports->found_len; i++) {
		uint16_t number = ((const struct port_found *)ports->found.data)[i].port;

		if (!ports->config.is_own(ports->config.arg, number))
			r = each(arg, number);
	}
	return r;
}

void ports_json(const struct ports *ports, struct json_out *j, const char *key)
{
	struct list *item;

	json_out_array(j, key);
	list_for_each(item, &ports->open)
	{
		const struct port *port = list_entry(item, struct port, link);

		json_out_object(j, NULL);
		json_out_uint(j, "port", port->port);
		json_out_string(j, "url", port->url);
		json_out_object_end(j);
	}
	json_out_array_end(j);
}

int ports_new(const struct ports_config *config, struct ports **ret, struct fail *f)
{
	struct ports *ports = calloc(1, sizeof(*ports));
	int r;

	if (!ports)
		return -ENOMEM;
	ports->config = *config;
	ports->look.fire = on_look;
	list_init(&ports->open);
	r = port_scan_new(config->sandbox, config->shares_network, &ports->scan);
	if (r < 0) {
		ports_free(ports);
		return fail_errno(f, r, "opening the sandbox's /proc/net/tcp");
	}
	*ret = ports;
	return 0;
}

void ports_sandbox_died(struct ports *ports)
{
	while (!list_empty(&ports->open))
		end_port(ports, list_entry(ports->open.next, struct port, link),
			": the sandbox has died");
}

void ports_free(struct ports *ports)
{
	if (!ports)
		return;
	ports->config.log = NULL;
	ports_sandbox_died(ports);
	relay_free(ports->relay);
	loop_timer_cancel(ports->config.loop, &ports->look);
	port_scan_free(ports->scan);
	buf_clear(&ports->found);
	free(ports);
}
