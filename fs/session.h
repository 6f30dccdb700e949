// The kernel's side: the FUSE session and which of its requests goes where. files/ is served by the
// thread that read the request, after it has lent the baton; everything else by the leader.
#pragma once

#include "common/fail.h"

struct mount;

/* Mounts at m->mount_point. Call before the process enters another user namespace. */
int session_mount(struct mount *m, struct fail *f);

/* Watches for requests; m->loop must run for them to be answered. */
int session_watch(struct mount *m, struct fail *f);

/* Unmounts, if it still is, and frees. */
void session_close(struct mount *m);
