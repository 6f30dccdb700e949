// ONC RPC with AUTH_SYS as it goes over the wire, for NFS version 3 (RFC 1813 and 5531).
#include "tests/lib/nfs3_wire.h"

#include <arpa/inet.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define LAST_FRAGMENT 0x80000000U

unsigned char nfs3_msg[NFS3_MESSAGE_MAX];
size_t nfs3_at, nfs3_len;

void nfs3_die(const char *what)
{
	fprintf(stderr, "nfs3_calls: %s\n", what);
	exit(2);
}

void nfs3_put(uint32_t value)
{
	value = htonl(value);
	memcpy(nfs3_msg + nfs3_len, &value, 4);
	nfs3_len += 4;
}

void nfs3_put64(uint64_t value)
{
	nfs3_put((uint32_t)(value >> 32));
	nfs3_put((uint32_t)value);
}

void nfs3_put_opaque(const void *data, size_t size)
{
	if (nfs3_len + size + 8 > sizeof(nfs3_msg))
		nfs3_die("more than a request can hold");
	nfs3_put((uint32_t)size);
	memcpy(nfs3_msg + nfs3_len, data, size);
	memset(nfs3_msg + nfs3_len + size, 0, 4);
	nfs3_len += (size + 3) & ~(size_t)3;
}

void nfs3_put_name(const char *text)
{
	size_t start = nfs3_len + 4;

	nfs3_put_opaque(text, strlen(text));
	for (size_t i = start; i < start + strlen(text); i++)
		if (nfs3_msg[i] == '^')
			nfs3_msg[i] = '\0';
}

uint32_t nfs3_get(void)
{
	uint32_t value = 0;

	if (nfs3_at + 4 > nfs3_len)
		nfs3_die("an answer that is cut off");
	memcpy(&value, nfs3_msg + nfs3_at, 4);
	nfs3_at += 4;
	return ntohl(value);
}

uint64_t nfs3_get64(void)
{
	uint64_t high = nfs3_get();

	return high << 32 | nfs3_get();
}

const unsigned char *nfs3_get_opaque(uint32_t *ret_size)
{
	const unsigned char *data;

	*ret_size = nfs3_get();
	data = nfs3_msg + nfs3_at;
	nfs3_at += ((size_t)*ret_size + 3) & ~(size_t)3;
	if (nfs3_at > nfs3_len)
		nfs3_die("an answer that is cut off");
	return data;
}

int nfs3_connect(const char *port)
{
	struct sockaddr_in address = {.sin_family = AF_INET,
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
		.sin_port = htons((uint16_t)atoi(port))};
	int sock = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (sock < 0 || connect(sock, (struct sockaddr *)&address, sizeof(address)) < 0)
		nfs3_die("cannot connect");
	return sock;
}

/* The mark of the record's only fragment comes first: see nfs3_call(). */
void nfs3_begin(uint32_t program, uint32_t procedure)
{
	static uint32_t xid = 1;

	nfs3_len = 4;
	nfs3_put(xid++);
	nfs3_put(0); /* a call, of RPC version 2 */
	nfs3_put(2);
	nfs3_put(program);
	nfs3_put(3);
	nfs3_put(procedure);
	nfs3_put(1); /* AUTH_SYS: stamp, machine, uid, gid, no more groups */
	nfs3_put(20);
	nfs3_put(0);
	nfs3_put(0);
	nfs3_put(getuid());
	nfs3_put(getgid());
	nfs3_put(0);
	nfs3_put64(0); /* no verifier */
}

static bool read_all(int sock, unsigned char *data, size_t size)
{
	while (size) {
		ssize_t n = read(sock, data, size);

		if (n <= 0)
			return false;
		data += n;
		size -= (size_t)n;
	}
	return true;
}

static bool read_record(int sock)
{
	uint32_t mark = 0;

	for (nfs3_len = 0; !(mark & LAST_FRAGMENT); nfs3_len += mark & ~LAST_FRAGMENT) {
		if (!read_all(sock, (unsigned char *)&mark, 4))
			return false;
		mark = ntohl(mark);
		if (nfs3_len + (mark & ~LAST_FRAGMENT) > sizeof(nfs3_msg))
			nfs3_die("an answer of no sensible size");
		if (!read_all(sock, nfs3_msg + nfs3_len, mark & ~LAST_FRAGMENT))
			return false;
	}
	return true;
}

const char *nfs3_call(int sock)
{
	size_t size = nfs3_len, sent = 0;
	uint32_t skipped;

	nfs3_len = 0;
	nfs3_put(LAST_FRAGMENT | (uint32_t)(size - 4));
	while (sent < size) {
		ssize_t n = send(sock, nfs3_msg + sent, size - sent, MSG_NOSIGNAL);

		if (n <= 0)
			return "CLOSED";
		sent += (size_t)n;
	}
	nfs3_at = 0;
	if (!read_record(sock))
		return "CLOSED";
	nfs3_get64();
	if (nfs3_get() != 0)
		return "RPC_DENIED";
	nfs3_get();
	nfs3_get_opaque(&skipped);
	return nfs3_get() == 0 ? NULL : "RPC_GARBAGE";
}
