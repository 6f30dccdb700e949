// Threads of init beside its first.
#include "runner/init/init.h"

#include <pthread.h>
#include <signal.h>

#define STACK_SIZE (64 * 1024)

int thread_start(void *(*run)(void *arg), void *arg)
{
	pthread_attr_t attr;
	pthread_t thread;
	sigset_t all, before;

	/* Signals are init's first thread's to take. */
	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, &before);
	int err = pthread_attr_init(&attr);
	if (err == 0)
		err = pthread_attr_setstacksize(&attr, STACK_SIZE);
	if (err == 0)
		err = pthread_create(&thread, &attr, run, arg);
	sigprocmask(SIG_SETMASK, &before, NULL);
	return -err;
}
