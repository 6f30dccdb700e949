// Other processes, init above all, and priorities and limits.
#include "escape.h"

#include <sched.h>
#include <stddef.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

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

static long escape_dumpable_core(void)
{
	struct rlimit limit = {RLIM_INFINITY, RLIM_INFINITY};

	return setrlimit(RLIMIT_CORE, &limit);
}

static long escape_kcmp(void)
{
	return syscall(SYS_kcmp, getpid(), getpid(), 0, 0, 1);
}

static long escape_process_madvise(void)
{
	return syscall(SYS_process_madvise, -1, NULL, 0, 0, 0);
}

const struct escape escapes_processes[] = {
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
	ESCAPE(process_madvise),
	ESCAPE(fifo_class),
	ESCAPE(nice),
	ESCAPE(dumpable_core),
	ESCAPES_END,
};
