// 9P2000.L as it goes over the wire. The protocol: diod's protocol.md and the kernel's include/net/9p/9p.h.
#include "tests/lib/p9_wire.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define NO_FID UINT32_MAX
#define NAMES_MAX 16

static int sock;

unsigned char p9_msg[P9_MSIZE + 64];
size_t p9_at, p9_len;

void p9_die(const char *what)
{
	fprintf(stderr, "p9_client: %s\n", what);
	exit(2);
}

void p9_put(uint64_t value, int bytes)
{
	for (int i = 0; i < bytes; i++)
		p9_msg[p9_len++] = (unsigned char)(value >> (8 * i));
}

void p9_put_text(const char *text)
{
	p9_put(strlen(text), 2);
	for (; *text; text++)
		p9_msg[p9_len++] = (unsigned char)(*text == '%'	  ? '/'
						   : *text == '^' ? '\0'
								  : *text);
}

uint64_t p9_get(int bytes)
{
	uint64_t value = 0;

	for (int i = 0; i < bytes; i++)
		value |= (uint64_t)p9_msg[p9_at++] << (8 * i);
	return value;
}

void p9_begin(int type, uint32_t fid)
{
	p9_len = 4;
	p9_put((uint64_t)type, 1);
	p9_put(type == TVERSION ? 0xffff : 1, 2);
	if (type != TVERSION)
		p9_put(fid, 4);
}

static void read_all(unsigned char *data, size_t size)
{
	while (size) {
		ssize_t n = read(sock, data, size);

		if (n <= 0)
			p9_die("the server has closed the connection");
		data += n;
		size -= (size_t)n;
	}
}

static void send_request(void)
{
	size_t size = p9_len, sent = 0;

	p9_len = 0;
	p9_put(size, 4);
	while (sent < size) {
		ssize_t n = write(sock, p9_msg + sent, size - sent);

		if (n <= 0)
			p9_die("cannot send");
		sent += (size_t)n;
	}
}

int p9_call(void)
{
	int type;

	send_request();
	read_all(p9_msg, 4);
	p9_at = 0;
	p9_len = p9_get(4);
	if (p9_len < 7 || p9_len > sizeof(p9_msg))
		p9_die("an answer of no sensible size");
	read_all(p9_msg + 4, p9_len - 4);
	type = (int)p9_get(1);
	p9_get(2);
	return type == RLERROR ? -(int)p9_get(4) : 0;
}

/* How many of the names, at most NAMES_MAX, led on, or -errno. */
static int walk_part(uint32_t fid, uint32_t newfid, char **names, unsigned count)
{
	int r;

	p9_begin(TWALK, fid);
	p9_put(newfid, 4);
	p9_put(count, 2);
	for (unsigned i = 0; i < count; i++)
		p9_put_text(names[i]);
	r = p9_call();
	return r < 0 ? r : (int)p9_get(2);
}

/* As far as it goes, and then only what stands in the way tells why. */
static int walk_names(uint32_t fid, uint32_t newfid, char **names, unsigned count)
{
	int done = walk_part(fid, newfid, names, count);

	if (done < 0 || done == (int)count)
		return done;
	done = walk_part(fid, newfid, names, (unsigned)done);
	if (done >= 0)
		done = walk_part(newfid, newfid, names + done, 1);
	return done < 0 ? done : -ENOENT;
}

int p9_walk(uint32_t newfid, const char *path, const char **parent)
{
	static char text[65536];
	static char *names[sizeof(text) / 2];
	char *rest = text, *name;
	unsigned count = 0, done = 0;
	int r;

	snprintf(text, sizeof(text), "%s", path);
	while ((name = strsep(&rest, "/")))
		if (*name)
			names[count++] = name;
	if (parent)
		*parent = count ? path + (names[--count] - text) : "";
	do {
		unsigned part = count - done < NAMES_MAX ? count - done : NAMES_MAX;

		r = walk_names(done ? newfid : ROOT, newfid, names + done, part);
		done += part;
	} while (r >= 0 && done < count);
	return r < 0 ? r : 0;
}

int p9_clunk(uint32_t fid)
{
	p9_begin(TCLUNK, fid);
	return p9_call();
}

int p9_lopen(uint32_t fid, int flags)
{
	p9_begin(TLOPEN, fid);
	p9_put((uint64_t)flags, 4);
	return p9_call();
}

void p9_attach(int port, const char *name)
{
	struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};

	to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	sock = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (sock < 0 || connect(sock, (struct sockaddr *)&to, sizeof(to)) < 0)
		p9_die("cannot connect");
	p9_begin(TVERSION, 0);
	p9_put(P9_MSIZE, 4);
	p9_put_text("9P2000.L");
	if (p9_call() < 0)
		p9_die("the server does not know the protocol");
	p9_begin(TATTACH, ROOT);
	p9_put(NO_FID, 4);
	p9_put_text("");
	p9_put_text(name);
	p9_put(getuid(), 4);
	if (p9_call() < 0)
		p9_die("the server refuses the export");
}
