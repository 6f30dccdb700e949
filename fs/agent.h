// The agent: a process that stays outside of the sandbox's user namespace when the daemon enters it
// (started by an ordinary user), and does for it what it can then no longer do itself: look at
// callers in /proc, and unmount. As root the daemon does both itself.
#pragma once

#include <stdbool.h>

#include "common/fail.h"
#include "fs/caller.h"

struct agent;

/* Makes the agent; forks when needed is true. Call while the process has one thread. */
int agent_new(const char *mount_point, bool needed, struct agent **ret, struct fail *f);

/* Whether it is a process of its own, since this one cannot do its work. */
bool agent_is_apart(const struct agent *agent);

/* Ends it. NULL is allowed. */
void agent_free(struct agent *agent);

/* As caller_look(). */
enum caller_state agent_look(struct agent *agent, pid_t pid, const struct caller_file *file);

/* As caller_is_below(). */
bool agent_is_below(struct agent *agent, pid_t pid, const char *path);

/* As caller_wants_end(). */
bool agent_wants_end(struct agent *agent, pid_t pid);

/* Unmounts, at once from the tree of names and for good when the last user has left. */
int agent_unmount(struct agent *agent);
