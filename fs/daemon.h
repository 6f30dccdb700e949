// The daemon: one mounted sandbox, from mount to umount.
#pragma once

#include <stdbool.h>

#include "common/config.h"
#include "common/fail.h"

struct daemon_options {
	const struct config *config; /* borrowed */
	const char *name; /* the sandbox's name */
	const char *mount_point; /* absolute, real path */
	const char *state_path; /* absolute */
	const char *registry_path; /* of the mount's entry */
	const char *store_path; /* of the checkpoints; absolute */
	int state_fd; /* the locked state directory, O_RDONLY|O_DIRECTORY */
	bool foreground;
	void (*ready)(void *arg); /* called once when the mount can be used */
	void *ready_arg;
};

/* Mounts, serves until umount or SIGTERM/SIGINT, stops the sandbox. 0, or -errno with words when it
 * could not start (nothing is left behind then). */
int daemon_run(const struct daemon_options *options, struct fail *f);
