// File operations through a 9P2000.L server, for which Debian has no client but the kernel's.
//
// p9_client PORT EXPORT [wait FIFO] VERB [ARG...]: prints what a shell would, or the error's name. With
// `wait` it says so when it has opened a file, and goes on when somebody opens the FIFO.
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/lib/p9_wire.h"

#define CHUNK (P9_MSIZE - 64)

static const char *gate; /* what to wait at, or NULL */

static void wait_at(const char *fifo)
{
	printf("open\n");
	fflush(stdout);
	if (open(fifo, O_RDONLY | O_CLOEXEC) < 0)
		p9_die(fifo);
}

static int open_path(const char *path, int flags)
{
	int r = p9_walk(FILE_FID, path, NULL);

	if (r == 0)
		r = p9_lopen(FILE_FID, flags);
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
		p9_begin(TREAD, FILE_FID);
		p9_put(off, 8);
		p9_put(CHUNK, 4);
		r = p9_call();
		n = r == 0 ? p9_get(4) : 0;
		if (n == 0)
			break;
		fwrite(p9_msg + p9_at, 1, n, stdout);
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

		p9_begin(TWRITE, FILE_FID);
		p9_put(off, 8);
		p9_put(size, 4);
		memcpy(p9_msg + p9_len, data, size);
		p9_len += size;
		r = p9_call();
		taken = r == 0 ? p9_get(4) : 0;
		if (r == 0 && (!taken || taken > size))
			p9_die("a write took nothing, or more than there was");
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
	int closed = p9_clunk(FILE_FID);

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
	p9_begin(TFSYNC, FILE_FID);
	p9_put(0, 4);
	return finish(p9_call());
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
	p9_begin(TREAD, FILE_FID);
	p9_put(0, 8);
	p9_put(CHUNK, 4);
	r = p9_call();
	n = r == 0 ? p9_get(4) : 0;
	fwrite(p9_msg + p9_at, 1, n, stdout);
	return finish(r);
}

static int do_create(char **args)
{
	const char *name;
	int r = p9_walk(FILE_FID, args[0], &name);

	if (r < 0)
		return r;
	p9_begin(TLCREATE, FILE_FID);
	p9_put_text(name);
	p9_put(O_WRONLY, 4);
	p9_put(0644, 4);
	p9_put(getgid(), 4);
	r = p9_call();
	return r < 0 ? r : finish(copy_input(0));
}

static int do_ls(char **args)
{
	uint64_t off = 0;
	int r = open_path(args[0], O_RDONLY | O_DIRECTORY);

	while (r == 0) {
		size_t end;

		p9_begin(TREADDIR, FILE_FID);
		p9_put(off, 8);
		p9_put(CHUNK, 4);
		r = p9_call();
		end = r == 0 ? p9_get(4) : 0;
		if (end == 0)
			break;
		end += p9_at;
		while (p9_at < end) {
			size_t name_len;

			p9_at += 13;
			off = p9_get(8);
			p9_at++;
			name_len = p9_get(2);
			printf("%.*s\n", (int)name_len, p9_msg + p9_at);
			p9_at += name_len;
		}
	}
	return r;
}

/* Prints mode, size and owner. */
static int do_stat(char **args)
{
	unsigned mode, uid;
	int r = p9_walk(FILE_FID, args[0], NULL);

	if (r < 0)
		return r;
	p9_begin(TGETATTR, FILE_FID);
	p9_put(0x7ff, 8);
	r = p9_call();
	if (r < 0)
		return r;
	p9_at += 8 + 13;
	mode = (unsigned)p9_get(4);
	uid = (unsigned)p9_get(4);
	p9_at += 4 + 8 + 8;
	printf("%o %llu %u\n", mode, (unsigned long long)p9_get(8), uid);
	return 0;
}

/* Of the whole file, or EAGAIN. */
static int do_lock(char **args)
{
	int r = p9_walk(FILE_FID, args[0], NULL);

	if (r == 0)
		r = p9_lopen(FILE_FID, O_RDWR);
	if (r < 0)
		return r;
	p9_begin(TLOCK, FILE_FID);
	p9_put(F_WRLCK, 1);
	p9_put(0, 4);
	p9_put(0, 8);
	p9_put(0, 8);
	p9_put((uint64_t)getpid(), 4);
	p9_put_text("client");
	r = p9_call();
	if (r == 0 && p9_get(1) != 0)
		r = -EAGAIN;
	if (r == 0 && gate)
		wait_at(gate);
	return r;
}

static int do_truncate(char **args)
{
	int r = p9_walk(FILE_FID, args[0], NULL);

	if (r < 0)
		return r;
	p9_begin(TSETATTR, FILE_FID);
	p9_put(8, 4);
	p9_len += 12;
	memset(p9_msg + p9_len - 12, 0, 12);
	p9_put(strtoull(args[1], NULL, 0), 8);
	memset(p9_msg + p9_len, 0, 32);
	p9_len += 32;
	return p9_call();
}

static int do_mkdir(char **args)
{
	const char *name;
	int r = p9_walk(DIR_FID, args[0], &name);

	if (r < 0)
		return r;
	p9_begin(TMKDIR, DIR_FID);
	p9_put_text(name);
	p9_put(0755, 4);
	p9_put(getgid(), 4);
	return p9_call();
}

/* Of a file or an empty directory. */
static int do_rm(char **args)
{
	int r = p9_walk(FILE_FID, args[0], NULL);

	if (r < 0)
		return r;
	p9_begin(TREMOVE, FILE_FID);
	return p9_call();
}

static int do_mv(char **args)
{
	const char *name;
	int r = p9_walk(FILE_FID, args[0], NULL);

	if (r == 0)
		r = p9_walk(DIR_FID, args[1], &name);
	if (r < 0)
		return r;
	p9_begin(TRENAME, FILE_FID);
	p9_put(DIR_FID, 4);
	p9_put_text(name);
	return p9_call();
}

static int do_symlink(char **args)
{
	const char *name;
	int r = p9_walk(DIR_FID, args[1], &name);

	if (r < 0)
		return r;
	p9_begin(TSYMLINK, DIR_FID);
	p9_put_text(name);
	p9_put_text(args[0]);
	p9_put(getgid(), 4);
	return p9_call();
}

static int do_readlink(char **args)
{
	size_t size;
	int r = p9_walk(FILE_FID, args[0], NULL);

	if (r < 0)
		return r;
	p9_begin(TREADLINK, FILE_FID);
	r = p9_call();
	if (r < 0)
		return r;
	size = p9_get(2);
	printf("%.*s\n", (int)size, p9_msg + p9_at);
	return 0;
}

/* Of a block device. */
static int do_mknod(char **args)
{
	const char *name;
	int r = p9_walk(DIR_FID, args[0], &name);

	if (r < 0)
		return r;
	p9_begin(TMKNOD, DIR_FID);
	p9_put_text(name);
	p9_put(S_IFBLK | 0666, 4);
	p9_put(1, 4);
	p9_put(3, 4);
	p9_put(getgid(), 4);
	return p9_call();
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

int main(int argc, char **argv)
{
	int r = 2;

	if (argc < 4)
		p9_die("usage: PORT EXPORT [wait FIFO] VERB [ARG...]");
	if (argc > 5 && !strcmp(argv[3], "wait")) {
		gate = argv[4];
		memmove(argv + 3, argv + 5, (size_t)(argc - 4) * sizeof(*argv));
		argc -= 2;
	}
	p9_attach(atoi(argv[1]), argv[2]);
	for (size_t i = 0; i < sizeof(verbs) / sizeof(*verbs); i++)
		if (!strcmp(verbs[i].name, argv[3]) && argc == 4 + verbs[i].args)
			r = verbs[i].run(argv + 4);
	if (r == 2)
		p9_die("no such verb, or not its arguments");
	if (r < 0)
		printf("%s\n", strerrorname_np(-r) ? strerrorname_np(-r) : "ERROR");
	fflush(stdout);
	_exit(r < 0);
}
