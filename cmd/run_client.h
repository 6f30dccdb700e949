// A client of a mounted sandbox, by its files alone: one command, its streams and its end.
#pragma once

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>

#include "common/fail.h"

struct run_client {
	int dir_fd; /* owned; the mount's root, O_PATH */
	const char *dir; /* borrowed; as the user wrote it */
	pthread_mutex_t lock; /* of id and interrupts */
	pthread_cond_t id_known;
	char id[128]; /* empty until the run has started */
	bool was_interrupted;
};

/* -ENOENT and others with words. */
int run_client_open(const char *dir, struct run_client *ret, struct fail *f);

/* Has every signal that ends a program (INT, TERM, HUP, QUIT) sent to the run instead; a second INT
 * kills it. Call before any other thread exists. */
int run_client_forward_signals(struct run_client *client);

/* Starts the run that a run.json request describes. -errno with the mount's own words. */
int run_client_start(struct run_client *client, const char *request, size_t len, struct fail *f);

/* Sends this program's standard input to the run, in a thread of its own. */
int run_client_forward_stdin(struct run_client *client);

/* Copies the run's output to standard output and standard error as it comes, until the run has
 * ended. -EPIPE: nobody reads it any more, and the run was told to end. */
int run_client_copy_output(struct run_client *client, struct fail *f);

/* Waits for the end and gives the exit code. 0 or -errno with words. */
int run_client_wait(struct run_client *client, int *ret, struct fail *f);
