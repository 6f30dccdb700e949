// Parts of the kernel that are large, or that others have been attacked through: rings, huge pages,
// programs, keys, kinds of sockets and terminals; and other ways into it than those that are looked at.
#include "escape.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static long escape_io_uring(void)
{
	char params[256] = {0};

	return syscall(SYS_io_uring_setup, 4, params);
}

static long escape_aio(void)
{
	unsigned long context = 0;

	return syscall(SYS_io_setup, 1, &context);
}

static long escape_huge_file(void)
{
	return syscall(SYS_memfd_create, "huge", MFD_HUGETLB);
}

static long escape_huge_memory(void)
{
	void *at = mmap(NULL, 2 << 20, PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB, -1, 0);

	return at == MAP_FAILED ? -1 : 0;
}

static long escape_huge_segment(void)
{
	return shmget(IPC_PRIVATE, 2 << 20, IPC_CREAT | SHM_HUGETLB | 0600);
}

static long escape_bpf(void)
{
	union bpf_attr attr = {
		.map_type = BPF_MAP_TYPE_ARRAY, .key_size = 4, .value_size = 4, .max_entries = 1};

	return syscall(SYS_bpf, BPF_MAP_CREATE, &attr, sizeof(attr));
}

static long escape_perf(void)
{
	struct perf_event_attr attr = {.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(attr),
		.config = PERF_COUNT_SW_CPU_CLOCK,
		.exclude_kernel = 1};

	return syscall(SYS_perf_event_open, &attr, 0, -1, -1, 0);
}

static long escape_userfaultfd(void)
{
	return syscall(SYS_userfaultfd, O_CLOEXEC | 1);
}

static long escape_keyctl(void)
{
	return syscall(SYS_keyctl, 0, -4, 0);
}

static long escape_add_key(void)
{
	return syscall(SYS_add_key, "user", "sandpit", "x", 1, -4);
}

static long escape_vsock(void)
{
	return socket(AF_VSOCK, SOCK_STREAM, 0);
}

static long escape_alg(void)
{
	return socket(AF_ALG, SOCK_SEQPACKET, 0);
}

static long escape_packet(void)
{
	return socket(AF_PACKET, SOCK_RAW, 0);
}

static long escape_raw(void)
{
	return socket(AF_INET, SOCK_RAW, 1);
}

static long escape_netlink_audit(void)
{
	return socket(AF_NETLINK, SOCK_RAW, 9);
}

static long escape_tiocsti(void)
{
	return ioctl(0, TIOCSTI, "x");
}

static long escape_tiocsti_high(void)
{
	return syscall(SYS_ioctl, 0, TIOCSTI | (1UL << 32), "x");
}

static long escape_tioclinux(void)
{
	char arg = 3;

	return ioctl(0, TIOCLINUX, &arg);
}

static long escape_discipline(void)
{
	int null = 27; /* N_NULL, which every kernel has */

	return ioctl(posix_openpt(O_RDWR | O_NOCTTY), TIOCSETD, &null);
}

static long escape_personality(void)
{
	return syscall(SYS_personality, 0x0400000UL);
}

static long escape_unknown_call(void)
{
	return syscall(4095);
}

/* The 32-bit entry, which would pass by a filter for x86-64 numbers. */
static long escape_int80(void)
{
	int status = 0;
	pid_t pid = fork();

	if (pid == 0) {
#ifdef __x86_64__
		long result;

		__asm__ volatile("int $0x80" : "=a"(result) : "a"(20) : "memory");
		_exit(result > 0 ? 0 : 1);
#else
		_exit(1);
#endif
	}
	waitpid(pid, &status, 0);
	errno = WIFSIGNALED(status) ? EPERM : ENOSYS;
	return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? 0 : -1;
}

static long escape_mbind(void)
{
	return syscall(SYS_mbind, 0, 0, 0, NULL, 0, 0);
}

static long escape_move_pages(void)
{
	return syscall(SYS_move_pages, 0, 0, NULL, NULL, NULL, 0);
}

static long escape_migrate_pages(void)
{
	return syscall(SYS_migrate_pages, 0, 0, NULL, NULL);
}

static long escape_lookup_dcookie(void)
{
	return syscall(SYS_lookup_dcookie, 0, NULL, 0);
}

/* The numbers of the x32 kind, which have a bit of their own. */
static long escape_x32(void)
{
	int status = 0;
	pid_t pid = fork();

	if (pid == 0)
		_exit(syscall(0x40000000 + SYS_getpid) > 0 ? 0 : 1);
	waitpid(pid, &status, 0);
	errno = WIFSIGNALED(status) ? EPERM : ENOSYS;
	return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? 0 : -1;
}

const struct escape escapes_kernel[] = {
	ESCAPE(io_uring),
	ESCAPE(aio),
	ESCAPE(huge_file),
	ESCAPE(huge_memory),
	ESCAPE(huge_segment),
	ESCAPE(bpf),
	ESCAPE(perf),
	ESCAPE(userfaultfd),
	ESCAPE(keyctl),
	ESCAPE(add_key),
	ESCAPE(vsock),
	ESCAPE(alg),
	ESCAPE(packet),
	ESCAPE(raw),
	ESCAPE(netlink_audit),
	ESCAPE(tiocsti),
	ESCAPE(tiocsti_high),
	ESCAPE(tioclinux),
	ESCAPE(discipline),
	ESCAPE(mbind),
	ESCAPE(move_pages),
	ESCAPE(migrate_pages),
	ESCAPE(lookup_dcookie),
	ESCAPE(x32),
	ESCAPE(personality),
	ESCAPE(unknown_call),
	ESCAPE(int80),
	ESCAPES_END,
};
