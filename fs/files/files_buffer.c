// One buffer a thread for what is read, listed or answered. The library's own way to answer with
// file data allocates one for each request, which costs more than the rest of the request.
#include "fs/files/files_impl.h"

#include <stdlib.h>

static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_key_t key; /* frees it when the thread ends */
static bool has_key;

static _Thread_local struct {
	char *data;
	size_t size;
} buffer;

static void make_key(void)
{
	has_key = pthread_key_create(&key, free) == 0;
}

char *files_buffer(size_t size)
{
	char *data;

	if (size <= buffer.size)
		return buffer.data;
	pthread_once(&once, make_key);
	if (!has_key)
		return NULL;
	data = malloc(size);
	if (!data)
		return NULL;
	if (pthread_setspecific(key, data) != 0) {
		free(data);
		return NULL;
	}
	free(buffer.data);
	buffer.data = data;
	buffer.size = size;
	return data;
}
