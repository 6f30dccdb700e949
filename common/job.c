// A function that runs in a thread of its own and reports its end through the event loop.
#include "common/job.h"

#include <errno.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>

#include "common/scope.h"

static void *run(void *arg)
{
	struct job *job = arg;

	job->result = job->work(job);
	eventfd_write(job->source.fd, 1);
	return NULL;
}

void job_finish(struct job *job)
{
	pthread_join(job->thread, NULL);
	loop_unwatch(job->loop, &job->source);
	close_fd(&job->source.fd);
	job->done(job);
}

static void on_end(struct loop_source *source, uint32_t events)
{
	(void)events;
	job_finish(container_of(source, struct job, source));
}

int job_start(struct job *job, struct loop *loop)
{
	int r;

	job->loop = loop;
	job->source =
		(struct loop_source){.fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK), .ready = on_end};
	if (job->source.fd < 0)
		return -errno;
	r = loop_watch(loop, &job->source, EPOLLIN);
	if (r == 0) {
		r = -pthread_create(&job->thread, NULL, run, job);
		if (r < 0)
			loop_unwatch(loop, &job->source);
	}
	if (r < 0)
		close_fd(&job->source.fd);
	return r;
}
