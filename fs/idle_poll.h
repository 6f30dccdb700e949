// While requests follow one another, processors that have nothing to do wait awake. Each request wakes the
// daemon and its answer wakes the caller; from a sleeping processor that takes as long as all the rest, in
// a virtual machine several times that. By the kernel's Documentation/power/pm_qos_interface.rst, which only
// root may use; what is asked for ends with the descriptor, so never outlives the daemon.
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct idle_poll {
	int fd; /* owned; of the kernel's list of requirements; -1: cannot */
	int timer_fd; /* owned; runs while it is on; -1: cannot */
	bool is_on;
	unsigned requests; /* since the last look */
	uint64_t looked_usec;
};

/* Leaves it off for good where the kernel refuses, or if it is not wanted. */
void idle_poll_init(struct idle_poll *poll, bool wanted);
void idle_poll_close(struct idle_poll *poll);
bool idle_poll_can(const struct idle_poll *poll);

/* For each request that comes in. */
void idle_poll_request(struct idle_poll *poll);

/* Readable when idle_poll_look() has something to do; -1: never. Borrowed. */
int idle_poll_fd(const struct idle_poll *poll);
void idle_poll_look(struct idle_poll *poll);
