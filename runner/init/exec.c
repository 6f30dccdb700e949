// The way of a command from init's clone to exec: ids, limits, descriptors.
#include "runner/init/init.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <linux/seccomp.h>
#include <linux/securebits.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/unsafe.h"

/* Runs in init's own memory while init is suspended: raw system calls, nothing of libc that keeps
 * state. Returns 0 or notes the failure. */
static int failed(struct exec_plan *plan, const char *step, const char *path)
{
	plan->err = -errno;
	plan->step = step;
	plan->path = path;
	return plan->err;
}

static int set_limit(int resource, uint64_t wanted)
{
	struct rlimit now;

	if (syscall(SYS_prlimit64, 0, resource, NULL, &now) < 0)
		return -1;
	if (now.rlim_max > wanted)
		now.rlim_max = wanted;
	if (now.rlim_cur > now.rlim_max)
		now.rlim_cur = now.rlim_max;
	if (resource == RLIMIT_CORE)
		now.rlim_cur = now.rlim_max;
	return (int)syscall(SYS_prlimit64, 0, resource, &now, NULL);
}

/* Commands have theirs from the thread that starts them: installing it for each would take a
 * twentieth of its start. */
static int set_filter(struct exec_plan *plan)
{
	const struct sock_fprog *filter = &plan->init->filters[INIT_NESTING_FILTER];

	if (!plan->wanted->nests || unsafe_is("filter"))
		return 0;
	if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, filter) < 0)
		return failed(plan, "installing the system call filter", NULL);
	return 0;
}

static uint64_t stricter(uint64_t a, uint64_t b)
{
	if (!a || !b)
		return a + b;
	return a < b ? a : b;
}

/* What the mounting user may, as one who makes music may, is not for what runs here: one process of a
 * real-time class holds up the whole machine. */
static int drop_priorities(struct exec_plan *plan)
{
	if (set_limit(RLIMIT_RTPRIO, 0) < 0 || set_limit(RLIMIT_NICE, 0) < 0)
		return failed(plan, "setting limits", NULL);
	return 0;
}

static int set_limits(struct exec_plan *plan)
{
	const struct sandbox_limits *all = &plan->init->setup.limits;
	const struct sandbox_limits *own = &plan->wanted->limits;
	const struct {
		int resource;
		uint64_t value;
	} limits[] = {
		/* A limit of 1 byte, unlike 0, also keeps the host's crash handler away. */
		{RLIMIT_CORE, 1},
		{RLIMIT_DATA, stricter(all->memory_bytes, own->memory_bytes)},
		{RLIMIT_NPROC, stricter(all->pids, own->pids)},
		{RLIMIT_FSIZE, stricter(all->file_bytes, own->file_bytes)},
		{RLIMIT_NOFILE, stricter(all->open_files, own->open_files)},
	};

	for (size_t i = 0; i < ARRAY_LEN(limits); i++) {
		if (limits[i].value && set_limit(limits[i].resource, limits[i].value) < 0)
			return failed(plan, "setting limits", NULL);
	}
	return drop_priorities(plan);
}

/* The files were opened by the daemon, whose right it is to use them. */
static int join_groups(struct exec_plan *plan)
{
	for (size_t i = 0; i < plan->group_fds_len; i++)
		if (syscall(SYS_write, plan->group_fds[i], "0", 1) < 0)
			return failed(plan, "joining the run's control group", NULL);
	return 0;
}

/* The new ids carry no capabilities over exec, but for uid 0 what init's bounding set leaves. */
static int set_ids(struct exec_plan *plan)
{
	const struct init_spawn *w = plan->wanted;

	if (syscall(SYS_setgroups, (size_t)w->groups_len, w->groups) < 0) {
		/* With a single id mapped the kernel denies it, and there is nothing to drop. */
		if (errno != EPERM || plan->init->setup.uid)
			return failed(plan, "setting groups", NULL);
	}
	if (syscall(SYS_setresgid, w->gid, w->gid, w->gid) < 0)
		return failed(plan, "setting the group id", NULL);
	if (syscall(SYS_setresuid, w->uid, w->uid, w->uid) < 0)
		return failed(plan, "setting the user id", NULL);
	return 0;
}

/* What builds a sandbox of its own is no root, but reaches the sandbox's files as root does. */
static int set_caps(struct exec_plan *plan)
{
	static const uint32_t caps[] = {CAP_CHOWN, CAP_DAC_OVERRIDE, CAP_FOWNER};
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct data[2] = {0};

	if (!plan->wanted->nests)
		return 0;
	for (size_t i = 0; i < ARRAY_LEN(caps); i++)
		data[0].permitted |= 1U << caps[i];
	data[0].effective = data[0].inheritable = data[0].permitted;
	/* Without the bit, access(2) would answer as if there were no capabilities. */
	if (syscall(SYS_prctl, PR_SET_SECUREBITS, SECBIT_NO_SETUID_FIXUP, 0, 0, 0) < 0 ||
		syscall(SYS_capset, &header, data) < 0)
		return failed(plan, "setting capabilities", NULL);
	for (size_t i = 0; i < ARRAY_LEN(caps); i++) {
		if (syscall(SYS_prctl, PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, caps[i], 0, 0) < 0)
			return failed(plan, "setting capabilities", NULL);
	}
	return 0;
}

/* Moves the descriptors above 9 first, so that none is overwritten before it is used. */
static int set_fds(struct exec_plan *plan)
{
	int high[4] = {-1, -1, -1, -1};
	int len = plan->std_fds[3] < 0 ? 3 : 4;

	for (int i = 0; i < len; i++) {
		high[i] = (int)syscall(SYS_fcntl, plan->std_fds[i], F_DUPFD_CLOEXEC, 10);
		if (high[i] < 0)
			return failed(plan, "preparing descriptors", NULL);
	}
	for (int i = 0; i < len; i++) {
		if (syscall(SYS_dup3, high[i], i, 0) < 0)
			return failed(plan, "preparing descriptors", NULL);
	}
	if (!unsafe_is("descriptors") &&
		syscall(SYS_close_range, len, ~0U, CLOSE_RANGE_CLOEXEC) < 0)
		return failed(plan, "closing descriptors", NULL);
	return 0;
}

/* As execvp does, but with the PATH of the command's own environment. */
static int exec_at(struct exec_plan *plan, char *path)
{
	syscall(SYS_execve, path, plan->argv, plan->env);
	if (errno == ENOEXEC) {
		plan->argv[-1] = (char[]){"/bin/sh"};
		plan->argv[0] = path;
		syscall(SYS_execve, "/bin/sh", plan->argv - 1, plan->env);
		errno = ENOEXEC;
	}
	return -errno;
}

static const char *find_path(char **env)
{
	for (; *env; env++) {
		if (strncmp(*env, "PATH=", 5) == 0)
			return *env + 5;
	}
	return "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
}

static int exec_search(struct exec_plan *plan)
{
	char path[4096];
	const char *name = plan->argv[0];
	size_t name_len = strlen(name);
	bool denied = false;

	for (const char *dir = find_path(plan->env); dir; dir = strchr(dir, ':')) {
		if (*dir == ':')
			dir++;
		size_t dir_len = strcspn(dir, ":");
		if (dir_len + name_len + 2 > sizeof(path))
			continue;
		memcpy(path, dir, dir_len);
		path[dir_len] = '/';
		memcpy(path + dir_len + (dir_len > 0), name, name_len + 1);
		int err = exec_at(plan, path);
		denied = denied || err == -EACCES;
		if (err != -ENOENT && err != -ENOTDIR && err != -EACCES)
			return err;
	}
	return denied ? -EACCES : -ENOENT;
}

static void exec_command(struct exec_plan *plan)
{
	const char *name = plan->argv[0];
	int err = strchr(name, '/') ? exec_at(plan, plan->argv[0]) : exec_search(plan);

	errno = -err;
	failed(plan, "executing", name);
}

void exec_child(struct exec_plan *plan)
{
	sigset_t none;

	sigemptyset(&none);
	syscall(SYS_setsid);
	/* The filter first: it also says which ids a command may not have. */
	if (set_filter(plan) < 0 || join_groups(plan) < 0 || set_ids(plan) < 0 ||
		set_caps(plan) < 0)
		return;
	/* As the user, so that a directory closed to it is refused. */
	if (syscall(SYS_chdir, plan->cwd) < 0) {
		failed(plan, "entering the working directory", plan->cwd);
		return;
	}
	/* Limits last: a command that the daemon asks for starts even where a fork bomb of the same
	 * user has used up RLIMIT_NPROC. */
	if (set_fds(plan) < 0 || set_limits(plan) < 0)
		return;
	syscall(SYS_rt_sigprocmask, SIG_SETMASK, &none, NULL, 8);
	exec_command(plan);
}
