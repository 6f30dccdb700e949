// Nodes whose attributes could not be taken back: the kernel did not know them yet, as the answer that
// told of them was still on its way in. They are taken back a moment later, or nobody ever would. The table
// of nodes remembers which they are, so there may be any number. In the same way all names, where a listing
// was on its way.
#pragma once

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

struct files;

struct files_missed {
	int fd; /* owned; a timer; -1: none */
	pthread_mutex_t lock; /* guards the rest; never held while the kernel is told something */
	unsigned doublings; /* of the time from one try to the next */
	bool names; /* are to be taken back again */
	bool is_soon; /* the next one is, so that those that come now are in time for it */
};

void files_missed_init(struct files_missed *missed);
/* -errno: none could be tried again. */
int files_missed_open(struct files_missed *missed);
void files_missed_close(struct files_missed *missed);

/* One that the kernel did not know; one that it has forgotten is not taken. */
void files_missed_add(struct files *files, uint64_t ino);
/* Names that were on their way in. */
void files_missed_add_names(struct files *files);

/* Readable when files_missed_retry() has something to do; -1: never. Borrowed. */
int files_missed_fd(const struct files *files);
void files_missed_retry(struct files *files);
