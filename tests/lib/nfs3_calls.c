// NFS version 3 requests, composed on the command line: names, handles, cookies and counts that no client
// would send. Written out by hand (RFC 1813 and 5531), since libnfs sends of a name what is before a NUL.
//
// nfs3_calls NFS_PORT MOUNT_PORT OP [ARG...] OP [ARG...]...: each OP is about the current handle, at first
// the root of /box, and prints `OP STATUS [DATA]`; those after one that fails are done all the same.
#include <arpa/inet.h>
#include <ctype.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <nfsc/libnfs-zdr.h>
#include <nfsc/libnfs.h>
#include <nfsc/libnfs-raw.h>

#define NFS_PROGRAM 100003
#define MOUNT_PROGRAM 100005
#define MESSAGE_MAX (4 << 20)
#define HANDLE_MAX 64
#define LAST_FRAGMENT 0x80000000U

struct fh {
	uint32_t len;
	unsigned char bytes[1024]; /* longer ones than the protocol has, too */
};

static struct fh current, saved;
static unsigned char msg[MESSAGE_MAX];
static size_t at, len; /* of the request being made, or the answer being read */

static void die(const char *what)
{
	fprintf(stderr, "nfs3_calls: %s\n", what);
	exit(2);
}

static void put(uint32_t value)
{
	value = htonl(value);
	memcpy(msg + len, &value, 4);
	len += 4;
}

static void put64(uint64_t value)
{
	put((uint32_t)(value >> 32));
	put((uint32_t)value);
}

static void put_opaque(const void *data, size_t size)
{
	if (len + size + 8 > sizeof(msg))
		die("more than a request can hold");
	put((uint32_t)size);
	memcpy(msg + len, data, size);
	memset(msg + len + size, 0, 4);
	len += (size + 3) & ~(size_t)3;
}

/* A ^ is sent as NUL. */
static void put_name(const char *text)
{
	size_t start = len + 4;

	put_opaque(text, strlen(text));
	for (size_t i = start; i < start + strlen(text); i++)
		if (msg[i] == '^')
			msg[i] = '\0';
}

static uint32_t get(void)
{
	uint32_t value = 0;

	if (at + 4 > len)
		die("an answer that is cut off");
	memcpy(&value, msg + at, 4);
	at += 4;
	return ntohl(value);
}

static uint64_t get64(void)
{
	uint64_t high = get();

	return high << 32 | get();
}

static const unsigned char *get_opaque(uint32_t *ret_size)
{
	const unsigned char *data;

	*ret_size = get();
	data = msg + at;
	at += ((size_t)*ret_size + 3) & ~(size_t)3;
	if (at > len)
		die("an answer that is cut off");
	return data;
}

static int connect_to(const char *port)
{
	struct sockaddr_in address = {.sin_family = AF_INET,
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
		.sin_port = htons((uint16_t)atoi(port))};
	int sock = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (sock < 0 || connect(sock, (struct sockaddr *)&address, sizeof(address)) < 0)
		die("cannot connect");
	return sock;
}

/* The mark of the record's only fragment comes first: see send_call(). */
static void begin(uint32_t program, uint32_t procedure)
{
	static uint32_t xid = 1;

	len = 4;
	put(xid++);
	put(0); /* a call, of RPC version 2 */
	put(2);
	put(program);
	put(3);
	put(procedure);
	put(1); /* AUTH_SYS: stamp, machine, uid, gid, no more groups */
	put(20);
	put(0);
	put(0);
	put(getuid());
	put(getgid());
	put(0);
	put64(0); /* no verifier */
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

	for (len = 0; !(mark & LAST_FRAGMENT); len += mark & ~LAST_FRAGMENT) {
		if (!read_all(sock, (unsigned char *)&mark, 4))
			return false;
		mark = ntohl(mark);
		if (len + (mark & ~LAST_FRAGMENT) > sizeof(msg))
			die("an answer of no sensible size");
		if (!read_all(sock, msg + len, mark & ~LAST_FRAGMENT))
			return false;
	}
	return true;
}

/* Sends the request and reads the answer up to what is the procedure's own; NULL, or why there is none. */
static const char *call(int sock)
{
	size_t size = len, sent = 0;
	uint32_t skipped;

	len = 0;
	put(LAST_FRAGMENT | (uint32_t)(size - 4));
	while (sent < size) {
		ssize_t n = send(sock, msg + sent, size - sent, MSG_NOSIGNAL);

		if (n <= 0)
			return "CLOSED";
		sent += (size_t)n;
	}
	at = 0;
	if (!read_record(sock))
		return "CLOSED";
	get64();
	if (get() != 0)
		return "RPC_DENIED";
	get();
	get_opaque(&skipped);
	return get() == 0 ? NULL : "RPC_GARBAGE";
}

struct op {
	const char *name;
	uint32_t procedure;
	const char *args; /* see put_arg() */
	const char *results; /* see show() */
};

static const struct op table[] = {
	{"getattr", 1, "h", "A"}, /* prints type, mode, size and time of change */
	{"setattr", 2, "hzg", ""}, /* SIZE|- SECONDS.NSEC|-: the guard */
	{"lookup", 3, "hn", "H"}, /* NAME */
	{"go", 3, "hn", "C"}, /* NAME: makes it the current handle */
	{"readlink", 5, "h", "pD"}, {"read", 6, "hoc", "pUUD"}, /* OFFSET COUNT */
	{"write", 7, "hockd", "wUUV"}, /* OFFSET COUNT unstable|datasync|filesync TEXT */
	{"create", 8, "hnm", "F"}, /* NAME unchecked|guarded|exclusive */
	{"mkdir", 9, "hnu", "F"}, /* NAME */
	{"symlink", 10, "hnun", "F"}, /* NAME TARGET */
	{"mkfifo", 11, "hnf", "F"}, /* NAME */
	{"remove", 12, "hn", ""}, {"rmdir", 13, "hn", ""}, /* NAME */
	{"rename", 14, "snhn", ""}, /* OLD NEW: from the saved directory */
	{"link", 15, "shn", ""}, /* NAME: of the saved file */
	{"list", 16, "hovc", "pVL"}, /* COOKIE VERIFIER BYTES */
	{"listplus", 17, "hovcc", "pVP"}, /* COOKIE VERIFIER BYTES_OF_NAMES BYTES */
	{"commit", 21, "hoc", "wV"}, /* OFFSET COUNT */
};

/* Mode 0644, unless nothing but the size is to be set. */
static void put_attributes(bool mode, const char *size)
{
	put(mode);
	if (mode)
		put(0644);
	put64(0);
	put(*size != '-');
	if (*size != '-')
		put64(strtoull(size, NULL, 0));
	put64(0);
}

static void put_guard(const char *text)
{
	char *rest;
	unsigned long sec = strtoul(text, &rest, 10);

	put(*text != '-');
	if (*text == '-')
		return;
	put((uint32_t)sec);
	put((uint32_t)strtoul(rest + (*rest == '.'), NULL, 10));
}

static void put_creation(const char *how)
{
	put(*how == 'e' ? 2 : *how == 'g' ? 1 : 0);
	if (*how == 'e')
		put64(0x73616e6470697421);
	else
		put_attributes(true, "-");
}

/* The text, or standard input for "-", however often. */
static void put_data(const char *text)
{
	static char data[MESSAGE_MAX / 2];
	static size_t size;

	if (strcmp(text, "-")) {
		put_opaque(text, strlen(text));
		return;
	}
	if (!size)
		size = fread(data, 1, sizeof(data), stdin);
	put_opaque(data, size);
}

/* What is put without any word: whether it was that. */
static bool put_own(char kind)
{
	switch (kind) {
	case 'h':
		put_opaque(current.bytes, current.len);
		return true;
	case 's':
		put_opaque(saved.bytes, saved.len);
		return true;
	case 'u':
		put_attributes(true, "-");
		return true;
	case 'f':
		put(7);
		put_attributes(true, "-");
		return true;
	default:
		return false;
	}
}

/* Whether the word was used. */
static bool put_arg(char kind, const char *word)
{
	if (put_own(kind))
		return false;
	if (!word)
		die("an argument is missing");
	if (kind == 'n')
		put_name(word);
	if (kind == 'o' || kind == 'v')
		put64(strtoull(word, NULL, 0));
	if (kind == 'c')
		put((uint32_t)strtoul(word, NULL, 0));
	if (kind == 'k')
		put(*word == 'f' ? 2 : *word == 'd' ? 1 : 0);
	if (kind == 'd')
		put_data(word);
	if (kind == 'm')
		put_creation(word);
	if (kind == 'z')
		put_attributes(false, word);
	if (kind == 'g')
		put_guard(word);
	return true;
}

static void skip_attributes(void)
{
	if (get())
		at += 84;
}

static void show_attributes(void)
{
	unsigned type = get(), mode = get();

	at += 12;
	printf(" %u %o %llu", type, mode, (unsigned long long)get64());
	at += 8 + 8 + 8 + 8 + 8 + 8;
	printf(" %u", get());
	printf(".%09u", get());
}

static void show_text(const unsigned char *data, uint32_t size)
{
	putchar(' ');
	for (uint32_t i = 0; i < size; i++) {
		if (isprint(data[i]) && data[i] != '\\')
			putchar(data[i]);
		else
			printf("\\x%02x", data[i]);
	}
}

static void get_handle(struct fh *ret)
{
	const unsigned char *bytes = get_opaque(&ret->len);

	if (ret->len > HANDLE_MAX)
		die("a handle that is too long");
	memcpy(ret->bytes, bytes, ret->len);
}

static void show_handle(const struct fh *fh)
{
	putchar(' ');
	for (uint32_t i = 0; i < fh->len; i++)
		printf("%02x", fh->bytes[i]);
}

static void show_list(bool plus)
{
	const unsigned char *name;
	uint32_t size;
	struct fh fh;

	while (get()) {
		get64();
		name = get_opaque(&size);
		printf("\n%llu", (unsigned long long)get64());
		show_text(name, size);
		if (plus) {
			skip_attributes();
			if (get())
				get_handle(&fh);
		}
	}
	if (get())
		printf("\nend");
}

static void show(char kind)
{
	struct fh fh = {0};
	const unsigned char *data;
	uint32_t size;

	switch (kind) {
	case 'A':
		show_attributes();
		break;
	case 'p':
		skip_attributes();
		break;
	case 'w':
		if (get())
			at += 24;
		skip_attributes();
		break;
	case 'F':
		if (!get())
			break;
		/* fallthrough */
	case 'H':
		get_handle(&fh);
		show_handle(&fh);
		break;
	case 'C':
		get_handle(&current);
		break;
	case 'U':
		printf(" %u", get());
		break;
	case 'V':
		printf(" 0x%llx", (unsigned long long)get64());
		break;
	case 'D':
		data = get_opaque(&size);
		show_text(data, size);
		break;
	default:
		show_list(kind == 'P');
	}
}

/* The words that the operation takes are gone from *words. Whether one can go on. */
static bool run(int sock, const struct op *op, char ***words)
{
	const char *failure;
	uint32_t status;

	begin(NFS_PROGRAM, op->procedure);
	for (const char *kind = op->args; *kind; kind++)
		*words += put_arg(*kind, **words);
	failure = call(sock);
	status = failure ? 0 : get();
	printf("%s %s", op->name, failure ? failure : nfsstat3_to_str((int)status));
	for (const char *kind = op->results; !failure && status == 0 && *kind; kind++)
		show(*kind);
	putchar('\n');
	return !failure || strcmp(failure, "CLOSED") != 0;
}

static void parse_handle(const char *hex, struct fh *ret)
{
	ret->len = (uint32_t)strlen(hex) / 2;
	if (ret->len > sizeof(ret->bytes))
		die("a handle that is too long");
	for (uint32_t i = 0; i < ret->len; i++)
		if (sscanf(hex + (size_t)2 * i, "%2hhx", &ret->bytes[i]) != 1)
			die("a handle is hexadecimal");
}

/* What asks the server nothing: fh HEX, getfh, save. */
static bool run_local(char ***words)
{
	const char *word = **words;

	if (!strcmp(word, "fh") && (*words)[1]) {
		parse_handle(*++*words, &current);
	} else if (!strcmp(word, "getfh")) {
		printf("getfh");
		show_handle(&current);
		putchar('\n');
	} else if (!strcmp(word, "save")) {
		saved = current;
	} else {
		return false;
	}
	++*words;
	return true;
}

static const struct op *find(const char *name)
{
	for (size_t i = 0; i < sizeof(table) / sizeof(*table); i++)
		if (!strcmp(table[i].name, name))
			return &table[i];
	die("no such operation");
	return NULL;
}

/* The current handle becomes the root of /box. */
static void mount_root(const char *port)
{
	int sock = connect_to(port);

	begin(MOUNT_PROGRAM, 1);
	put_name("/box");
	if (call(sock) || get() != 0)
		die("cannot mount");
	get_handle(&current);
	close(sock);
}

int main(int argc, char **argv)
{
	char **words = argv + 3;
	int sock;

	if (argc < 4)
		die("usage: NFS_PORT MOUNT_PORT OP...");
	mount_root(argv[2]);
	sock = connect_to(argv[1]);
	while (*words) {
		const struct op *op;

		if (run_local(&words))
			continue;
		op = find(*words++);
		if (!run(sock, op, &words))
			return 1;
	}
	return 0;
}
