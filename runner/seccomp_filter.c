// The system call filter of everything that runs in the sandbox: which calls there are, and which
// arguments are refused. Names that are in neither table, and calls newer than it, get ENOSYS, so
// that libraries fall back to what they used before.
#include "runner/seccomp_filter.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <netinet/in.h>
#include <seccomp.h>
#include <stdbool.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/scope.h"
#include "runner/init_proto.h"
#include "runner/sandbox.h"

/* The ordinary work of programs. Several names a line; what a machine lacks is skipped. */
// clang-format off
static const char *const allowed[] = {
	/* files */
	"access", "chdir", "chmod", "chown", "chown32", "close", "close_range",
	"copy_file_range", "creat", "dup", "dup2", "dup3", "faccessat", "faccessat2",
	"fadvise64", "fadvise64_64", "fallocate", "fchdir", "fchmod", "fchmodat",
	"fchmodat2", "fchown", "fchown32", "fchownat", "fcntl", "fcntl64", "fdatasync",
	"fgetxattr", "flistxattr", "flock", "fremovexattr", "fsetxattr", "fstat", "fstat64",
	"fstatat64", "fstatfs", "fstatfs64", "fsync", "ftruncate", "ftruncate64",
	"futimesat", "getcwd", "getdents", "getdents64", "getxattr", "getxattrat",
	"inotify_add_watch", "inotify_init", "inotify_init1", "inotify_rm_watch", "ioctl", "lchown", "lchown32", "lgetxattr", "link", "linkat", "listxattr",
	"listxattrat", "llistxattr", "_llseek", "lremovexattr", "lseek", "lsetxattr",
	"lstat", "lstat64", "mkdir", "mkdirat", "mknod", "mknodat", "name_to_handle_at",
	"newfstatat", "open", "openat", "openat2", "pipe", "pipe2", "pread64", "preadv",
	"preadv2", "pwrite64", "pwritev", "pwritev2", "read", "readahead", "readlink",
	"readlinkat", "readv", "removexattr", "removexattrat", "rename", "renameat",
	"renameat2", "rmdir", "sendfile", "sendfile64", "setxattr", "setxattrat", "splice",
	"stat", "stat64", "statfs", "statfs64", "statx", "symlink", "symlinkat", "sync",
	"sync_file_range", "sync_file_range2", "syncfs", "tee", "truncate", "truncate64",
	"umask", "unlink", "unlinkat", "utime", "utimensat", "utimensat_time64", "utimes",
	"vmsplice", "write", "writev",
	/* waiting */
	"epoll_create", "epoll_create1", "epoll_ctl", "epoll_ctl_old", "epoll_pwait",
	"epoll_pwait2", "epoll_wait", "epoll_wait_old", "eventfd", "eventfd2", "_newselect",
	"poll", "ppoll", "ppoll_time64", "pselect6", "pselect6_time64", "select",
	"signalfd", "signalfd4", "timerfd_create", "timerfd_gettime", "timerfd_gettime64",
	"timerfd_settime", "timerfd_settime64",
	/* memory */
	"brk", "cachestat", "madvise", "map_shadow_stack", "membarrier", "memfd_create",
	"memfd_secret", "mincore", "mlock", "mlock2", "mlockall", "mmap", "mmap2",
	"mprotect", "mremap", "mseal", "msync", "munlock", "munlockall", "munmap",
	"pkey_alloc", "pkey_free", "pkey_mprotect", "process_mrelease", "remap_file_pages",
	/* processes, threads, signals */
	"alarm", "arch_prctl", "capget", "capset", "chroot", "clone", "execve", "execveat",
	"exit", "exit_group", "fork", "futex", "futex_requeue", "futex_time64",
	"futex_wait", "futex_waitv", "futex_wake", "getcpu", "getegid", "getegid32",
	"geteuid", "geteuid32", "getgid", "getgid32", "getgroups", "getgroups32",
	"getitimer", "getpgid", "getpgrp", "getpid", "getppid", "getpriority", "getresgid",
	"getresgid32", "getresuid", "getresuid32", "getrlimit", "get_robust_list",
	"getrusage", "getsid", "get_thread_area", "gettid", "getuid", "getuid32",
	"ioprio_get", "ioprio_set", "kill", "landlock_add_rule", "landlock_create_ruleset",
	"landlock_restrict_self", "modify_ldt", "nanosleep", "pause", "pidfd_open",
	"pidfd_send_signal", "prctl", "prlimit64", "process_vm_readv", "process_vm_writev",
	"ptrace", "restart_syscall", "rseq", "rt_sigaction", "rt_sigpending",
	"rt_sigprocmask", "rt_sigqueueinfo", "rt_sigreturn", "rt_sigsuspend",
	"rt_sigtimedwait", "rt_sigtimedwait_time64", "rt_tgsigqueueinfo",
	"sched_getaffinity", "sched_getattr", "sched_getparam", "sched_get_priority_max",
	"sched_get_priority_min", "sched_getscheduler", "sched_rr_get_interval",
	"sched_rr_get_interval_time64", "sched_setaffinity", "sched_setattr",
	"sched_setparam", "sched_setscheduler", "sched_yield", "seccomp", "setfsgid",
	"setfsgid32", "setfsuid", "setfsuid32", "setgid", "setgid32", "setgroups",
	"setgroups32", "setitimer", "setpgid", "setpriority", "setregid", "setregid32",
	"setresgid", "setresgid32", "setresuid", "setresuid32", "setreuid", "setreuid32",
	"setrlimit", "set_robust_list", "setsid", "set_thread_area", "set_tid_address",
	"setuid", "setuid32", "sigaltstack", "sigreturn", "sysinfo", "tgkill", "times",
	"tkill", "ugetrlimit", "uname", "unshare", "vfork", "wait4", "waitid", "waitpid",
	/* clocks and timers */
	"clock_getres", "clock_getres_time64", "clock_gettime", "clock_gettime64",
	"clock_nanosleep", "clock_nanosleep_time64", "gettimeofday", "time", "timer_create",
	"timer_delete", "timer_getoverrun", "timer_gettime", "timer_gettime64",
	"timer_settime", "timer_settime64",
	/* communication */
	"accept", "accept4", "bind", "connect", "getpeername", "getrandom", "getsockname",
	"getsockopt", "listen", "mq_getsetattr", "mq_notify", "mq_open", "mq_timedreceive",
	"mq_timedreceive_time64", "mq_timedsend", "mq_timedsend_time64", "mq_unlink",
	"msgctl", "msgget", "msgrcv", "msgsnd", "recv", "recvfrom", "recvmmsg",
	"recvmmsg_time64", "recvmsg", "semctl", "semget", "semop", "semtimedop",
	"semtimedop_time64", "send", "sendmmsg", "sendmsg", "sendto", "setsockopt", "shmat",
	"shmctl", "shmdt", "shmget", "shutdown", "socket", "socketpair",
	/* of one machine's own */
	"arm_fadvise64_64", "arm_sync_file_range", "breakpoint", "cacheflush", "set_tls",
	"riscv_flush_icache", "riscv_hwprobe", "s390_pci_mmio_read", "s390_pci_mmio_write",
	"s390_runtime_instr", "swapcontext", "sys_debug_setcontext",
};
// clang-format on

/* Among those that are in neither table are io_uring, with its record of holes, and io_setup: its
 * contexts are counted for the whole machine, and one command could take them all. */

/* Known, and refused with EPERM whoever asks. */
static const struct {
	const char *name;
	const char *reason;
} denied[] = {
	{"acct", "accounting of the whole machine"},
	{"add_key", "kernel keyrings have no namespaces"},
	{"adjtimex", "sets the machine's clock"},
	{"bpf", "programs in the kernel"},
	{"clock_adjtime", "sets the machine's clock"},
	{"clock_settime", "sets the machine's clock"},
	{"create_module", "kernel modules"},
	{"delete_module", "kernel modules"},
	{"fanotify_init", "watches whole file systems"},
	{"fanotify_mark", "watches whole file systems"},
	{"finit_module", "kernel modules"},
	{"fsconfig", "mounts"},
	{"fsmount", "mounts"},
	{"fsopen", "mounts"},
	{"fspick", "mounts"},
	{"get_kernel_syms", "kernel modules"},
	{"get_mempolicy", "placement of memory on the machine"},
	{"init_module", "kernel modules"},
	{"ioperm", "hardware ports"},
	{"iopl", "hardware ports"},
	{"kcmp", "compares kernel pointers"},
	{"kexec_file_load", "another kernel"},
	{"kexec_load", "another kernel"},
	{"keyctl", "kernel keyrings have no namespaces"},
	{"lookup_dcookie", "profiling of the kernel"},
	{"mbind", "placement of memory on the machine"},
	{"migrate_pages", "placement of memory on the machine"},
	{"mount", "mounts"},
	{"mount_setattr", "mounts"},
	{"move_mount", "mounts"},
	{"move_pages", "placement of memory on the machine"},
	{"nfsservctl", "the kernel's NFS server"},
	{"open_by_handle_at", "opens files outside of the tree by number"},
	{"open_tree", "mounts"},
	{"perf_event_open", "profiling, with a long record of holes"},
	{"pidfd_getfd", "takes descriptors of other processes"},
	{"pivot_root", "mounts"},
	{"process_madvise", "memory of other processes"},
	{"query_module", "kernel modules"},
	{"quotactl", "quotas of the machine"},
	{"quotactl_fd", "quotas of the machine"},
	{"reboot", "the machine"},
	{"request_key", "kernel keyrings have no namespaces"},
	{"set_mempolicy", "placement of memory on the machine"},
	{"set_mempolicy_home_node", "placement of memory on the machine"},
	{"setdomainname", "the sandbox's name is the daemon's to give"},
	{"sethostname", "the sandbox's name is the daemon's to give"},
	{"setns", "other namespaces"},
	{"settimeofday", "sets the machine's clock"},
	{"stime", "sets the machine's clock"},
	{"swapoff", "swap of the machine"},
	{"swapon", "swap of the machine"},
	{"_sysctl", "settings of the kernel"},
	{"sysfs", "obsolete"},
	{"syslog", "the kernel's log"},
	{"umount", "mounts"},
	{"umount2", "mounts"},
	{"uselib", "obsolete"},
	{"userfaultfd", "stalls the kernel in the middle of a copy"},
	{"ustat", "obsolete"},
	{"vhangup", "terminals of the machine"},
	{"vm86", "obsolete"},
	{"vm86old", "obsolete"},
};

/* Allowed with these values only; everything else gets ENOSYS. */
static const struct {
	const char *name;
	unsigned arg;
	uint64_t value;
} allowed_values[] = {
	{"personality", 0, 0}, /* PER_LINUX */
	{"personality", 0, 8}, /* PER_LINUX32 */
	{"personality", 0, 0x20000}, /* UNAME26 */
	{"personality", 0, 0x20008},
	{"personality", 0, 0x40000}, /* ADDR_NO_RANDOMIZE, for debuggers */
	{"personality", 0, 0xffffffff}, /* only asks */
};

/* Arguments that are refused. The mask says which bits are compared: the kernel looks
 * at the low 32 bits of most, so others must not hide a value. */
struct refused {
	const char *name;
	int err;
	unsigned arg;
	uint64_t mask;
	uint64_t value;
	bool above; /* anything greater than value, instead */
};

#define LOW 0xffffffffULL
#define REFUSED_FLAG(call, flag)                                                                   \
	{                                                                                          \
		call, EPERM, 0, flag, flag, false                                                  \
	}
#define REFUSED_FAMILY(family)                                                                     \
	{                                                                                          \
		"socket", EAFNOSUPPORT, 0, LOW, family, false                                      \
	}
#define REFUSED_TARGET(call, arg)                                                                  \
	{call, EPERM, arg, LOW, 1, false}, {call, EPERM, arg, LOW, 2, false},                      \
	{                                                                                          \
		call, EPERM, arg, LOW, INIT_LAST_THREAD, false                                     \
	}
_Static_assert(INIT_LAST_THREAD == 3, "each of init's threads is a target");

static const struct refused refused[] = {
	/* Typing into a terminal that is shared with somebody else. */
	{"ioctl", EPERM, 1, LOW, TIOCSTI, false},
	{"ioctl", EPERM, 1, LOW, TIOCLINUX, false},
	/* Other disciplines than a terminal's own are drivers of devices; the kernel loads them. */
	{"ioctl", EPERM, 1, LOW, TIOCSETD, false},
	/* Huge pages are set aside by the machine's owner for whom they know, and have no owner. */
	{"mmap", ENOMEM, 3, MAP_HUGETLB, MAP_HUGETLB, false},
	{"mmap2", ENOMEM, 3, MAP_HUGETLB, MAP_HUGETLB, false},
	{"memfd_create", EINVAL, 1, MFD_HUGETLB, MFD_HUGETLB, false},
	{"shmget", EPERM, 2, SHM_HUGETLB, SHM_HUGETLB, false},
	/* A lease makes whoever opens the file wait: init at exec, the daemon at open. */
	{"fcntl", EINVAL, 1, LOW, F_SETLEASE, false},
	{"fcntl", EINVAL, 1, LOW, 1024 + 16, false}, /* F_SETDELEG */
	/* Socket families beyond UNIX, INET, INET6 and NETLINK. */
	REFUSED_FAMILY(3),
	REFUSED_FAMILY(4),
	REFUSED_FAMILY(5),
	REFUSED_FAMILY(6),
	REFUSED_FAMILY(7),
	REFUSED_FAMILY(8),
	REFUSED_FAMILY(9),
	REFUSED_FAMILY(11),
	REFUSED_FAMILY(12),
	REFUSED_FAMILY(13),
	REFUSED_FAMILY(14),
	REFUSED_FAMILY(15),
	{"socket", EAFNOSUPPORT, 0, LOW, AF_NETLINK, true},
	/* What would reach init, whose threads have the numbers 1 to 3: its user id keeps nobody off,
	 * as the sandbox's root may take any. */
	REFUSED_TARGET("prlimit64", 0),
	REFUSED_TARGET("setpriority", 1),
	{"setpriority", EPERM, 0, LOW, PRIO_USER, false},
	REFUSED_TARGET("ioprio_set", 1),
	{"ioprio_set", EPERM, 0, LOW, 3, false}, /* IOPRIO_WHO_USER */
	REFUSED_TARGET("sched_setaffinity", 0),
	REFUSED_TARGET("sched_setattr", 0),
	REFUSED_TARGET("sched_setparam", 0),
	REFUSED_TARGET("sched_setscheduler", 0),
};

/* An id in any of a call's arguments. */
#define REFUSED_ID(call, arg, id)                                                                  \
	{                                                                                          \
		call, EPERM, arg, LOW, id, false                                                   \
	}
#define REFUSED_IDS(id)                                                                            \
	REFUSED_ID("setuid", 0, id), REFUSED_ID("setuid32", 0, id), REFUSED_ID("setfsuid", 0, id), \
		REFUSED_ID("setfsuid32", 0, id), REFUSED_ID("setreuid", 0, id),                    \
		REFUSED_ID("setreuid", 1, id), REFUSED_ID("setreuid32", 0, id),                    \
		REFUSED_ID("setreuid32", 1, id), REFUSED_ID("setresuid", 0, id),                   \
		REFUSED_ID("setresuid", 1, id), REFUSED_ID("setresuid", 2, id),                    \
		REFUSED_ID("setresuid32", 0, id), REFUSED_ID("setresuid32", 1, id),                \
		REFUSED_ID("setresuid32", 2, id)

static const struct refused refused_to_commands[] = {
	/* New namespaces give capabilities over parts of the kernel that are seldom tested. */
	REFUSED_FLAG("clone", CLONE_NEWNS),
	REFUSED_FLAG("clone", CLONE_NEWCGROUP),
	REFUSED_FLAG("clone", CLONE_NEWUTS),
	REFUSED_FLAG("clone", CLONE_NEWIPC),
	REFUSED_FLAG("clone", CLONE_NEWUSER),
	REFUSED_FLAG("clone", CLONE_NEWPID),
	REFUSED_FLAG("clone", CLONE_NEWNET),
	REFUSED_FLAG("unshare", CLONE_NEWNS),
	REFUSED_FLAG("unshare", CLONE_NEWUTS),
	REFUSED_FLAG("unshare", CLONE_NEWIPC),
	REFUSED_FLAG("unshare", CLONE_NEWUSER),
	REFUSED_FLAG("unshare", CLONE_NEWPID),
	REFUSED_FLAG("unshare", CLONE_NEWNET),
	REFUSED_FLAG("unshare", CLONE_NEWTIME),
	/* Whoever has the user id of a process may trace it: those under the other filter must not
	 * lend it to commands, nor init its capabilities. */
	REFUSED_IDS(SANDBOX_NESTING_UID),
	REFUSED_IDS(SANDBOX_INIT_UID),
};

/* User, process and network namespaces are what a sandbox inside is made of. Everything else that
 * one of its roots could do with its capabilities stays closed: another cgroup namespace would lose
 * its tree's mark, and a network of its own is there to have none. */
static const struct refused refused_to_nesting[] = {
	REFUSED_FLAG("clone", CLONE_NEWNS),
	REFUSED_FLAG("clone", CLONE_NEWCGROUP),
	REFUSED_FLAG("clone", CLONE_NEWUTS),
	REFUSED_FLAG("clone", CLONE_NEWIPC),
	REFUSED_FLAG("unshare", CLONE_NEWNS),
	REFUSED_FLAG("unshare", CLONE_NEWCGROUP),
	REFUSED_FLAG("unshare", CLONE_NEWUTS),
	REFUSED_FLAG("unshare", CLONE_NEWIPC),
	REFUSED_FLAG("unshare", CLONE_NEWPID),
	REFUSED_FLAG("unshare", CLONE_NEWNET),
	REFUSED_FLAG("unshare", CLONE_NEWTIME),
	REFUSED_FAMILY(AF_NETLINK),
	{"socket", EPERM, 1, 0xf, SOCK_RAW, false},
	/* Devices of a network by ioctl: ethtool, bridges, bonds, vlans, tunnels. */
	{"ioctl", EPERM, 1, 0xffffffc0, 0x8940, false},
	{"ioctl", EPERM, 1, 0xffffff80, 0x8980, false},
};

static void release(scmp_filter_ctx *ctx)
{
	if (*ctx)
		seccomp_release(*ctx);
}

static int add(scmp_filter_ctx ctx, uint32_t action, const char *name, const struct scmp_arg_cmp *c)
{
	int number = seccomp_syscall_resolve_name(name);

	/* Negative: this machine has no such call; __NR_SCMP_ERROR: this library does not know. */
	if (number < 0)
		return 0;
	return seccomp_rule_add_array(ctx, action, number, c ? 1 : 0, c);
}

static int add_refused(scmp_filter_ctx ctx, const struct refused *r, size_t len)
{
	for (; len; r++, len--) {
		struct scmp_arg_cmp c =
			r->above ? (struct scmp_arg_cmp){r->arg, SCMP_CMP_GT, r->value, 0}
				 : (struct scmp_arg_cmp){
					   r->arg, SCMP_CMP_MASKED_EQ, r->mask, r->value};
		int err = add(ctx, SCMP_ACT_ERRNO(r->err), r->name, &c);
		if (err < 0)
			return err;
	}
	return 0;
}

static int add_names(scmp_filter_ctx ctx)
{
	int err = 0;

	for (size_t i = 0; i < ARRAY_LEN(allowed) && err >= 0; i++)
		err = add(ctx, SCMP_ACT_ALLOW, allowed[i], NULL);
	for (size_t i = 0; i < ARRAY_LEN(denied) && err >= 0; i++)
		err = add(ctx, SCMP_ACT_ERRNO(EPERM), denied[i].name, NULL);
	for (size_t i = 0; i < ARRAY_LEN(allowed_values) && err >= 0; i++) {
		struct scmp_arg_cmp c = {
			allowed_values[i].arg, SCMP_CMP_EQ, allowed_values[i].value, 0};
		err = add(ctx, SCMP_ACT_ALLOW, allowed_values[i].name, &c);
	}
	return err;
}

/* Rules with two arguments in one. */
static int add_pair(
	scmp_filter_ctx ctx, int err, int number, struct scmp_arg_cmp a, struct scmp_arg_cmp b)
{
	const struct scmp_arg_cmp pair[] = {a, b};

	return seccomp_rule_add_array(ctx, SCMP_ACT_ERRNO(err), number, ARRAY_LEN(pair), pair);
}

/* Netlink for anything but routes. */
static int add_netlink(scmp_filter_ctx ctx)
{
	return add_pair(ctx, EAFNOSUPPORT, SCMP_SYS(socket),
		(struct scmp_arg_cmp){0, SCMP_CMP_MASKED_EQ, LOW, AF_NETLINK},
		(struct scmp_arg_cmp){2, SCMP_CMP_NE, 0, 0});
}

/* Tables of packet filters and the like: the options above those of the protocol itself. */
static int add_packet_filters(scmp_filter_ctx ctx)
{
	static const struct {
		uint64_t level, option;
	} of[] = {{SOL_IP, 64}, {SOL_IP, 65}, {SOL_IP, 96}, {SOL_IP, 97}, {SOL_IP, 128},
		{SOL_IP, 129}, {SOL_IPV6, 64}, {SOL_IPV6, 65}};
	int err = 0;

	for (size_t i = 0; i < ARRAY_LEN(of) && err >= 0; i++)
		err = add_pair(ctx, EPERM, SCMP_SYS(setsockopt),
			(struct scmp_arg_cmp){1, SCMP_CMP_MASKED_EQ, LOW, of[i].level},
			(struct scmp_arg_cmp){2, SCMP_CMP_MASKED_EQ, LOW, of[i].option});
	return err;
}

/* Init is under the filter of commands, too, and marks each tree with a cgroup namespace: that is
 * for who knows the key only. */
static int add_unshare_cgroup(scmp_filter_ctx ctx, const uint64_t key[2])
{
	int err = 0;

	for (unsigned i = 0; i < 2 && err >= 0; i++)
		err = add_pair(ctx, EPERM, SCMP_SYS(unshare),
			(struct scmp_arg_cmp){
				0, SCMP_CMP_MASKED_EQ, CLONE_NEWCGROUP, CLONE_NEWCGROUP},
			(struct scmp_arg_cmp){i + 1, SCMP_CMP_NE, key[i], 0});
	return err;
}

static int add_part(scmp_filter_ctx ctx, enum seccomp_filter_part part, const uint64_t key[2])
{
	int err;

	switch (part) {
	case SECCOMP_NAMES:
		return add_names(ctx);
	case SECCOMP_ARGS:
		err = add_refused(ctx, refused, ARRAY_LEN(refused));
		return err < 0 ? err : add_netlink(ctx);
	case SECCOMP_COMMANDS:
		err = add_refused(ctx, refused_to_commands, ARRAY_LEN(refused_to_commands));
		return err < 0 ? err : add_unshare_cgroup(ctx, key);
	default:
		err = add_refused(ctx, refused_to_nesting, ARRAY_LEN(refused_to_nesting));
		return err < 0 ? err : add_packet_filters(ctx);
	}
}

static int export(scmp_filter_ctx ctx, int fd, uint32_t *ret_len)
{
	off_t start = lseek(fd, 0, SEEK_END);

	if (start < 0)
		return -errno;
	int err = seccomp_export_bpf(ctx, fd);
	if (err < 0)
		return err;
	*ret_len = (uint32_t)(lseek(fd, 0, SEEK_END) - start);
	return 0;
}

static scmp_filter_ctx new_filter(uint32_t default_action)
{
	scmp_filter_ctx ctx = seccomp_init(default_action);

	if (!ctx)
		return NULL;
	/* A program of another machine's kind (int 0x80, x32) ends: its numbers mean other
	 * calls. */
	seccomp_attr_set(ctx, SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_KILL_PROCESS);
	seccomp_attr_set(ctx, SCMP_FLTATR_CTL_OPTIMIZE, 2);
	return ctx;
}

int seccomp_filter_write(
	int fd, const uint64_t key[2], uint32_t ret_len[SECCOMP_FILTERS], struct fail *f)
{
	int err = 0;

	for (int part = 0; part < SECCOMP_FILTERS && err >= 0; part++) {
		auto_call(release) scmp_filter_ctx ctx =
			new_filter(part == SECCOMP_NAMES ? SCMP_ACT_ERRNO(ENOSYS) : SCMP_ACT_ALLOW);
		if (!ctx)
			return -ENOMEM;
		err = add_part(ctx, (enum seccomp_filter_part)part, key);
		if (err >= 0)
			err = export(ctx, fd, &ret_len[part]);
	}
	return err < 0 ? fail_errno(f, err, "compiling the system call filter") : 0;
}
