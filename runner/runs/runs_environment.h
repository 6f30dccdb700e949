// The environment of what runs in the sandbox, for those that start processes beside the runs.
#pragma once

#include "runner/runs/run.h"

/* A command's environment: the built-in one, the user's HOME and so on, the defaults of ctl/env,
 * and more (K=V, NULL-terminated; NULL: none) over it. *ret is NULL-terminated and owned through
 * run_request_free_strings(). 0 or -ENOMEM. */
int run_environment(
	struct runs *runs, const struct sandbox_user *user, char *const *more, char ***ret);
