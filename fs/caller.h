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

/* Looks at the caller of a close. opener is the thread that opened the file: its process is the
 * last of the line that can hold it, as a descriptor is handed down, never up. ino is the file's
 * inode number in the mount, name its name. What cannot be looked at counts as CALLER_LAST. */
enum caller_state caller_look(pid_t pid, pid_t opener, uint64_t ino, const char *name);

/* Whether it reads a directory at or below a path that ends in path, as `rm -r` does with what it
 * removes. path has no slash at either end. */
bool caller_is_below(pid_t pid, const char *path);

/* Whether a signal waits for the process that means to end what it is doing: any but those that
 * only tell something (a child's end, a window's size) or stop and continue. A process that cannot
 * be looked at counts as one that wants to end. */
bool caller_wants_end(pid_t pid);
