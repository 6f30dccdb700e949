// Makes the host's directories ready to take new files, while the sandbox is in use.
#include "fs/skeleton_job.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/job.h"
#include "common/scope.h"
#include "runner/sandbox.h"

struct skeleton_job {
	struct job job;
	struct mount *m; /* borrowed */
	bool going;
};

static int work(struct job *job)
{
	struct skeleton_job *own = container_of(job, struct skeleton_job, job);

	return sandbox_skeleton_complete(own->m->sandbox, &job->cancelled);
}

static void done(struct job *job)
{
	struct skeleton_job *own = container_of(job, struct skeleton_job, job);

	own->going = false;
	if (job->result < 0 && job->result != -ECANCELED)
		mount_log(own->m, "directories of the system that take new files: %s",
			strerror(-job->result));
}

void skeleton_job_start(struct mount *m, struct skeleton_job **ret)
{
	struct skeleton_job *own;

	*ret = NULL;
	if (sandbox_skeleton_is_whole(m->sandbox))
		return;
	own = calloc(1, sizeof(*own));
	if (!own)
		return;
	own->m = m;
	own->job.work = work;
	own->job.done = done;
	own->going = job_start(&own->job, m->loop) == 0;
	*ret = own;
}

void skeleton_job_stop(struct skeleton_job *own)
{
	if (own && own->going) {
		job_cancel(&own->job);
		job_finish(&own->job);
	}
	free(own);
}
