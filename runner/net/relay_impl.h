// What the relay's thread and its connections share. For relay*.c only.
#pragma once

#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>

#include "common/list.h"
#include "runner/net/relay.h"

#define RELAY_PIPES_MAX 32 /* empty ones kept for later */

struct relay_pipe {
	int read_fd, write_fd; /* owned; -1: none */
};

struct relay {
	struct relay_config config;
	struct loop *own; /* owned; the thread's */
	pthread_t thread;
	bool has_thread;
	sem_t started;
	int entered; /* what enter returned */
	pthread_mutex_t lock; /* of notes; never held while one is carried out */
	struct list notes; /* of struct relay_note.link */
	int report_fds[2]; /* owned; text to the leader */
	struct loop_source wake; /* an eventfd, owned: there are notes */
	struct loop_source reports; /* in the leader's loop */
	bool reports_watched;
	atomic_uint connections;
	unsigned connections_max;

	/* the thread's, while it lives */
	struct list pairs; /* of struct relay_pair.link */
	struct relay_pipe pipes[RELAY_PIPES_MAX];
	unsigned pipes_len;
	struct loop_timer sweep;
};

/* relay_pair.c */

void relay_pair_end_all(struct relay *relay);
/* Ends those with one direction left that have not moved for long. */
void relay_pair_sweep(struct relay *relay);
/* Ends the one of them that has rested longest. False: there is none. */
bool relay_pair_evict(struct relay *relay);
