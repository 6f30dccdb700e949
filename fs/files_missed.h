// Nodes whose attributes could not be taken back: the kernel did not know them yet, as the answer that
// told of them was still on its way in. They are taken back a moment later, or nobody ever would.
#pragma once

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

struct files;

#define FILES_MISSED_MAX 256

struct files_missed {
	int fd; /* owned; a timer; -1: none */
	pthread_mutex_t lock; /* guards the rest */
	uint64_t inos[FILES_MISSED_MAX];
	unsigned len;
	bool more; /* than there is room for */
	unsigned tries; /* since the last one came */
};

void files_missed_init(struct files_missed *missed);
/* -errno: none will be tried again. */
int files_missed_open(struct files_missed *missed);
void files_missed_close(struct files_missed *missed);

/* One that the kernel did not know; one that it has forgotten is not taken. */
void files_missed_add(struct files *files, uint64_t ino);

/* Readable when files_missed_retry() has something to do; -1: never. Borrowed. */
int files_missed_fd(const struct files *files);
void files_missed_retry(struct files *files);
