// Does single file operations and prints what each returned, with the name of the error: for
// checks of errno, flags and offsets that a shell cannot make.
//
// fsop OP [ARG...] OP [ARG...] ...: each OP prints one line, `OP RESULT`, where RESULT is a number,
// data, or an error's name. Descriptors are numbered from 0 in the order of their opening; an OP on
// a descriptor works on the newest, or on the one chosen by `use N`.
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/sysmacros.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "common/scope.h"

static int fds[64];
static int fds_len, fd = -1;
static const char *op_name;

static void say(long long value)
{
	if (value < 0)
		printf("%s %s\n", op_name, strerrorname_np(errno));
	else
		printf("%s %lld\n", op_name, value);
	fflush(stdout);
}

static void say_data(const char *data, ssize_t len)
{
	if (len < 0) {
		say(-1);
		return;
	}
	printf("%s [", op_name);
	for (ssize_t i = 0; i < len; i++) {
		if (isprint((unsigned char)data[i]) && data[i] != '\\')
			putchar(data[i]);
		else
			printf("\\x%02x", (unsigned char)data[i]);
	}
	printf("]\n");
	fflush(stdout);
}

static void keep(int new_fd)
{
	say(new_fd < 0 ? -1 : 0);
	fd = new_fd;
	if (new_fd >= 0 && fds_len < (int)ARRAY_LEN(fds))
		fds[fds_len++] = new_fd;
}

struct flag {
	const char *name;
	int value;
};

static const struct flag open_flags[] = {
	{"r", O_RDONLY},
	{"w", O_WRONLY},
	{"rw", O_RDWR},
	{"creat", O_CREAT},
	{"excl", O_EXCL},
	{"trunc", O_TRUNC},
	{"append", O_APPEND},
	{"nonblock", O_NONBLOCK},
	{"nofollow", O_NOFOLLOW},
	{"directory", O_DIRECTORY},
	{"path", O_PATH},
	{"tmpfile", O_TMPFILE},
	{"sync", O_SYNC},
	{"direct", O_DIRECT},
};

static const struct flag rename_flags[] = {
	{"none", 0},
	{"noreplace", RENAME_NOREPLACE},
	{"exchange", RENAME_EXCHANGE},
};

static const struct flag fallocate_flags[] = {
	{"none", 0},
	{"keep", FALLOC_FL_KEEP_SIZE},
	{"punch", FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE},
	{"zero", FALLOC_FL_ZERO_RANGE},
};

static const struct flag lock_flags[] = {
	{"sh", LOCK_SH | LOCK_NB},
	{"ex", LOCK_EX | LOCK_NB},
	{"un", LOCK_UN},
};

static int parse_flags(const struct flag *table, size_t table_len, char *text)
{
	char *word;
	int value = 0;

	while ((word = strsep(&text, ",+"))) {
		size_t i = 0;

		while (i < table_len && strcmp(table[i].name, word) != 0)
			i++;
		if (i == table_len) {
			fprintf(stderr, "fsop: unknown flag %s\n", word);
			exit(2);
		}
		value |= table[i].value;
	}
	return value;
}

#define FLAGS(table, text) parse_flags(table, ARRAY_LEN(table), text)

static void op_open(char **arg)
{
	keep(open(arg[0], FLAGS(open_flags, arg[1]) | O_CLOEXEC, 0644));
}

static void op_dup(char **arg)
{
	(void)arg;
	keep(dup(fd));
}

static void op_use(char **arg)
{
	fd = fds[atoi(arg[0]) % (int)ARRAY_LEN(fds)];
}

static void op_close(char **arg)
{
	(void)arg;
	say(close(fd));
}

static void op_write(char **arg)
{
	say(write(fd, arg[0], strlen(arg[0])));
}

/* Bytes with \xNN and \n escapes, so that NUL can be written. */
static void op_writex(char **arg)
{
	auto_free char *data = malloc(strlen(arg[0]) + 1);
	size_t len = 0;

	for (const char *s = arg[0]; data && *s; s++) {
		unsigned byte;

		if (s[0] == '\\' && s[1] == 'x' && sscanf(s + 2, "%2x", &byte) == 1) {
			data[len++] = (char)byte;
			s += 3;
		} else if (s[0] == '\\' && s[1] == 'n') {
			data[len++] = '\n';
			s++;
		} else {
			data[len++] = *s;
		}
	}
	say(write(fd, data, len));
}

/* N bytes of one character, in one write. */
static void op_fill(char **arg)
{
	size_t len = strtoull(arg[0], NULL, 0);
	auto_free char *data = malloc(len + 1);

	if (data)
		memset(data, arg[1][0], len);
	say(write(fd, data, len));
}

static void op_pwrite(char **arg)
{
	say(pwrite(fd, arg[0], strlen(arg[0]), atoll(arg[1])));
}

static void op_read(char **arg)
{
	size_t len = strtoull(arg[0], NULL, 0);
	auto_free char *data = malloc(len + 1);

	say_data(data, read(fd, data, len));
}

static void op_pread(char **arg)
{
	size_t len = strtoull(arg[0], NULL, 0);
	auto_free char *data = malloc(len + 1);

	say_data(data, pread(fd, data, len, atoll(arg[1])));
}

static void op_fsync(char **arg)
{
	(void)arg;
	say(fsync(fd));
}

static void op_seek(char **arg)
{
	say(lseek(fd, atoll(arg[0]), SEEK_SET));
}

static void op_data(char **arg)
{
	say(lseek(fd, atoll(arg[0]), SEEK_DATA));
}

static void op_hole(char **arg)
{
	say(lseek(fd, atoll(arg[0]), SEEK_HOLE));
}

static void op_ftruncate(char **arg)
{
	say(ftruncate(fd, atoll(arg[0])));
}

static void op_truncate(char **arg)
{
	say(truncate(arg[0], atoll(arg[1])));
}

static void op_fallocate(char **arg)
{
	say(fallocate(fd, FLAGS(fallocate_flags, arg[0]), atoll(arg[1]), atoll(arg[2])));
}

static void op_size(char **arg)
{
	struct stat st;

	say(lstat(arg[0], &st) < 0 ? -1 : st.st_size);
}

static void op_fsize(char **arg)
{
	struct stat st;

	(void)arg;
	say(fstat(fd, &st) < 0 ? -1 : st.st_size);
}

static void op_inode(char **arg)
{
	struct stat st;

	say(lstat(arg[0], &st) < 0 ? -1 : (long long)st.st_ino);
}

static void op_type(char **arg)
{
	struct stat st;

	if (lstat(arg[0], &st) < 0)
		say(-1);
	else
		printf("%s %c\n", op_name, "?pc?d?b?-?l?s???"[(st.st_mode >> 12) & 15]);
}

static void op_mkdir(char **arg)
{
	say(mkdir(arg[0], 0755));
}

static void op_rmdir(char **arg)
{
	say(rmdir(arg[0]));
}

static void op_unlink(char **arg)
{
	say(unlink(arg[0]));
}

static void op_rename(char **arg)
{
	say(renameat2(AT_FDCWD, arg[0], AT_FDCWD, arg[1], FLAGS(rename_flags, arg[2])));
}

static void op_link(char **arg)
{
	say(link(arg[0], arg[1]));
}

static void op_symlink(char **arg)
{
	say(symlink(arg[0], arg[1]));
}

static void op_readlink(char **arg)
{
	char text[4096];

	say_data(text, readlink(arg[0], text, sizeof(text)));
}

static void op_mkfifo(char **arg)
{
	say(mkfifo(arg[0], 0644));
}

static void op_mknod(char **arg)
{
	say(mknod(arg[0], 0644 | (arg[1][0] == 'b' ? S_IFBLK : S_IFCHR), makedev(1, 3)));
}

static void op_chmod(char **arg)
{
	say(chmod(arg[0], (mode_t)strtoul(arg[1], NULL, 8)));
}

static void op_chown(char **arg)
{
	say(lchown(arg[0], (uid_t)atoi(arg[1]), (gid_t)atoi(arg[2])));
}

static void op_access(char **arg)
{
	say(access(arg[0], atoi(arg[1])));
}

static void op_setxattr(char **arg)
{
	say(lsetxattr(arg[0], arg[1], arg[2], strlen(arg[2]), 0));
}

static void op_getxattr(char **arg)
{
	char value[4096];

	say_data(value, lgetxattr(arg[0], arg[1], value, sizeof(value)));
}

static void op_getxattr_len(char **arg)
{
	char value[4096];

	say(lgetxattr(arg[0], arg[1], value, strtoull(arg[2], NULL, 0)));
}

static void op_listxattr(char **arg)
{
	char names[4096];

	say_data(names, llistxattr(arg[0], names, sizeof(names)));
}

static void op_removexattr(char **arg)
{
	say(lremovexattr(arg[0], arg[1]));
}

static void op_flock(char **arg)
{
	say(flock(fd, FLAGS(lock_flags, arg[0])));
}

/* In a process of its own: fcntl locks of one process never conflict. */
static void op_lock(char **arg)
{
	struct flock lock = {.l_type = arg[0][0] == 'r' ? F_RDLCK : F_WRLCK,
		.l_whence = SEEK_SET,
		.l_start = atoll(arg[1]),
		.l_len = atoll(arg[2])};

	say(fcntl(fd, F_SETLK, &lock));
}

static void op_child_lock(char **arg)
{
	pid_t pid = fork();

	if (pid == 0) {
		op_lock(arg);
		_exit(0);
	}
	waitpid(pid, NULL, 0);
}

/* Writes through a shared mapping, or reads through one. */
static void op_mmap_write(char **arg)
{
	size_t len = strlen(arg[0]);
	char *map = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	if (map == MAP_FAILED) {
		say(-1);
		return;
	}
	memcpy(map, arg[0], len);
	say(msync(map, len, MS_SYNC));
	munmap(map, len);
}

static void op_mmap_read(char **arg)
{
	size_t len = strtoull(arg[0], NULL, 0);
	char *map = mmap(NULL, len, PROT_READ, arg[1][0] == 's' ? MAP_SHARED : MAP_PRIVATE, fd, 0);

	if (map == MAP_FAILED) {
		say(-1);
		return;
	}
	say_data(map, (ssize_t)len);
	munmap(map, len);
}

static void op_poll(char **arg)
{
	struct pollfd poll_fd = {.fd = fd, .events = POLLIN};

	say(poll(&poll_fd, 1, atoi(arg[0])));
}

static void op_statvfs(char **arg)
{
	struct statvfs st;

	say(statvfs(arg[0], &st) < 0 ? -1 : (long long)(st.f_blocks > 0 && st.f_namemax >= 255));
}

static void op_copy(char **arg)
{
	int from = fds[atoi(arg[0])], to = fds[atoi(arg[1])];

	say(copy_file_range(from, NULL, to, NULL, strtoull(arg[2], NULL, 0), 0));
}

/* Entries of a directory but . and .., with one seek back to the start half-way. */
static void op_count(char **arg)
{
	DIR *dir = opendir(arg[0]);
	long long count = 0;

	if (!dir) {
		say(-1);
		return;
	}
	readdir(dir);
	rewinddir(dir);
	errno = 0;
	for (struct dirent *e; (e = readdir(dir));)
		count += strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0;
	say(errno ? -1 : count);
	closedir(dir);
}

static void op_connect(char **arg)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int s = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	snprintf(address.sun_path, sizeof(address.sun_path), "%s", arg[0]);
	say(connect(s, (struct sockaddr *)&address, sizeof(address)));
	close(s);
}

static void on_alarm(int sig)
{
	(void)sig;
}

/* A signal that interrupts what comes next after so many milliseconds. */
static void op_alarm(char **arg)
{
	const struct sigaction action = {.sa_handler = on_alarm};

	sigaction(SIGALRM, &action, NULL);
	ualarm((useconds_t)atoi(arg[0]) * 1000, 0);
}

/* Dies by SIGKILL with everything still open. */
static void op_die(char **arg)
{
	(void)arg;
	kill(getpid(), SIGKILL);
}

/* Waits for one byte on standard input. */
static void op_pause(char **arg)
{
	char byte;

	(void)arg;
	say(read(0, &byte, 1) < 0 ? -1 : 0);
}

struct op {
	const char *name;
	int args;
	void (*call)(char **arg);
};

static const struct op ops[] = {
	{"open", 2, op_open},
	{"dup", 0, op_dup},
	{"use", 1, op_use},
	{"close", 0, op_close},
	{"write", 1, op_write},
	{"writex", 1, op_writex},
	{"fill", 2, op_fill},
	{"pwrite", 2, op_pwrite},
	{"read", 1, op_read},
	{"pread", 2, op_pread},
	{"fsync", 0, op_fsync},
	{"seek", 1, op_seek},
	{"data", 1, op_data},
	{"hole", 1, op_hole},
	{"ftruncate", 1, op_ftruncate},
	{"truncate", 2, op_truncate},
	{"fallocate", 3, op_fallocate},
	{"size", 1, op_size},
	{"fsize", 0, op_fsize},
	{"inode", 1, op_inode},
	{"type", 1, op_type},
	{"mkdir", 1, op_mkdir},
	{"rmdir", 1, op_rmdir},
	{"unlink", 1, op_unlink},
	{"rename", 3, op_rename},
	{"link", 2, op_link},
	{"symlink", 2, op_symlink},
	{"readlink", 1, op_readlink},
	{"mkfifo", 1, op_mkfifo},
	{"mknod", 2, op_mknod},
	{"chmod", 2, op_chmod},
	{"chown", 3, op_chown},
	{"access", 2, op_access},
	{"setxattr", 3, op_setxattr},
	{"getxattr", 2, op_getxattr},
	{"getxattr_len", 3, op_getxattr_len},
	{"listxattr", 1, op_listxattr},
	{"removexattr", 2, op_removexattr},
	{"flock", 1, op_flock},
	{"lock", 3, op_lock},
	{"child_lock", 3, op_child_lock},
	{"mmap_write", 1, op_mmap_write},
	{"mmap_read", 2, op_mmap_read},
	{"poll", 1, op_poll},
	{"statvfs", 1, op_statvfs},
	{"copy", 3, op_copy},
	{"count", 1, op_count},
	{"connect", 1, op_connect},
	{"alarm", 1, op_alarm},
	{"die", 0, op_die},
	{"pause", 0, op_pause},
};

int main(int argc, char **argv)
{
	for (int i = 1; i < argc;) {
		const struct op *op = ops;

		while (op < ops + ARRAY_LEN(ops) && strcmp(op->name, argv[i]) != 0)
			op++;
		if (op == ops + ARRAY_LEN(ops) || i + op->args >= argc) {
			fprintf(stderr, "fsop: bad operation %s\n", argv[i]);
			return 2;
		}
		op_name = op->name;
		op->call(argv + i + 1);
		i += 1 + op->args;
	}
	return 0;
}
