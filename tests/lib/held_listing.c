// Lists a directory and is held up in the middle: the file system has answered, and the kernel takes in
// nothing of the answer before it has given the first name to the caller, whose memory is not there yet.
// For what happens in just that moment. By root: see userfaultfd(2).
//
// held_listing DIR FIFO: prints `held` when it is so far, and goes on once somebody opens the FIFO to write.
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define SIZE (64u << 10)

struct listing {
	int fd;
	void *memory;
	ssize_t len; /* -errno */
};

static int fail(const char *what)
{
	fprintf(stderr, "held_listing: %s: %s\n", what, strerror(errno));
	return 1;
}

static void *list(void *arg)
{
	struct listing *listing = arg;

	listing->len = getdents64(listing->fd, listing->memory, SIZE);
	if (listing->len < 0)
		listing->len = -errno;
	return NULL;
}

/* Memory that is missing until fill(). */
static void *make_missing(int faults)
{
	struct uffdio_api api = {.api = UFFD_API};
	struct uffdio_register range = {.mode = UFFDIO_REGISTER_MODE_MISSING};
	void *memory = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (memory == MAP_FAILED)
		return NULL;
	range.range.start = (uintptr_t)memory;
	range.range.len = SIZE;
	if (ioctl(faults, UFFDIO_API, &api) < 0 || ioctl(faults, UFFDIO_REGISTER, &range) < 0)
		return NULL;
	return memory;
}

static int fill(int faults, void *memory)
{
	struct uffdio_zeropage zeros = {.range = {.start = (uintptr_t)memory, .len = SIZE}};

	return ioctl(faults, UFFDIO_ZEROPAGE, &zeros);
}

static int hold(int faults, struct listing *listing, const char *fifo)
{
	struct uffd_msg fault;
	pthread_t thread;

	errno = pthread_create(&thread, NULL, list, listing);
	if (errno)
		return fail("thread");
	if (read(faults, &fault, sizeof(fault)) != sizeof(fault))
		return fail("nothing is held");
	printf("held\n");
	fflush(stdout);
	if (open(fifo, O_RDONLY | O_CLOEXEC) < 0)
		return fail(fifo);
	if (fill(faults, listing->memory) < 0)
		return fail("filling memory");
	pthread_join(thread, NULL);
	errno = listing->len < 0 ? (int)-listing->len : 0;
	return errno ? fail("getdents64") : 0;
}

int main(int argc, char **argv)
{
	int faults = (int)syscall(SYS_userfaultfd, O_CLOEXEC);
	struct listing listing = {
		.fd = argc == 3 ? open(argv[1], O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1};

	if (faults < 0)
		return fail("userfaultfd");
	if (listing.fd < 0)
		return fail("usage: DIR FIFO");
	listing.memory = make_missing(faults);
	return listing.memory ? hold(faults, &listing, argv[2]) : fail("missing memory");
}
