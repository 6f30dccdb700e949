// File operations through a 9P2000.L server, for which Debian has no client but the kernel's. The
// protocol: diod's protocol.md and the kernel's include/net/9p/9p.h.
//
// p9_client PORT EXPORT [wait FIFO] VERB [ARG...]: prints what a shell would, or the error's name. With
// `wait` it says so when it has opened a file, and goes on when somebody opens the FIFO.
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#define MSIZE 65536
#define CHUNK (MSIZE - 64)
#define NO_FID UINT32_MAX
#define NAMES_MAX 16

enum {
	RLERROR = 7,
	TLOPEN = 12,
	TLCREATE = 14,
	TSYMLINK = 16,
	TMKNOD = 18,
	TRENAME = 20,
	TREADLINK = 22,
	TGETATTR = 24,
	TSETATTR = 26,
	TREADDIR = 40,
	TFSYNC = 50,
	TLOCK = 52,
	TMKDIR = 72,
	TVERSION = 100,
	TATTACH = 104,
	TWALK = 110,
	TREAD = 116,
	TWRITE = 118,
	TCLUNK = 120,
	TREMOVE = 122,
};

enum { ROOT, FILE_FID, DIR_FID };

static int sock;
static const char *gate; /* what to wait at, or NULL */
static unsigned char msg[MSIZE + 64];
static size_t at, len; /* of the request being made, or the answer being read */

static void die(const char *what)
{
	fprintf(stderr, "p9_client: %s\n", what);
	exit(2);
}

static void put(uint64_t value, int bytes)
{
	for (int i = 0; i < bytes; i++)
		msg[len++] = (unsigned char)(value >> (8 * i));
}

/* A % is sent as a slash and a ^ as NUL, to make a name that no name can be. */
static void put_text(const char *text)
{
	put(strlen(text), 2);
	for (; *text; text++)
		msg[len++] = (unsigned char)(*text == '%' ? '/' : *text == '^' ? '\0' : *text);
}

static uint64_t get(int bytes)
{
	uint64_t value = 0;

	for (int i = 0; i < bytes; i++)
		value |= (uint64_t)msg[at++] << (8 * i);
	return value;
}

static void begin(int type, uint32_t fid)
{
	len = 4;
	put((uint64_t)type, 1);
	put(type == TVERSION ? 0xffff : 1, 2);
	if (type != TVERSION)
		put(fid, 4);
}

static void read_all(unsigned char *data, size_t size)
{
	while (size) {
		ssize_t n = read(sock, data, size);

		if (n <= 0)
			die("the server has closed the connection");
		data += n;
		size -= (size_t)n;
	}
}

static void send_request(void)
{
	size_t size = len, sent = 0;

	len = 0;
	put(size, 4);
	while (sent < size) {
		ssize_t n = write(sock, msg + sent, size - sent);

		if (n <= 0)
			die("cannot send");
		sent += (size_t)n;
	}
}

/* 0 or -errno; the answer is then read with get(). */
static int call(void)
{
	int type;

	send_request();
	read_all(msg, 4);
	at = 0;
	len = get(4);
	if (len < 7 || len > sizeof(msg))
		die("an answer of no sensible size");
	read_all(msg + 4, len - 4);
	type = (int)get(1);
	get(2);
	return type == RLERROR ? -(int)get(4) : 0;
}

static int clunk(uint32_t fid)
{
	begin(TCLUNK, fid);
	return call();
}

/* How many of the names, at most NAMES_MAX, led on, or -errno. */
static int walk_part(uint32_t fid, uint32_t newfid, char **names, unsigned count)
{
	int r;

	begin(TWALK, fid);
	put(newfid, 4);
	put(count, 2);
	for (unsigned i = 0; i < count; i++)
		put_text(names[i]);
	r = call();
	return r < 0 ? r : (int)get(2);
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

/* newfid becomes what path leads to, below the export's root; only its directory if parent is set,
 * which then is the last name. */
static int walk(uint32_t newfid, const char *path, const char **parent)
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

static int lopen(uint32_t fid, int flags)
{
	begin(TLOPEN, fid);
	put((uint64_t)flags, 4);
	return call();
}

static void wait_at(const char *fifo)
{
	printf("open\n");
	fflush(stdout);
	if (open(fifo, O_RDONLY | O_CLOEXEC) < 0)
		die(fifo);
}

static int open_path(const char *path, int flags)
{
	int r = walk(FILE_FID, path, NULL);

	if (r == 0)
		r = lopen(FILE_FID, flags);
	if (r == 0 && gate)
		wait_at(gate);
	return r;
}

static int do_cat(char **args)
{
	uint64_t off = 0;
	size_t n;
	int r = open_path(args[0], O_RDONLY);

	while (r == 0) {
		begin(TREAD, FILE_FID);
		put(off, 8);
		put(CHUNK, 4);
		r = call();
		n = r == 0 ? get(4) : 0;
		if (n == 0)
			break;
		fwrite(msg + at, 1, n, stdout);
		fflush(stdout);
		off += n;
	}
	return r;
}

/* The server may take a part. */
static int write_chunk(uint64_t off, const char *data, size_t size)
{
	int r = 0;

	while (r == 0 && size) {
		size_t taken;

		begin(TWRITE, FILE_FID);
		put(off, 8);
		put(size, 4);
		memcpy(msg + len, data, size);
		len += size;
		r = call();
		taken = r == 0 ? get(4) : 0;
		if (r == 0 && (!taken || taken > size))
			die("a write took nothing, or more than there was");
		off += taken;
		data += taken;
		size -= taken;
	}
	return r;
}

static int copy_input(uint64_t off)
{
	static char data[CHUNK];
	size_t n;
	int r = 0;

	while (r == 0 && (n = fread(data, 1, sizeof(data), stdin)) > 0) {
		r = write_chunk(off, data, n);
		off += n;
	}
	return r;
}

static int finish(int r)
{
	int closed = clunk(FILE_FID);

	return r < 0 ? r : closed;
}

static int do_write(char **args)
{
	int r = open_path(args[0], O_WRONLY | O_TRUNC);

	return r < 0 ? r : finish(copy_input(0));
}

/* PATH OFFSET */
static int do_write_at(char **args)
{
	int r = open_path(args[0], O_WRONLY);

	return r < 0 ? r : finish(copy_input(strtoull(args[1], NULL, 0)));
}

/* Writes and is gone: no clunk, no word. */
static int do_vanish(char **args)
{
	int r = open_path(args[0], O_WRONLY | O_TRUNC);

	return r < 0 ? r : copy_input(0);
}

static int do_sync(char **args)
{
	int r = do_vanish(args);

	if (r < 0)
		return r;
	begin(TFSYNC, FILE_FID);
	put(0, 4);
	return finish(call());
}

/* Writes and reads the answer on the same open file. */
static int do_ask(char **args)
{
	size_t n;
	int r = open_path(args[0], O_RDWR);

	if (r == 0)
		r = copy_input(0);
	if (r < 0)
		return r;
	begin(TREAD, FILE_FID);
	put(0, 8);
	put(CHUNK, 4);
	r = call();
	n = r == 0 ? get(4) : 0;
	fwrite(msg + at, 1, n, stdout);
	return finish(r);
}

static int do_create(char **args)
{
	const char *name;
	int r = walk(FILE_FID, args[0], &name);

	if (r < 0)
		return r;
	begin(TLCREATE, FILE_FID);
	put_text(name);
	put(O_WRONLY, 4);
	put(0644, 4);
	put(getgid(), 4);
	r = call();
	return r < 0 ? r : finish(copy_input(0));
}

static int do_ls(char **args)
{
	uint64_t off = 0;
	int r = open_path(args[0], O_RDONLY | O_DIRECTORY);

	while (r == 0) {
		size_t end;

		begin(TREADDIR, FILE_FID);
		put(off, 8);
		put(CHUNK, 4);
		r = call();
		end = r == 0 ? get(4) : 0;
		if (end == 0)
			break;
		end += at;
		while (at < end) {
			size_t name_len;

			at += 13;
			off = get(8);
			at++;
			name_len = get(2);
			printf("%.*s\n", (int)name_len, msg + at);
			at += name_len;
		}
	}
	return r;
}

/* Prints mode, size and owner. */
static int do_stat(char **args)
{
	unsigned mode, uid;
	int r = walk(FILE_FID, args[0], NULL);

	if (r < 0)
		return r;
	begin(TGETATTR, FILE_FID);
	put(0x7ff, 8);
	r = call();
	if (r < 0)
		return r;
	at += 8 + 13;
	mode = (unsigned)get(4);
	uid = (unsigned)get(4);
	at += 4 + 8 + 8;
	printf("%o %llu %u\n", mode, (unsigned long long)get(8), uid);
	return 0;
}

/* Of the whole file, or EAGAIN. */
static int do_lock(char **args)
{
	int r = walk(FILE_FID, args[0], NULL);

	if (r == 0)
		r = lopen(FILE_FID, O_RDWR);
	if (r < 0)
		return r;
	begin(TLOCK, FILE_FID);
	put(F_WRLCK, 1);
	put(0, 4);
	put(0, 8);
	put(0, 8);
	put((uint64_t)getpid(), 4);
	put_text("client");
	r = call();
	if (r == 0 && get(1) != 0)
		r = -EAGAIN;
	if (r == 0 && gate)
		wait_at(gate);
	return r;
}

static int do_truncate(char **args)
{
	int r = walk(FILE_FID, args[0], NULL);

	if (r < 0)
		return r;
	begin(TSETATTR, FILE_FID);
	put(8, 4);
	len += 12;
	memset(msg + len - 12, 0, 12);
	put(strtoull(args[1], NULL, 0), 8);
	memset(msg + len, 0, 32);
	len += 32;
	return call();
}

static int do_mkdir(char **args)
{
	const char *name;
	int r = walk(DIR_FID, args[0], &name);

	if (r < 0)
		return r;
	begin(TMKDIR, DIR_FID);
	put_text(name);
	put(0755, 4);
	put(getgid(), 4);
	return call();
}

/* Of a file or an empty directory. */
static int do_rm(char **args)
{
	int r = walk(FILE_FID, args[0], NULL);

	if (r < 0)
		return r;
	begin(TREMOVE, FILE_FID);
	return call();
}

static int do_mv(char **args)
{
	const char *name;
	int r = walk(FILE_FID, args[0], NULL);

	if (r == 0)
		r = walk(DIR_FID, args[1], &name);
	if (r < 0)
		return r;
	begin(TRENAME, FILE_FID);
	put(DIR_FID, 4);
	put_text(name);
	return call();
}

static int do_symlink(char **args)
{
	const char *name;
	int r = walk(DIR_FID, args[1], &name);

	if (r < 0)
		return r;
	begin(TSYMLINK, DIR_FID);
	put_text(name);
	put_text(args[0]);
	put(getgid(), 4);
	return call();
}

static int do_readlink(char **args)
{
	size_t size;
	int r = walk(FILE_FID, args[0], NULL);

	if (r < 0)
		return r;
	begin(TREADLINK, FILE_FID);
	r = call();
	if (r < 0)
		return r;
	size = get(2);
	printf("%.*s\n", (int)size, msg + at);
	return 0;
}

/* Of a block device. */
static int do_mknod(char **args)
{
	const char *name;
	int r = walk(DIR_FID, args[0], &name);

	if (r < 0)
		return r;
	begin(TMKNOD, DIR_FID);
	put_text(name);
	put(S_IFBLK | 0666, 4);
	put(1, 4);
	put(3, 4);
	put(getgid(), 4);
	return call();
}

struct verb {
	const char *name;
	int args;
	int (*run)(char **args);
};

static const struct verb verbs[] = {
	{"ls", 1, do_ls},
	{"lock", 1, do_lock},
	{"cat", 1, do_cat},
	{"write", 1, do_write},
	{"write_at", 2, do_write_at},
	{"vanish", 1, do_vanish},
	{"sync", 1, do_sync},
	{"ask", 1, do_ask},
	{"create", 1, do_create},
	{"stat", 1, do_stat},
	{"truncate", 2, do_truncate},
	{"mkdir", 1, do_mkdir},
	{"rm", 1, do_rm},
	{"rmdir", 1, do_rm},
	{"mv", 2, do_mv},
	{"symlink", 2, do_symlink},
	{"readlink", 1, do_readlink},
	{"mknod", 1, do_mknod},
};

static void attach(int port, const char *name)
{
	struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};

	to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	sock = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (sock < 0 || connect(sock, (struct sockaddr *)&to, sizeof(to)) < 0)
		die("cannot connect");
	begin(TVERSION, 0);
	put(MSIZE, 4);
	put_text("9P2000.L");
	if (call() < 0)
		die("the server does not know the protocol");
	begin(TATTACH, ROOT);
	put(NO_FID, 4);
	put_text("");
	put_text(name);
	put(getuid(), 4);
	if (call() < 0)
		die("the server refuses the export");
}

int main(int argc, char **argv)
{
	int r = 2;

	if (argc < 4)
		die("usage: PORT EXPORT [wait FIFO] VERB [ARG...]");
	if (argc > 5 && !strcmp(argv[3], "wait")) {
		gate = argv[4];
		memmove(argv + 3, argv + 5, (size_t)(argc - 4) * sizeof(*argv));
		argc -= 2;
	}
	attach(atoi(argv[1]), argv[2]);
	for (size_t i = 0; i < sizeof(verbs) / sizeof(*verbs); i++)
		if (!strcmp(verbs[i].name, argv[3]) && argc == 4 + verbs[i].args)
			r = verbs[i].run(argv + 4);
	if (r == 2)
		die("no such verb, or not its arguments");
	if (r < 0)
		printf("%s\n", strerrorname_np(-r) ? strerrorname_np(-r) : "ERROR");
	fflush(stdout);
	_exit(r < 0);
}
