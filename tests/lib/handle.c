// File handles as a file server uses them: name_to_handle_at(2), and back by open_by_handle_at(2).
//
// handle of PATH: prints it. handle stat|cat DIR HANDLE: of the file that it stands for in the mount
// of DIR; prints the inode number, or the content, or the error's name. handle forge DIR HANDLE N:
// opens N handles made of this one by changing bits, and reads what they lead to.
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/scope.h"

#define NODE_BYTES 8 /* of the kernel's FUSE handle: the node id, then the generation */

struct handle {
	struct file_handle head;
	unsigned char bytes[MAX_HANDLE_SZ];
};

static unsigned char *bytes_of(struct handle *handle)
{
	return handle->head.f_handle;
}

static int fail(void)
{
	printf("%s\n", strerrorname_np(errno));
	return 1;
}

static int print_handle(const char *path)
{
	struct handle handle = {.head.handle_bytes = MAX_HANDLE_SZ};
	int mount_id;

	if (name_to_handle_at(AT_FDCWD, path, &handle.head, &mount_id, 0) < 0)
		return fail();
	printf("%x:", (unsigned)handle.head.handle_type);
	for (unsigned i = 0; i < handle.head.handle_bytes; i++)
		printf("%02x", bytes_of(&handle)[i]);
	printf("\n");
	return 0;
}

static int parse(const char *text, struct handle *ret)
{
	unsigned type;
	int at = 0;

	*ret = (struct handle){0};
	if (sscanf(text, "%x:%n", &type, &at) != 1 || !at || strlen(text + at) / 2 > MAX_HANDLE_SZ)
		return -1;
	ret->head.handle_type = (int)type;
	ret->head.handle_bytes = (unsigned)strlen(text + at) / 2;
	for (unsigned i = 0; i < ret->head.handle_bytes; i++)
		if (sscanf(text + at + 2 * i, "%2hhx", &bytes_of(ret)[i]) != 1)
			return -1;
	return 0;
}

static int print_ino(int dir, struct handle *handle)
{
	int fd auto_close = open_by_handle_at(dir, &handle->head, O_PATH | O_CLOEXEC);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0)
		return fail();
	printf("%llu\n", (unsigned long long)st.st_ino);
	return 0;
}

static int print_content(int dir, struct handle *handle)
{
	int fd auto_close =
		open_by_handle_at(dir, &handle->head, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	char data[4096];
	ssize_t n;

	if (fd < 0)
		return fail();
	while ((n = read(fd, data, sizeof(data))) > 0)
		fwrite(data, 1, (size_t)n, stdout);
	return n < 0 ? fail() : 0;
}

static void list_all(int fd)
{
	DIR *dir = fdopendir(fd);

	while (dir && readdir(dir))
		;
	if (dir)
		closedir(dir);
	else
		close(fd);
}

/* Whatever a reader can do. */
static void use(int dir, struct handle *handle)
{
	char data[4096];
	struct stat st;
	int fd = open_by_handle_at(dir, &handle->head, O_PATH | O_CLOEXEC);

	if (fd >= 0) {
		(void)!fstat(fd, &st);
		(void)!readlinkat(fd, "", data, sizeof(data));
		close(fd);
	}
	fd = open_by_handle_at(dir, &handle->head, O_RDWR | O_NONBLOCK | O_CLOEXEC);
	if (fd >= 0)
		close(fd);
	fd = open_by_handle_at(dir, &handle->head, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0)
		return;
	if (fstat(fd, &st) == 0 && S_ISDIR(st.st_mode)) {
		list_all(fd);
		return;
	}
	(void)!read(fd, data, sizeof(data));
	close(fd);
}

static int forge(int dir, const struct handle *handle, unsigned long count)
{
	srandom(1);
	for (unsigned long i = 0; i < count; i++) {
		struct handle other = *handle;
		unsigned changes = 1 + (unsigned)random() % 6;

		while (changes--)
			bytes_of(&other)[random() % NODE_BYTES] ^=
				(unsigned char)(1 << random() % 8);
		use(dir, &other);
	}
	return 0;
}

int main(int argc, char **argv)
{
	int dir auto_close = -1;
	struct handle handle;

	if (argc == 3 && !strcmp(argv[1], "of"))
		return print_handle(argv[2]);
	if (argc < 4 || parse(argv[3], &handle) < 0) {
		fprintf(stderr, "usage: handle of PATH | stat|cat|forge DIR HANDLE [N]\n");
		return 2;
	}
	dir = open(argv[2], O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (dir < 0)
		return fail();
	if (!strcmp(argv[1], "stat"))
		return print_ino(dir, &handle);
	if (!strcmp(argv[1], "cat"))
		return print_content(dir, &handle);
	return forge(dir, &handle, argc > 4 ? strtoul(argv[4], NULL, 0) : 1000);
}
