// libarchive, loaded at first use.
//
// It brings a dozen libraries along, which would triple the time that every start of the program
// takes and add megabytes to an idle daemon.
#include "runner/checkpoint/archive_lib.h"

#include <pthread.h>
#include <stdbool.h>

#include "common/library.h"
#include "common/scope.h"

int archive_lib_get(const struct archive_lib **ret, struct fail *f)
{
	static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	static struct archive_lib lib;
	static bool loaded;
	static const char *const names[] = {
#define ARCHIVE_NAME(name) #name,
		ARCHIVE_CALLS(ARCHIVE_NAME)
#undef ARCHIVE_NAME
	};
	int r = 0;

	pthread_mutex_lock(&lock);
	if (!loaded)
		r = library_load("libarchive.so.13", "libarchive13", names, (void **)&lib,
			ARRAY_LEN(names), f);
	loaded = r == 0;
	pthread_mutex_unlock(&lock);
	*ret = &lib;
	return r;
}
