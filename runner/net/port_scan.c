// Which TCP ports the sandbox listens on.
#include "runner/net/port_scan.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/scope.h"

#define TABLE_MAX (512 * 1024) /* bytes that are looked at; some 3,000 lines */
#define BLOCK (16 * 1024)
#define LINKS_MAX 8000 /* descriptors of processes that are looked at, with net=host */
#define STATE_LISTEN 0x0a

struct port_scan {
	int table_fds[2]; /* owned; of TCP over IPv4 and IPv6, the latter -1 where there is none */
	int proc_fd; /* borrowed; the sandbox's /proc */
	bool owned_only;
};

int port_scan_new(const struct sandbox *s, bool owned_only, struct port_scan **ret)
{
	struct port_scan *scan = calloc(1, sizeof(*scan));

	if (!scan)
		return -ENOMEM;
	scan->proc_fd = sandbox_proc_fd(s);
	scan->owned_only = owned_only;
	scan->table_fds[0] = openat(scan->proc_fd, "1/net/tcp", O_RDONLY | O_CLOEXEC);
	scan->table_fds[1] = openat(scan->proc_fd, "1/net/tcp6", O_RDONLY | O_CLOEXEC);
	if (scan->table_fds[0] < 0) {
		int r = -errno;

		port_scan_free(scan);
		return r;
	}
	*ret = scan;
	return 0;
}

void port_scan_free(struct port_scan *scan)
{
	if (!scan)
		return;
	close_fd(&scan->table_fds[0]);
	close_fd(&scan->table_fds[1]);
	free(scan);
}

/* Addresses stand as 32-bit words of the machine's byte order in hexadecimal. */
static bool parse_words(const char *text, uint32_t *words, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (sscanf(text + 8 * i, "%8" SCNx32, &words[i]) != 1)
			return false;
	return true;
}

static void set_v4(struct port_found *ret, uint32_t word)
{
	bool any = word == htonl(INADDR_ANY);

	ret->rank = any || word == htonl(INADDR_LOOPBACK) ? 0 : 3;
	ret->address_len = sizeof(ret->address.v4);
	ret->address.v4 = (struct sockaddr_in){.sin_family = AF_INET,
		.sin_port = htons(ret->port),
		.sin_addr.s_addr = any ? htonl(INADDR_LOOPBACK) : word};
}

static void set_v6(struct port_found *ret, const uint32_t words[4])
{
	struct in6_addr address;

	memcpy(&address, words, sizeof(address));
	if (IN6_IS_ADDR_V4MAPPED(&address)) {
		set_v4(ret, words[3]);
		return;
	}
	bool any = IN6_IS_ADDR_UNSPECIFIED(&address);
	ret->rank = any ? 1 : IN6_IS_ADDR_LOOPBACK(&address) ? 2 : 4;
	ret->address_len = sizeof(ret->address.v6);
	ret->address.v6 = (struct sockaddr_in6){.sin6_family = AF_INET6,
		.sin6_port = htons(ret->port),
		.sin6_addr = any ? in6addr_loopback : address};
}

int port_scan_parse(const char *line, bool is_v6, struct port_found *ret)
{
	unsigned port, state;
	uint32_t words[4];
	char address[33];

	*ret = (struct port_found){0};
	if (sscanf(line,
		    " %*u: %32[0-9A-F]:%4x %*32[0-9A-F]:%*4x %2x %*x:%*x %*x:%*x %*x %*u %*u %lu",
		    address, &port, &state, &ret->inode) != 4)
		return 0;
	if (state != STATE_LISTEN)
		return -ENODATA;
	if (!port || strlen(address) != (is_v6 ? 32 : 8) ||
		!parse_words(address, words, is_v6 ? 4 : 1))
		return 0;
	ret->port = (uint16_t)port;
	if (is_v6)
		set_v6(ret, words);
	else
		set_v4(ret, words[0]);
	return 1;
}

/* The listeners of one table: they come first in it. */
static int read_table(int fd, bool is_v6, struct buf *to)
{
	struct buf text auto_buf = {0};
	struct port_found found;
	bool more = lseek(fd, 0, SEEK_SET) == 0;
	size_t at = 0;

	while (more && text.len < TABLE_MAX) {
		if (buf_reserve(&text, BLOCK) < 0)
			return -ENOMEM;
		ssize_t n = read(fd, text.data + text.len, BLOCK);
		if (n < 0)
			return -errno;
		text.len += (size_t)n;
		text.data[text.len] = '\0';
		more = n > 0;
		for (char *end; more && (end = strchr(text.data + at, '\n'));
			at = (size_t)(end + 1 - text.data)) {
			int r = port_scan_parse(text.data + at, is_v6, &found);
			if (r > 0 && buf_add(to, &found, sizeof(found)) < 0)
				return -ENOMEM;
			more = r >= 0;
		}
	}
	return 0;
}

static int by_port(const void *one, const void *other)
{
	const struct port_found *a = one, *b = other;

	if (a->port != b->port)
		return a->port < b->port ? -1 : 1;
	return a->rank < b->rank ? -1 : a->rank > b->rank;
}

static int by_inode(const void *one, const void *other)
{
	const struct port_found *a = one, *b = other;

	return a->inode < b->inode ? -1 : a->inode > b->inode;
}

/* Marks what one process has open. The budget bounds what a scan may cost. */
static void mark_of_process(int proc_fd, const char *pid, struct port_found *all, size_t len,
	bool *owned, unsigned *budget)
{
	char path[32], text[64];
	struct port_found key = {0}, *found;
	struct dirent *d;

	snprintf(path, sizeof(path), "%.10s/fd", pid);
	int fd = openat(proc_fd, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);

	if (!dir) {
		close_fd(&fd);
		return;
	}
	while (*budget && (d = readdir(dir))) {
		ssize_t n = readlinkat(fd, d->d_name, text, sizeof(text) - 1);

		--*budget;
		text[n < 0 ? 0 : n] = '\0';
		if (sscanf(text, "socket:[%lu]", &key.inode) != 1)
			continue;
		found = bsearch(&key, all, len, sizeof(*all), by_inode);
		if (found)
			owned[found - all] = true;
	}
	closedir(dir);
}

/* Leaves those of all that a process of the sandbox has open. */
static int keep_owned(int proc_fd, struct port_found *all, size_t *len)
{
	bool *owned auto_free = calloc(*len + 1, sizeof(*owned));
	int fd = openat(proc_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	unsigned budget = LINKS_MAX;
	struct dirent *d;
	size_t kept = 0;

	if (!dir)
		close_fd(&fd);
	if (!owned && dir)
		closedir(dir);
	if (!owned || !dir)
		return -ENOMEM;
	qsort(all, *len, sizeof(*all), by_inode);
	while (budget && (d = readdir(dir)))
		if (d->d_name[0] >= '1' && d->d_name[0] <= '9')
			mark_of_process(proc_fd, d->d_name, all, *len, owned, &budget);
	closedir(dir);
	for (size_t i = 0; i < *len; i++)
		if (owned[i])
			all[kept++] = all[i];
	*len = kept;
	return 0;
}

int port_scan_read(struct port_scan *scan, struct buf *ret, size_t *ret_len)
{
	struct port_found *all;
	size_t len, kept = 0;
	int r = 0;

	buf_reset(ret);
	for (int i = 0; i < 2 && r == 0; i++)
		if (scan->table_fds[i] >= 0)
			r = read_table(scan->table_fds[i], i, ret);
	if (r < 0)
		return r;
	all = (struct port_found *)ret->data;
	len = ret->len / sizeof(*all);
	if (len && scan->owned_only)
		r = keep_owned(scan->proc_fd, all, &len);
	if (len)
		qsort(all, len, sizeof(*all), by_port);
	for (size_t i = 0; i < len; i++)
		if (!kept || all[kept - 1].port != all[i].port)
			all[kept++] = all[i];
	*ret_len = kept;
	return r;
}
