// Kernelspecs: where they are and what they say (jupyter_client's documentation, "Kernel specs").
#pragma once

#include <stdbool.h>

#include "common/buf.h"

struct jupyter_spec {
	char **argv; /* owned; with {connection_file} to be replaced */
	char **env; /* owned; K=V */
	char *language; /* owned; NULL: not said */
	bool interrupt_message; /* "interrupt_mode": "message" */
};

/* Finds and reads one by name. -ENOENT: there is none, words has those that there are. -EINVAL:
 * its kernel.json is wrong. */
int jupyter_spec_load(const char *name, struct jupyter_spec *ret, struct buf *words);
void jupyter_spec_clear(struct jupyter_spec *spec);
