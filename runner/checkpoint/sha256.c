// SHA-256. The only home of OpenSSL.
//
// These calls need no OPENSSL_init_crypto(), which reads configuration files and allocates half a
// megabyte; they use the processor's own instructions as the newer interface does.
#define OPENSSL_SUPPRESS_DEPRECATED
#include "runner/checkpoint/sha256.h"

#include <errno.h>
#include <openssl/sha.h>
#include <pthread.h>
#include <stdlib.h>

#include "common/library.h"
#include "common/scope.h"

static struct {
	__typeof__(SHA256_Init) *init;
	__typeof__(SHA256_Update) *update;
	__typeof__(SHA256_Final) *final;
} lib;

static int load(struct fail *f)
{
	static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	static const char *const names[] = {"SHA256_Init", "SHA256_Update", "SHA256_Final"};
	int r = 0;

	pthread_mutex_lock(&lock);
	if (!lib.final)
		r = library_load(
			"libcrypto.so.3", "libssl3", names, (void **)&lib, ARRAY_LEN(names), f);
	pthread_mutex_unlock(&lock);
	return r;
}

int sha256_begin(struct sha256 *h, struct fail *f)
{
	int r = load(f);

	h->state = NULL;
	if (r < 0)
		return r;
	h->state = malloc(sizeof(SHA256_CTX));
	if (!h->state)
		return -ENOMEM;
	lib.init(h->state);
	return 0;
}

void sha256_add(struct sha256 *h, const void *data, size_t len)
{
	lib.update(h->state, data, len);
}

void sha256_end(struct sha256 *h, char ret[SHA256_HEX_LEN + 1])
{
	static const char digits[] = "0123456789abcdef";
	unsigned char digest[SHA256_DIGEST_LENGTH];

	lib.final(digest, h->state);
	for (size_t i = 0; i < sizeof(digest); i++) {
		ret[2 * i] = digits[digest[i] >> 4];
		ret[2 * i + 1] = digits[digest[i] & 15];
	}
	ret[SHA256_HEX_LEN] = '\0';
}

void sha256_clear(struct sha256 *h)
{
	free(h->state);
	h->state = NULL;
}
