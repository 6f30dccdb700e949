// What is the whole machine's: its clock, name, modules, swap and log.
#include "escape.h"

#include <stddef.h>
#include <sys/swap.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

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

static long escape_adjtimex(void)
{
	char timex[256] = {1};

	return syscall(SYS_adjtimex, timex);
}

const struct escape escapes_machine[] = {
	ESCAPE(adjtimex),
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
	ESCAPES_END,
};
