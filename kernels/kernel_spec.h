// Jupyter's kernelspecs as the daemon sees them: which there are in the sandbox's tree.
#pragma once

#include "common/fail.h"

struct sandbox;

/* Whether a kernel that starts with this environment (K=V, NULL-terminated) finds a kernelspec of that
 * name, in the directories of jupyter_core's documentation. 0, or -EINVAL with those that there are. */
int kernel_spec_check(
	const struct sandbox *sandbox, char *const *env, const char *name, struct fail *f);
