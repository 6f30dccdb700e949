// Whom net=proxy lets the sandbox reach.
#include "runner/net/proxy_rules.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <errno.h>
#include <ifaddrs.h>
#include <stdlib.h>
#include <string.h>

#include "common/scope.h"

struct rule {
	char name[256]; /* in lower case, without "*." */
	bool below; /* it means what is below the name */
	uint16_t port; /* 0: those of HTTP */
};

struct proxy_rules {
	size_t len;
	struct rule rules[];
};

static size_t count_entries(const char *text)
{
	size_t count = 1;

	for (; *text; text++)
		count += *text == ':';
	return count;
}

static int parse_port(const char *text, size_t len, uint16_t *ret)
{
	unsigned port = 0;

	if (!len || len > 5)
		return -EINVAL;
	for (size_t i = 0; i < len; i++) {
		if (!isdigit((unsigned char)text[i]))
			return -EINVAL;
		port = port * 10 + (unsigned)(text[i] - '0');
	}
	if (!port || port > UINT16_MAX)
		return -EINVAL;
	*ret = (uint16_t)port;
	return 0;
}

static int parse_rule(const char *text, size_t len, struct rule *ret)
{
	const char *equals = memchr(text, '=', len);
	size_t name_len = equals ? (size_t)(equals - text) : len;
	int r = equals ? parse_port(equals + 1, len - name_len - 1, &ret->port) : 0;

	if (name_len && *text == '*') {
		text++;
		name_len--;
		ret->below = true;
		if (!name_len || *text != '.')
			return -EINVAL;
	}
	if (name_len && *text == '.') {
		text++;
		name_len--;
		ret->below = true;
	}
	if (name_len && text[name_len - 1] == '.')
		name_len--;
	if (r < 0 || !name_len || name_len >= sizeof(ret->name))
		return -EINVAL;
	for (size_t i = 0; i < name_len; i++)
		ret->name[i] = (char)tolower((unsigned char)text[i]);
	return 0;
}

int proxy_rules_new(const char *text, struct proxy_rules **ret)
{
	size_t count = text ? count_entries(text) : 0;
	struct proxy_rules *rules = calloc(1, sizeof(*rules) + count * sizeof(struct rule));

	if (!rules)
		return -ENOMEM;
	while (rules->len < count) {
		size_t len = strcspn(text, ":");
		int r = parse_rule(text, len, &rules->rules[rules->len++]);

		if (r < 0) {
			proxy_rules_free(rules);
			return r;
		}
		text += len + 1;
	}
	*ret = rules;
	return 0;
}

void proxy_rules_free(struct proxy_rules *rules)
{
	free(rules);
}

/* Ports of other protocols, which a request could be made to speak. */
static bool is_blocked(uint16_t port)
{
	static const uint16_t ports[] = {1, 7, 9, 11, 13, 15, 17, 19, 20, 21, 22, 23, 25, 37, 42,
		43, 53, 69, 77, 79, 87, 95, 101, 102, 103, 104, 109, 110, 111, 113, 115, 117, 119,
		123, 135, 137, 139, 143, 161, 179, 389, 427, 465, 512, 513, 514, 515, 526, 530, 531,
		532, 540, 548, 554, 556, 563, 587, 601, 636, 989, 990, 993, 995, 1719, 1720, 1723,
		2049, 3659, 4045, 4190, 5060, 5061, 6000, 6566, 6665, 6666, 6667, 6668, 6669, 6679,
		6697, 10080};

	for (size_t i = 0; i < ARRAY_LEN(ports); i++)
		if (ports[i] == port)
			return true;
	return false;
}

static bool matches(const struct rule *rule, const char *host)
{
	size_t host_len = strlen(host), len = strlen(rule->name);

	if (!rule->below)
		return !strcmp(host, rule->name);
	return host_len > len + 1 && host[host_len - len - 1] == '.' &&
	       !strcmp(host + host_len - len, rule->name);
}

enum proxy_rule proxy_rules_host(const struct proxy_rules *rules, const char *host, uint16_t port)
{
	enum proxy_rule found = PROXY_REFUSED;

	for (size_t i = 0; i < rules->len; i++) {
		const struct rule *rule = &rules->rules[i];

		if (!matches(rule, host))
			continue;
		if (rule->port && rule->port == port)
			return PROXY_ANY;
		if (!rule->port && !is_blocked(port))
			found = PROXY_HTTP;
	}
	return found;
}

bool proxy_rules_names(const struct proxy_rules *rules, const char *host)
{
	for (size_t i = 0; i < rules->len; i++)
		if (!rules->rules[i].below && !strcmp(rules->rules[i].name, host))
			return true;
	return false;
}

static bool in_v4(uint32_t address, const char *net, int bits)
{
	return (address ^ ntohl(inet_addr(net))) >> (32 - bits) == 0;
}

static bool is_special_v4(uint32_t address)
{
	static const struct {
		const char *net;
		int bits;
	} nets[] = {{"0.0.0.0", 8}, {"10.0.0.0", 8}, {"100.64.0.0", 10}, {"127.0.0.0", 8},
		{"169.254.0.0", 16}, {"172.16.0.0", 12}, {"192.0.0.0", 24}, {"192.0.2.0", 24},
		{"192.88.99.0", 24}, {"192.168.0.0", 16}, {"198.18.0.0", 15}, {"198.51.100.0", 24},
		{"203.0.113.0", 24}, {"224.0.0.0", 4}, {"240.0.0.0", 4}};

	for (size_t i = 0; i < ARRAY_LEN(nets); i++)
		if (in_v4(address, nets[i].net, nets[i].bits))
			return true;
	return false;
}

/* An IPv4 address that stands in an IPv6 one: mapped, translated (NAT64), or 6to4. */
static bool inner_v4(const struct in6_addr *a, uint32_t *ret)
{
	static const uint8_t nat64[12] = {0x00, 0x64, 0xff, 0x9b};
	const uint8_t *at = IN6_IS_ADDR_V4MAPPED(a) || IN6_IS_ADDR_V4COMPAT(a) ||
					    !memcmp(a->s6_addr, nat64, sizeof(nat64))
				    ? a->s6_addr + 12
			    : a->s6_addr[0] == 0x20 && a->s6_addr[1] == 0x02 ? a->s6_addr + 2
									     : NULL;

	if (at)
		*ret = (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3];
	return at;
}

bool proxy_rules_is_special(const struct sockaddr *address)
{
	const struct sockaddr_in *v4 = (const struct sockaddr_in *)address;
	const struct sockaddr_in6 *v6 = (const struct sockaddr_in6 *)address;
	uint32_t inner;

	if (address->sa_family == AF_INET)
		return is_special_v4(ntohl(v4->sin_addr.s_addr));
	if (address->sa_family != AF_INET6)
		return true;
	if (inner_v4(&v6->sin6_addr, &inner))
		return is_special_v4(inner);
	/* Only 2000::/3 is given out; Teredo and the documentation's are in it. */
	const uint8_t *a = v6->sin6_addr.s6_addr;
	return a[0] >> 5 != 1 || (a[0] == 0x20 && a[1] == 0x01 && (a[2] == 0 || a[2] == 0x0d));
}

static bool same_address(const struct sockaddr *one, const struct sockaddr *other)
{
	if (one->sa_family != other->sa_family)
		return false;
	if (one->sa_family == AF_INET)
		return ((const struct sockaddr_in *)one)->sin_addr.s_addr ==
		       ((const struct sockaddr_in *)other)->sin_addr.s_addr;
	return one->sa_family == AF_INET6 &&
	       IN6_ARE_ADDR_EQUAL(&((const struct sockaddr_in6 *)one)->sin6_addr,
		       &((const struct sockaddr_in6 *)other)->sin6_addr);
}

/* What listens on an address of this machine may trust that only the machine can reach it. */
static bool is_own(const struct sockaddr *address)
{
	struct ifaddrs *all;
	bool own = false;

	if (getifaddrs(&all) < 0)
		return true;
	for (const struct ifaddrs *one = all; one && !own; one = one->ifa_next)
		own = one->ifa_addr && same_address(one->ifa_addr, address);
	freeifaddrs(all);
	return own;
}

bool proxy_rules_address(const struct proxy_rules *rules, const struct sockaddr *address)
{
	char text[INET6_ADDRSTRLEN] = "";

	if (address->sa_family == AF_INET)
		inet_ntop(AF_INET, &((const struct sockaddr_in *)address)->sin_addr, text,
			sizeof(text));
	else if (address->sa_family == AF_INET6)
		inet_ntop(AF_INET6, &((const struct sockaddr_in6 *)address)->sin6_addr, text,
			sizeof(text));
	if (proxy_rules_names(rules, text))
		return true;
	if ((!strcmp(text, "127.0.0.1") || !strcmp(text, "::1")) &&
		proxy_rules_names(rules, "localhost"))
		return true;
	return !proxy_rules_is_special(address) && !is_own(address);
}
