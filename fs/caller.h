// What a process that makes a request is about to do: whether somebody up its line of parents still
// writes to the same file, and whether it is dying of a signal. Read from /proc (proc(5)).
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

enum caller_state {
	CALLER_LAST, /* nobody else will write */
	CALLER_SHARES, /* it or an ancestor still holds the file open for writing */
	CALLER_DYING, /* a signal ended it before it closed the file */
};

#define CALLER_OTHERS_MAX 64

/* An open file, as it can be told from outside: what is open of the same file looks alike. */
struct caller_file {
	uint64_t ino; /* in the mount */
	pid_t opener; /* the thread that opened it */
	unsigned others_len;
	pid_t others[CALLER_OTHERS_MAX]; /* the threads of other opens that are not closed yet */
};

/* Looks at the caller of a close. The opener's process is the last of the line that can hold the
 * open file, as a descriptor is handed down, never up. A process that has as many descriptors of the
 * file as it opened otherwise, as one with several writing threads has, does not share this one.
 * What cannot be looked at counts as CALLER_LAST. */
enum caller_state caller_look(pid_t pid, const struct caller_file *file);

/* Whether it reads a directory at or below a path that ends in path, as `rm -r` does with what it
 * removes. path has no slash at either end. */
bool caller_is_below(pid_t pid, const char *path);

/* Whether a signal waits for the process that means to end what it is doing: any but those that
 * only tell something (a child's end, a window's size) or stop and continue. A process that cannot
 * be looked at counts as one that wants to end. */
bool caller_wants_end(pid_t pid);
