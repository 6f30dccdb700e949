// Runs inside the sandbox: makes each forbidden system call and prints `NAME ERROR`, or `NAME ok`
// when it succeeded. Static, so that it runs in any tree. `escape inside` makes all of them,
// `escape inside NAME` one; without the word it does nothing, for outside they would do harm.
#include <errno.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <linux/perf_event.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/swap.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "common/scope.h"

static long escape_unshare_user(void)
{
	return unshare(CLONE_NEWUSER);
}

static long escape_unshare_mount(void)
{
	return unshare(CLONE_NEWNS);
}

static long escape_unshare_pid(void)
{
	return unshare(CLONE_NEWPID);
}

static long escape_unshare_cgroup(void)
{
	return unshare(CLONE_NEWCGROUP);
}

static long escape_clone_user(void)
{
	long pid = syscall(SYS_clone, CLONE_NEWUSER | SIGCHLD, 0, 0, 0, 0);

	if (pid == 0)
		_exit(0);
	return pid;
}

static long escape_clone3(void)
{
	struct {
		uint64_t flags, pidfd, child_tid, parent_tid, exit_signal, stack, stack_size, tls;
	} args = {.flags = CLONE_NEWUSER, .exit_signal = SIGCHLD};
	long pid = syscall(SYS_clone3, &args, sizeof(args));

	if (pid == 0)
		_exit(0);
	return pid;
}

static long escape_mount_tmpfs(void)
{
	return mount("none", "/tmp", "tmpfs", 0, NULL);
}

static long escape_mount_overlay(void)
{
	return mount("none", "/tmp", "overlay", 0, "lowerdir=/:/usr");
}

static long escape_remount_root(void)
{
	return mount(NULL, "/", NULL, MS_REMOUNT | MS_BIND, NULL);
}

static long escape_umount_proc(void)
{
	return umount2("/proc", MNT_DETACH);
}

static long escape_fsopen(void)
{
	return syscall(SYS_fsopen, "tmpfs", 0);
}

static long escape_open_tree(void)
{
	return syscall(SYS_open_tree, AT_FDCWD, "/", 1);
}

static long escape_move_mount(void)
{
	return syscall(SYS_move_mount, AT_FDCWD, "/tmp", AT_FDCWD, "/root", 0);
}

static long escape_mount_setattr(void)
{
	uint64_t attr[4] = {0};

	return syscall(SYS_mount_setattr, AT_FDCWD, "/", 0, attr, sizeof(attr));
}

static long escape_pivot_root(void)
{
	return syscall(SYS_pivot_root, ".", ".");
}

static long escape_chroot(void)
{
	return chroot("/tmp");
}

static long escape_setns(void)
{
	int fd = open("/proc/1/ns/mnt", O_RDONLY);

	return fd < 0 ? -1 : setns(fd, 0);
}

static long escape_open_by_handle(void)
{
	struct {
		struct file_handle handle;
		unsigned char bytes[8];
	} h = {.handle = {.handle_bytes = 8, .handle_type = 1}, .bytes = {2}};
	int fd = open("/", O_RDONLY);

	return open_by_handle_at(fd, &h.handle, O_RDONLY);
}

static long escape_mknod(void)
{
	return mknod("/tmp/escape-null", S_IFCHR | 0666, makedev(1, 3));
}

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

static long escape_ptrace_init(void)
{
	return ptrace(PTRACE_SEIZE, 1, 0, 0);
}

static long escape_pidfd_getfd(void)
{
	long pidfd = syscall(SYS_pidfd_open, 1, 0);

	return pidfd < 0 ? -1 : syscall(SYS_pidfd_getfd, pidfd, 3, 0);
}

static long escape_vm_readv_init(void)
{
	char byte;
	struct iovec local = {&byte, 1}, remote = {(void *)0x400000, 1};

	return process_vm_readv(1, &local, 1, &remote, 1, 0);
}

static long escape_prlimit_init(void)
{
	struct rlimit limit = {3, 3};

	return prlimit(1, RLIMIT_NOFILE, &limit, NULL);
}

/* Init's other threads have the limits and the priority that the first has, and are found by their own
 * numbers. The first success, or the last failure. */
static long on_threads(long (*attempt)(pid_t thread))
{
	long r = -1;

	for (pid_t thread = 2; thread <= 3 && r < 0; thread++)
		r = attempt(thread);
	return r;
}

static long prlimit_one(pid_t thread)
{
	struct rlimit limit = {3, 3};

	return prlimit(thread, RLIMIT_NOFILE, &limit, NULL);
}

static long escape_prlimit_thread(void)
{
	return on_threads(prlimit_one);
}

static long nice_one(pid_t thread)
{
	return setpriority(PRIO_PROCESS, (id_t)thread, 19);
}

static long escape_nice_thread(void)
{
	return on_threads(nice_one);
}

static long bind_one(pid_t thread)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(0, &set);
	return sched_setaffinity(thread, sizeof(set), &set);
}

static long escape_affinity_thread(void)
{
	return on_threads(bind_one);
}

static long ioprio_one(pid_t thread)
{
	return syscall(SYS_ioprio_set, 1, thread, 3 << 13);
}

static long escape_ioprio_thread(void)
{
	return on_threads(ioprio_one);
}

static long idle_one(pid_t thread)
{
	struct sched_param param = {0};

	return sched_setscheduler(thread, SCHED_IDLE, &param);
}

static long escape_class_thread(void)
{
	return on_threads(idle_one);
}

static long escape_fifo_class(void)
{
	struct sched_param param = {.sched_priority = 99};

	return sched_setscheduler(0, SCHED_FIFO, &param);
}

static long escape_nice(void)
{
	return setpriority(PRIO_PROCESS, 0, -20);
}

static long escape_reboot(void)
{
	return syscall(SYS_reboot, 0xfee1dead, 672274793, 0, 0);
}

static long escape_init_module(void)
{
	return syscall(SYS_init_module, "", 0, "");
}

static long escape_kexec(void)
{
	return syscall(SYS_kexec_load, 0, 0, NULL, 0);
}

static long escape_swapon(void)
{
	return swapon("/tmp/x", 0);
}

static long escape_acct(void)
{
	return syscall(SYS_acct, NULL);
}

static long escape_settime(void)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return clock_settime(CLOCK_REALTIME, &now);
}

static long escape_sethostname(void)
{
	return sethostname("escaped", 7);
}

static long escape_syslog(void)
{
	return syscall(SYS_syslog, 10, NULL, 0);
}

static long escape_quotactl(void)
{
	return syscall(SYS_quotactl, 0, "/", 0, NULL);
}

static long escape_iopl(void)
{
	return syscall(SYS_iopl, 3);
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

static long escape_dumpable_core(void)
{
	struct rlimit limit = {RLIM_INFINITY, RLIM_INFINITY};

	return setrlimit(RLIMIT_CORE, &limit);
}

static long escape_kcmp(void)
{
	return syscall(SYS_kcmp, getpid(), getpid(), 0, 0, 1);
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

static long escape_process_madvise(void)
{
	return syscall(SYS_process_madvise, -1, NULL, 0, 0, 0);
}

static long escape_lookup_dcookie(void)
{
	return syscall(SYS_lookup_dcookie, 0, NULL, 0);
}

static long escape_adjtimex(void)
{
	char timex[256] = {1};

	return syscall(SYS_adjtimex, timex);
}

static long escape_fanotify(void)
{
	return syscall(SYS_fanotify_init, 0, 0);
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

struct escape {
	const char *name;
	long (*call)(void);
};

#define ESCAPE(name)                                                                               \
	{                                                                                          \
#name, escape_##name                                                               \
	}

static const struct escape escapes[] = {
	ESCAPE(unshare_user),
	ESCAPE(unshare_mount),
	ESCAPE(unshare_pid),
	ESCAPE(unshare_cgroup),
	ESCAPE(clone_user),
	ESCAPE(clone3),
	ESCAPE(mount_tmpfs),
	ESCAPE(mount_overlay),
	ESCAPE(remount_root),
	ESCAPE(umount_proc),
	ESCAPE(fsopen),
	ESCAPE(open_tree),
	ESCAPE(move_mount),
	ESCAPE(mount_setattr),
	ESCAPE(pivot_root),
	ESCAPE(chroot),
	ESCAPE(setns),
	ESCAPE(open_by_handle),
	ESCAPE(mknod),
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
	ESCAPE(ptrace_init),
	ESCAPE(pidfd_getfd),
	ESCAPE(vm_readv_init),
	ESCAPE(prlimit_init),
	ESCAPE(prlimit_thread),
	ESCAPE(nice_thread),
	ESCAPE(affinity_thread),
	ESCAPE(ioprio_thread),
	ESCAPE(class_thread),
	ESCAPE(kcmp),
	ESCAPE(mbind),
	ESCAPE(move_pages),
	ESCAPE(migrate_pages),
	ESCAPE(process_madvise),
	ESCAPE(lookup_dcookie),
	ESCAPE(adjtimex),
	ESCAPE(fanotify),
	ESCAPE(x32),
	ESCAPE(fifo_class),
	ESCAPE(nice),
	ESCAPE(reboot),
	ESCAPE(init_module),
	ESCAPE(kexec),
	ESCAPE(swapon),
	ESCAPE(acct),
	ESCAPE(settime),
	ESCAPE(sethostname),
	ESCAPE(syslog),
	ESCAPE(quotactl),
	ESCAPE(iopl),
	ESCAPE(personality),
	ESCAPE(unknown_call),
	ESCAPE(int80),
	ESCAPE(dumpable_core),
};

int main(int argc, char **argv)
{
	if (argc < 2 || strcmp(argv[1], "inside") != 0)
		return 2;
	for (size_t i = 0; i < ARRAY_LEN(escapes); i++) {
		long result;

		if (argc > 2 && strcmp(argv[2], escapes[i].name) != 0)
			continue;
		result = escapes[i].call();
		printf("%s %s\n", escapes[i].name, result < 0 ? strerrorname_np(errno) : "ok");
	}
	return 0;
}
