// Values that clean themselves up when they leave scope, and how to hand them on.
#pragma once

#include <stdlib.h>
#include <unistd.h>

static inline void scope_free(void *pointer)
{
	free(*(void **)pointer);
}

static inline void scope_close(int *fd)
{
	if (*fd >= 0)
		close(*fd);
}

/* free() at scope exit. */
#define auto_free __attribute__((cleanup(scope_free)))

/* close() at scope exit when the descriptor is not negative. */
#define auto_close __attribute__((cleanup(scope_close)))

/* f(&variable) at scope exit. */
#define auto_call(f) __attribute__((cleanup(f)))

/* Gives a pointer away: its value, and NULL is left behind. */
#define take_ptr(pointer)                                                                          \
	({                                                                                         \
		__typeof__(pointer) *place_ = &(pointer);                                          \
		__typeof__(pointer) value_ = *place_;                                              \
		*place_ = NULL;                                                                    \
		value_;                                                                            \
	})

/* Gives a descriptor away: its value, and -1 is left behind. */
static inline int take_fd(int *fd)
{
	int value = *fd;

	*fd = -1;
	return value;
}

/* Closes a descriptor now, once. */
static inline void close_fd(int *fd)
{
	scope_close(fd);
	*fd = -1;
}

#define ARRAY_LEN(array) (sizeof(array) / sizeof((array)[0]))
#define container_of(pointer, type, member) ((type *)((char *)(pointer)-offsetof(type, member)))
