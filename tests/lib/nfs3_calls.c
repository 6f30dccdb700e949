// NFS version 3 requests, composed on the command line: names, handles, cookies and counts that no client
// would send. Written out by hand (RFC 1813 and 5531), since libnfs sends of a name what is before a NUL.
//
// nfs3_calls NFS_PORT MOUNT_PORT OP [ARG...] OP [ARG...]...: each OP is about the current handle, at first
// the root of /box, and prints `OP STATUS [DATA]`; those after one that fails are done all the same.
#include <ctype.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <nfsc/libnfs-zdr.h>
#include <nfsc/libnfs.h>
#include <nfsc/libnfs-raw.h>

#include "tests/lib/nfs3_wire.h"

#define NFS_PROGRAM 100003
#define MOUNT_PROGRAM 100005
#define HANDLE_MAX 64

struct fh {
	uint32_t len;
	unsigned char bytes[1024]; /* longer ones than the protocol has, too */
};

static struct fh current, saved;

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
	nfs3_put(mode);
	if (mode)
		nfs3_put(0644);
	nfs3_put64(0);
	nfs3_put(*size != '-');
	if (*size != '-')
		nfs3_put64(strtoull(size, NULL, 0));
	nfs3_put64(0);
}

static void put_guard(const char *text)
{
	char *rest;
	unsigned long sec = strtoul(text, &rest, 10);

	nfs3_put(*text != '-');
	if (*text == '-')
		return;
	nfs3_put((uint32_t)sec);
	nfs3_put((uint32_t)strtoul(rest + (*rest == '.'), NULL, 10));
}

static void put_creation(const char *how)
{
	nfs3_put(*how == 'e' ? 2 : *how == 'g' ? 1 : 0);
	if (*how == 'e')
		nfs3_put64(0x73616e6470697421);
	else
		put_attributes(true, "-");
}

/* The text, or standard input for "-", however often. */
static void put_data(const char *text)
{
	static char data[NFS3_MESSAGE_MAX / 2];
	static size_t size;

	if (strcmp(text, "-")) {
		nfs3_put_opaque(text, strlen(text));
		return;
	}
	if (!size)
		size = fread(data, 1, sizeof(data), stdin);
	nfs3_put_opaque(data, size);
}

/* What is put without any word: whether it was that. */
static bool put_own(char kind)
{
	switch (kind) {
	case 'h':
		nfs3_put_opaque(current.bytes, current.len);
		return true;
	case 's':
		nfs3_put_opaque(saved.bytes, saved.len);
		return true;
	case 'u':
		put_attributes(true, "-");
		return true;
	case 'f':
		nfs3_put(7);
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
		nfs3_die("an argument is missing");
	if (kind == 'n')
		nfs3_put_name(word);
	if (kind == 'o' || kind == 'v')
		nfs3_put64(strtoull(word, NULL, 0));
	if (kind == 'c')
		nfs3_put((uint32_t)strtoul(word, NULL, 0));
	if (kind == 'k')
		nfs3_put(*word == 'f' ? 2 : *word == 'd' ? 1 : 0);
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
	if (nfs3_get())
		nfs3_at += 84;
}

static void show_attributes(void)
{
	unsigned type = nfs3_get(), mode = nfs3_get();

	nfs3_at += 12;
	printf(" %u %o %llu", type, mode, (unsigned long long)nfs3_get64());
	nfs3_at += 8 + 8 + 8 + 8 + 8 + 8;
	printf(" %u", nfs3_get());
	printf(".%09u", nfs3_get());
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
	const unsigned char *bytes = nfs3_get_opaque(&ret->len);

	if (ret->len > HANDLE_MAX)
		nfs3_die("a handle that is too long");
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

	while (nfs3_get()) {
		nfs3_get64();
		name = nfs3_get_opaque(&size);
		printf("\n%llu", (unsigned long long)nfs3_get64());
		show_text(name, size);
		if (plus) {
			skip_attributes();
			if (nfs3_get())
				get_handle(&fh);
		}
	}
	if (nfs3_get())
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
		if (nfs3_get())
			nfs3_at += 24;
		skip_attributes();
		break;
	case 'F':
		if (!nfs3_get())
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
		printf(" %u", nfs3_get());
		break;
	case 'V':
		printf(" 0x%llx", (unsigned long long)nfs3_get64());
		break;
	case 'D':
		data = nfs3_get_opaque(&size);
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

	nfs3_begin(NFS_PROGRAM, op->procedure);
	for (const char *kind = op->args; *kind; kind++)
		*words += put_arg(*kind, **words);
	failure = nfs3_call(sock);
	status = failure ? 0 : nfs3_get();
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
		nfs3_die("a handle that is too long");
	for (uint32_t i = 0; i < ret->len; i++)
		if (sscanf(hex + (size_t)2 * i, "%2hhx", &ret->bytes[i]) != 1)
			nfs3_die("a handle is hexadecimal");
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
	nfs3_die("no such operation");
	return NULL;
}

/* The current handle becomes the root of /box. */
static void mount_root(const char *port)
{
	int sock = nfs3_connect(port);

	nfs3_begin(MOUNT_PROGRAM, 1);
	nfs3_put_name("/box");
	if (nfs3_call(sock) || nfs3_get() != 0)
		nfs3_die("cannot mount");
	get_handle(&current);
	close(sock);
}

int main(int argc, char **argv)
{
	char **words = argv + 3;
	int sock;

	if (argc < 4)
		nfs3_die("usage: NFS_PORT MOUNT_PORT OP...");
	mount_root(argv[2]);
	sock = nfs3_connect(argv[1]);
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
