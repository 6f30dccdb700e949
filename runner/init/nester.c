// The thread that starts what builds a sandbox of its own inside (the browser). A filter of system
// calls is a thread's, and is inherited by what it starts: init's first thread has that of
// commands, so that they need not install it, and this one does not have it. Both are init, which
// nothing inside can kill.
#include "runner/init/init.h"

#include <pthread.h>

static struct {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	int (*call)(void *arg); /* NULL: none is under way */
	void *arg;
	int result;
} nester = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};

static void *serve(void *unused)
{
	(void)unused;
	pthread_mutex_lock(&nester.lock);
	for (;;) {
		while (!nester.call)
			pthread_cond_wait(&nester.changed, &nester.lock);
		nester.result = nester.call(nester.arg);
		nester.call = NULL;
		pthread_cond_broadcast(&nester.changed);
	}
	return NULL;
}

int nester_call(int (*call)(void *arg), void *arg)
{
	int result;

	pthread_mutex_lock(&nester.lock);
	nester.call = call;
	nester.arg = arg;
	pthread_cond_broadcast(&nester.changed);
	while (nester.call)
		pthread_cond_wait(&nester.changed, &nester.lock);
	result = nester.result;
	pthread_mutex_unlock(&nester.lock);
	return result;
}

int nester_start(void)
{
	return thread_start(serve, NULL);
}
