// Which TCP ports the sandbox listens on, from the kernel's own tables of its network namespace.
#pragma once

#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

#include "common/buf.h"
#include "runner/sandbox.h"

/* A port with the address at which it is reached from within. */
struct port_found {
	uint16_t port;
	union {
		struct sockaddr any;
		struct sockaddr_in v4;
		struct sockaddr_in6 v6;
	} address;
	socklen_t address_len;
	unsigned rank; /* of several addresses with one port, that of the lowest rank is kept */
	unsigned long inode; /* of the listening socket */
};

struct port_scan;

/* owned_only: the network is the host's, so only sockets count that processes of the sandbox have
 * open. 0 or -errno. */
int port_scan_new(const struct sandbox *s, bool owned_only, struct port_scan **ret);
void port_scan_free(struct port_scan *scan);

/* The ports now, in order: ret holds struct port_found, *ret_len of them; at most a few thousand.
 * Does not block. 0 or -errno. */
int port_scan_read(struct port_scan *scan, struct buf *ret, size_t *ret_len);

/* One line of /proc/net/tcp or tcp6 (proc_net_tcp.rst). 1: a listener; 0: not one (headings, too);
 * -ENODATA: the first that is connected, behind which no listener comes. */
int port_scan_parse(const char *line, bool is_v6, struct port_found *ret);
