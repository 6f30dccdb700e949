// Signals by name.
#include "common/signal_name.h"

#include <ctype.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/scope.h"

static const struct {
	const char *name;
	int number;
} names[] = {
	{"SIGHUP", SIGHUP},
	{"SIGINT", SIGINT},
	{"SIGQUIT", SIGQUIT},
	{"SIGILL", SIGILL},
	{"SIGTRAP", SIGTRAP},
	{"SIGABRT", SIGABRT},
	{"SIGBUS", SIGBUS},
	{"SIGFPE", SIGFPE},
	{"SIGKILL", SIGKILL},
	{"SIGUSR1", SIGUSR1},
	{"SIGSEGV", SIGSEGV},
	{"SIGUSR2", SIGUSR2},
	{"SIGPIPE", SIGPIPE},
	{"SIGALRM", SIGALRM},
	{"SIGTERM", SIGTERM},
	{"SIGSTKFLT", SIGSTKFLT},
	{"SIGCHLD", SIGCHLD},
	{"SIGCONT", SIGCONT},
	{"SIGSTOP", SIGSTOP},
	{"SIGTSTP", SIGTSTP},
	{"SIGTTIN", SIGTTIN},
	{"SIGTTOU", SIGTTOU},
	{"SIGURG", SIGURG},
	{"SIGXCPU", SIGXCPU},
	{"SIGXFSZ", SIGXFSZ},
	{"SIGVTALRM", SIGVTALRM},
	{"SIGPROF", SIGPROF},
	{"SIGWINCH", SIGWINCH},
	{"SIGIO", SIGIO},
	{"SIGPWR", SIGPWR},
	{"SIGSYS", SIGSYS},
};

int signal_name_parse(const char *text)
{
	char *end;
	long number;

	if (isdigit((unsigned char)*text)) {
		number = strtol(text, &end, 10);
		return *end || number < 1 || number > SIGRTMAX ? -EINVAL : (int)number;
	}
	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		if (!strcasecmp(text, names[i].name) || !strcasecmp(text, names[i].name + 3))
			return names[i].number;
	return -EINVAL;
}

const char *signal_name(int number)
{
	static _Thread_local char other[16];

	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		if (names[i].number == number)
			return names[i].name;
	snprintf(other, sizeof(other), "SIG%d", number);
	return other;
}
