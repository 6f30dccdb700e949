// Times single operations without an interpreter's noise: starts of commands, and small files.
//
// latency spawn COUNT CMD...      runs CMD by posix_spawn and waits for it, COUNT times
// latency run COUNT MOUNT TEXT    writes TEXT to MOUNT/ctl/run, closes, reads the exit code
// latency files COUNT DIR         creates, stats and unlinks COUNT files: three times in all
// Prints `p50 p99` in microseconds; for files the microseconds a file of each of the three.
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/scope.h"

extern char **environ;

static int compare(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

static void print_percentiles(uint64_t *usec, size_t count)
{
	qsort(usec, count, sizeof(*usec), compare);
	printf("%llu %llu\n", (unsigned long long)usec[count / 2],
		(unsigned long long)usec[count * 99 / 100]);
}

static int spawn_once(char **argv)
{
	posix_spawn_file_actions_t actions;
	int status, err;
	pid_t pid;

	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0);
	err = posix_spawnp(&pid, argv[0], &actions, NULL, argv, environ);
	posix_spawn_file_actions_destroy(&actions);
	if (err)
		return -err;
	if (waitpid(pid, &status, 0) < 0)
		return -errno;
	return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? 0 : -ECHILD;
}

/* The run's id is read back on the handle that wrote, as a script does it. */
static int run_once(const char *mount, const char *text)
{
	char path[4096], id[64] = "", code[16] = "";
	ssize_t len = (ssize_t)strlen(text);

	snprintf(path, sizeof(path), "%s/ctl/run", mount);
	{
		auto_close int fd = open(path, O_RDWR | O_CLOEXEC);

		if (fd < 0 || write(fd, text, (size_t)len) != len ||
			pread(fd, id, sizeof(id) - 1, 0) <= 0)
			return -EIO;
	}
	id[strcspn(id, "\n")] = 0;
	snprintf(path, sizeof(path), "%s/out/%s/exit_code", mount, id);
	{
		auto_close int fd = open(path, O_RDONLY | O_CLOEXEC);

		if (fd < 0 || read(fd, code, sizeof(code) - 1) <= 0)
			return -ENOENT;
	}
	return strcmp(code, "0\n") == 0 ? 0 : -EINVAL;
}

static int time_files(size_t count, const char *dir)
{
	uint64_t start = clock_monotonic_usec(), times[3];
	struct stat st;
	char path[4096];

	for (int phase = 0; phase < 3; phase++) {
		for (size_t i = 0; i < count; i++) {
			int fd = -1, ret;

			snprintf(path, sizeof(path), "%s/f%zu", dir, i);
			if (phase == 0)
				ret = fd =
					open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
			else
				ret = phase == 1 ? stat(path, &st) : unlink(path);
			if (ret < 0)
				return -errno;
			if (fd >= 0)
				close(fd);
		}
		times[phase] = clock_monotonic_usec() - start;
		start += times[phase];
	}
	for (int phase = 0; phase < 3; phase++)
		printf("%.2f ", (double)times[phase] / (double)count);
	printf("\n");
	return 0;
}

static int time_each(bool spawn, size_t count, char **argv)
{
	auto_free uint64_t *usec = calloc(count, sizeof(*usec));

	if (!usec)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++) {
		uint64_t start = clock_monotonic_usec();
		int ret = spawn ? spawn_once(argv) : run_once(argv[0], argv[1]);

		if (ret < 0)
			return ret;
		usec[i] = clock_monotonic_usec() - start;
	}
	print_percentiles(usec, count);
	return 0;
}

int main(int argc, char **argv)
{
	size_t count = argc > 3 ? strtoull(argv[2], NULL, 10) : 0;
	int ret = -EINVAL;

	if (count == 0)
		return 2;
	if (strcmp(argv[1], "spawn") == 0)
		ret = time_each(true, count, argv + 3);
	else if (strcmp(argv[1], "run") == 0 && argc == 5)
		ret = time_each(false, count, argv + 3);
	else if (strcmp(argv[1], "files") == 0)
		ret = time_files(count, argv[3]);
	if (ret < 0)
		fprintf(stderr, "latency: %s\n", strerror(-ret));
	return ret < 0;
}
