// Whom net=proxy lets the sandbox reach: the hosts of net_allow, at which ports and addresses.
#pragma once

#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

struct proxy_rules;

/* From net_allow: host names or IPv4 addresses separated by colons; "*.NAME" or ".NAME" is all below
 * NAME; "HOST=PORT" allows that port for any protocol. NULL: no host. 0, -EINVAL or -ENOMEM. */
int proxy_rules_new(const char *text, struct proxy_rules **ret);
void proxy_rules_free(struct proxy_rules *rules);

enum proxy_rule {
	PROXY_REFUSED,
	PROXY_HTTP, /* HTTP and HTTPS only */
	PROXY_ANY, /* any protocol: the port was named */
};

/* What a host, in lower case and without a dot at its end, may be asked for. An entry without a port
 * means all of them but those that browsers block, too, as other protocols' own (Fetch standard,
 * "port blocking"). */
enum proxy_rule proxy_rules_host(const struct proxy_rules *rules, const char *host, uint16_t port);

/* Whether an address that a name stands for may be connected to: one of the public internet that is
 * not this machine's, or one that net_allow names itself ("localhost" names 127.0.0.1 and ::1). */
bool proxy_rules_address(const struct proxy_rules *rules, const struct sockaddr *address);

/* Whether net_allow has this entry, as it stands. */
bool proxy_rules_names(const struct proxy_rules *rules, const char *host);

/* Whether the address is none of the public internet: loopback, private, link-local, shared,
 * multicast, reserved, also as an IPv4 address in an IPv6 one (RFC 6890). */
bool proxy_rules_is_special(const struct sockaddr *address);
