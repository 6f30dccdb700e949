// Times one kind of operation on files in a directory; see tests/bench/files.
//
// file_ops ROW DIR [MIB]   prints how many seconds it took
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/scope.h"

#define FILES 5000
#define STATS 20000
#define RANDOM_READS 50000
#define BLOCK (1024 * 1024)
#define PAGE 4096

struct place {
	int dir_fd;
	size_t bytes;
	uint64_t seed;
	uint64_t start_usec;
};

static uint64_t next_random(struct place *p)
{
	p->seed = p->seed * 6364136223846793005u + 1442695040888963407u;
	return p->seed >> 33;
}

static void name_of(int i, char *ret, size_t size)
{
	snprintf(ret, size, "f%d", i);
}

static int write_all(struct place *p, const char *name)
{
	auto_close int fd = openat(p->dir_fd, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	auto_free char *block = calloc(1, BLOCK);

	if (fd < 0 || !block)
		return -errno;
	for (size_t at = 0; at < p->bytes; at += BLOCK)
		if (write(fd, block, BLOCK) != BLOCK)
			return -EIO;
	return 0;
}

static int seq_write(struct place *p)
{
	return write_all(p, "written");
}

static int seq_read(struct place *p)
{
	auto_close int fd = openat(p->dir_fd, "big", O_RDONLY | O_CLOEXEC);
	auto_free char *block = malloc(BLOCK);
	ssize_t n = fd < 0 ? -1 : 1;

	while (n > 0)
		n = read(fd, block, BLOCK);
	return (int)n;
}

static int random_read(struct place *p)
{
	auto_close int fd = openat(p->dir_fd, "big", O_RDONLY | O_CLOEXEC);
	char page[PAGE];

	for (int i = 0; i < RANDOM_READS; i++)
		if (pread(fd, page, PAGE, (off_t)(next_random(p) % (p->bytes / PAGE) * PAGE)) !=
			PAGE)
			return -EIO;
	return 0;
}

static int random_write(struct place *p)
{
	auto_close int fd = openat(p->dir_fd, "big", O_WRONLY | O_CLOEXEC);
	char page[PAGE] = {0};

	for (int i = 0; i < RANDOM_READS / 10; i++)
		if (pwrite(fd, page, PAGE, (off_t)(next_random(p) % (p->bytes / PAGE) * PAGE)) !=
			PAGE)
			return -EIO;
	return 0;
}

static int mmap_read(struct place *p)
{
	auto_close int fd = openat(p->dir_fd, "big", O_RDONLY | O_CLOEXEC);
	const char *map = mmap(NULL, p->bytes, PROT_READ, MAP_SHARED, fd, 0);
	volatile char sum = 0;

	if (map == MAP_FAILED)
		return -errno;
	for (size_t at = 0; at < p->bytes; at += PAGE / 4)
		sum = (char)(sum + map[at]);
	return munmap((void *)map, p->bytes);
}

static int create(struct place *p)
{
	char name[16];

	for (int i = 0; i < FILES; i++) {
		auto_close int fd = -1;

		name_of(i, name, sizeof(name));
		fd = openat(p->dir_fd, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
		if (fd < 0 || write(fd, name, 4) != 4)
			return -errno;
	}
	return 0;
}

/* Warm: after the first round of them. */
static int stat_all(struct place *p)
{
	char name[16];
	struct stat st;

	for (int i = 0; i < STATS + FILES; i++) {
		if (i == FILES)
			p->start_usec = clock_monotonic_usec();
		name_of(i % FILES, name, sizeof(name));
		if (fstatat(p->dir_fd, name, &st, 0) < 0)
			return -errno;
	}
	return 0;
}

static int open_all(struct place *p)
{
	char name[16];

	for (int i = 0; i < FILES; i++) {
		auto_close int fd = -1;

		name_of(i, name, sizeof(name));
		fd = openat(p->dir_fd, name, O_RDONLY | O_CLOEXEC);
		if (fd < 0)
			return -errno;
	}
	return 0;
}

static int unlink_all(struct place *p)
{
	char name[16];

	for (int i = 0; i < FILES; i++) {
		name_of(i, name, sizeof(name));
		if (unlinkat(p->dir_fd, name, 0) < 0)
			return -errno;
	}
	return 0;
}

static int list_all(struct place *p)
{
	for (int i = 0; i < 10; i++) {
		DIR *dir = fdopendir(openat(p->dir_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));

		if (!dir)
			return -errno;
		while (readdir(dir))
			;
		closedir(dir);
	}
	return 0;
}

static const struct row {
	const char *name;
	int (*work)(struct place *p);
	bool warm; /* done once before it is timed */
} rows[] = {
	{"seq_write", seq_write, false},
	{"seq_read", seq_read, true},
	{"random_read_4k", random_read, true},
	{"mmap_read", mmap_read, true},
	{"random_write_4k", random_write, false},
	{"read_written", seq_read, false}, /* what the row before has written to */
	{"create", create, false},
	{"stat", stat_all, false},
	{"open_close", open_all, false},
	{"readdir", list_all, false},
	{"unlink", unlink_all, false},
};

static int run(const struct row *row, struct place *p)
{
	struct stat st;
	int r = 0;

	if (fstatat(p->dir_fd, "big", &st, 0) < 0 || (size_t)st.st_size != p->bytes)
		r = write_all(p, "big");
	if (r == 0 && row->warm)
		r = row->work(p);
	p->start_usec = clock_monotonic_usec();
	if (r == 0)
		r = row->work(p);
	if (r < 0)
		return r;
	printf("%.6f\n", (double)(clock_monotonic_usec() - p->start_usec) / (double)USEC_PER_SEC);
	return 0;
}

int main(int argc, char **argv)
{
	struct place p = {.seed = 1};
	int r = -EINVAL;

	if (argc < 3)
		return 2;
	p.bytes = (argc > 3 ? strtoul(argv[3], NULL, 10) : 128) * BLOCK;
	p.dir_fd = open(argv[2], O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (p.dir_fd < 0)
		r = -errno;
	else
		for (size_t i = 0; i < ARRAY_LEN(rows); i++)
			if (!strcmp(argv[1], rows[i].name))
				r = run(&rows[i], &p);
	if (r < 0)
		fprintf(stderr, "file_ops: %s in %s: %s\n", argv[1], argv[2], strerror(-r));
	return r < 0;
}
