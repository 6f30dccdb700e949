// File operations through an NFS server, as an ordinary client does them: for what the utilities of
// libnfs cannot do.
//
// nfs_client URL [wait FIFO] VERB [ARG...]: prints what a shell would, or `ERROR: words`. URL as libnfs
// takes it: nfs://SERVER/EXPORT?version=4&nfsport=PORT, or version=3 and mountport=PORT besides. With
// `wait` it says so when it has opened a file, and goes on when somebody opens the FIFO.
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <nfsc/libnfs.h>

#define CHUNK (32 * 1024)
#define ANSWER_MSEC 60000 /* a server that does not answer for so long is an error, not a hang */
#define WRITE_CHUNK (3 * 1024) /* libnfs 4.0 cannot encode longer writes in version 4 */

static struct nfs_context *nfs;
static char chunk[CHUNK];
static const char *gate; /* what to wait at, or NULL */

/* For what is refused in version 3 libnfs gives the status as a byte of text. Those of a file system
 * are numbered as errno, but for some (RFC 1813, 2.6). */
static int failed(int r)
{
	const char *words = nfs_get_error(nfs);
	const char *quote = strchr(words, '"');

	if (r == -EFAULT && quote && quote[2] == '"')
		r = quote[1] == 70 ? -ESTALE : -(int)quote[1];
	printf("%s: %s\n", r == -EIO || !strerrorname_np(-r) ? "ERROR" : strerrorname_np(-r),
		words);
	return 1;
}

static int answer(int r)
{
	return r < 0 ? failed(r) : 0;
}

static int do_ls(char **args)
{
	struct nfsdir *dir;
	struct nfsdirent *entry;
	int r = nfs_opendir(nfs, args[0], &dir);

	if (r < 0)
		return failed(r);
	while ((entry = nfs_readdir(nfs, dir)))
		printf("%s\n", entry->name);
	nfs_closedir(nfs, dir);
	return 0;
}

static void wait_at(const char *fifo)
{
	printf("open\n");
	fflush(stdout);
	if (open(fifo, O_RDONLY | O_CLOEXEC) < 0)
		exit(2);
}

static int open_path(const char *path, int flags, struct nfsfh **ret)
{
	int r = flags & O_CREAT ? nfs_open2(nfs, path, flags, 0644, ret)
				: nfs_open(nfs, path, flags, ret);

	if (r >= 0 && gate)
		wait_at(gate);
	return r;
}

static int do_cat(char **args)
{
	struct nfsfh *fh;
	uint64_t off = 0;
	int r = open_path(args[0], O_RDONLY, &fh);

	if (r < 0)
		return failed(r);
	while ((r = nfs_pread(nfs, fh, off, sizeof(chunk), chunk)) > 0) {
		fwrite(chunk, 1, (size_t)r, stdout);
		fflush(stdout);
		off += (uint64_t)r;
	}
	nfs_close(nfs, fh);
	return answer(r);
}

static int copy_input(struct nfsfh *fh, uint64_t off)
{
	size_t n;
	int r = 0;

	while (r >= 0 && (n = fread(chunk, 1, WRITE_CHUNK, stdin)) > 0)
		for (size_t at = 0; r >= 0 && at < n; at += (size_t)r, off += (uint64_t)r)
			r = nfs_pwrite(nfs, fh, off, n - at, chunk + at);
	return r < 0 ? r : 0;
}

static int write_to(const char *path, int flags, uint64_t off)
{
	struct nfsfh *fh;
	int close_result, r = open_path(path, flags, &fh);

	if (r < 0)
		return failed(r);
	r = copy_input(fh, off);
	if (r < 0)
		failed(r);
	close_result = nfs_close(nfs, fh);
	return r < 0 ? 1 : answer(close_result);
}

/* Standard input into a file that is there, as a shell's redirection does. */
static int do_write(char **args)
{
	return write_to(args[0], O_WRONLY | O_TRUNC, 0);
}

/* PATH OFFSET */
static int do_write_at(char **args)
{
	return write_to(args[0], O_WRONLY, strtoull(args[1], NULL, 0));
}

/* Writes and reads the answer on the same open file. */
static int do_ask(char **args)
{
	struct nfsfh *fh;
	int r = open_path(args[0], O_RDWR, &fh);

	if (r < 0)
		return failed(r);
	r = copy_input(fh, 0);
	if (r == 0)
		r = nfs_pread(nfs, fh, 0, sizeof(chunk), chunk);
	if (r > 0)
		fwrite(chunk, 1, (size_t)r, stdout);
	nfs_close(nfs, fh);
	return answer(r);
}

static int do_create(char **args)
{
	return write_to(args[0], O_WRONLY | O_CREAT, 0);
}

/* Of the first MiB, or an error. */
static int do_lock(char **args)
{
	struct nfsfh *fh;
	int r = nfs_open(nfs, args[0], O_RDWR, &fh);

	if (r == 0)
		r = nfs_lockf(nfs, fh, NFS4_F_TLOCK, 1 << 20);
	if (r == 0 && gate)
		wait_at(gate);
	return answer(r);
}

/* Prints mode, size and owner. */
static int do_stat(char **args)
{
	struct nfs_stat_64 st;
	int r = nfs_lstat64(nfs, args[0], &st);

	if (r < 0)
		return failed(r);
	printf("%o %llu %llu\n", (unsigned)st.nfs_mode, (unsigned long long)st.nfs_size,
		(unsigned long long)st.nfs_uid);
	return 0;
}

static int do_mkdir(char **args)
{
	return answer(nfs_mkdir(nfs, args[0]));
}

static int do_rmdir(char **args)
{
	return answer(nfs_rmdir(nfs, args[0]));
}

static int do_rm(char **args)
{
	return answer(nfs_unlink(nfs, args[0]));
}

static int do_mv(char **args)
{
	return answer(nfs_rename(nfs, args[0], args[1]));
}

static int do_symlink(char **args)
{
	return answer(nfs_symlink(nfs, args[0], args[1]));
}

static int do_readlink(char **args)
{
	int r = nfs_readlink(nfs, args[0], chunk, sizeof(chunk));

	if (r < 0)
		return failed(r);
	printf("%s\n", chunk);
	return 0;
}

static int do_truncate(char **args)
{
	return answer(nfs_truncate(nfs, args[0], strtoull(args[1], NULL, 0)));
}

static int do_chmod(char **args)
{
	return answer(nfs_chmod(nfs, args[0], (int)strtol(args[1], NULL, 8)));
}

/* Of a block device. */
static int do_mknod(char **args)
{
	return answer(nfs_mknod(nfs, args[0], S_IFBLK | 0666, 0x103));
}

struct verb {
	const char *name;
	int args;
	int (*run)(char **args);
};

static const struct verb verbs[] = {
	{"ls", 1, do_ls},
	{"cat", 1, do_cat},
	{"write", 1, do_write},
	{"write_at", 2, do_write_at},
	{"ask", 1, do_ask},
	{"create", 1, do_create},
	{"lock", 1, do_lock},
	{"stat", 1, do_stat},
	{"mkdir", 1, do_mkdir},
	{"rmdir", 1, do_rmdir},
	{"rm", 1, do_rm},
	{"mv", 2, do_mv},
	{"symlink", 2, do_symlink},
	{"readlink", 1, do_readlink},
	{"truncate", 2, do_truncate},
	{"chmod", 2, do_chmod},
	{"mknod", 1, do_mknod},
};

static int connect_to(const char *text)
{
	struct nfs_url *url = nfs_parse_url_dir(nfs, text);
	int r;

	nfs_set_timeout(nfs, ANSWER_MSEC);
	r = url ? nfs_mount(nfs, url->server, url->path) : -EINVAL;

	if (r < 0)
		failed(r);
	if (url)
		nfs_destroy_url(url);
	return r;
}

int main(int argc, char **argv)
{
	int r = 2;

	nfs = nfs_init_context();
	if (argc < 3 || !nfs || connect_to(argv[1]) < 0)
		return 2;
	if (argc > 4 && !strcmp(argv[2], "wait")) {
		gate = argv[3];
		argv += 2;
		argc -= 2;
	}
	for (size_t i = 0; i < sizeof(verbs) / sizeof(*verbs); i++)
		if (!strcmp(verbs[i].name, argv[2]) && argc == 3 + verbs[i].args)
			r = verbs[i].run(argv + 3);
	if (r == 2)
		fprintf(stderr, "nfs_client: %s: no such verb, or not its arguments\n", argv[2]);
	nfs_destroy_context(nfs);
	return r;
}
