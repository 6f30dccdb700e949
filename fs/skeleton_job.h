// Makes the host's directories ready to take new files in the sandboxes that are mounted after this
// one (sandbox_skeleton_complete()), while this one is in use.
#pragma once

#include "fs/mount.h"

struct skeleton_job;

/* Starts it where it is needed; *ret is NULL where it is not, or cannot be. By the leader. */
void skeleton_job_start(struct mount *m, struct skeleton_job **ret);

/* Ends and frees it, when the loop does not run any more. NULL is allowed. */
void skeleton_job_stop(struct skeleton_job *job);
