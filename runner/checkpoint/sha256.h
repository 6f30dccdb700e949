// SHA-256. The only home of OpenSSL.
#pragma once

#include <stddef.h>

#include "common/fail.h"

#define SHA256_HEX_LEN 64

struct sha256 {
	void *state; /* owned */
};

/* -ELIBACC: OpenSSL's library is not installed. */
int sha256_begin(struct sha256 *h, struct fail *f);
void sha256_add(struct sha256 *h, const void *data, size_t len);
/* The digest in lower-case hexadecimal, and a NUL. Once. */
void sha256_end(struct sha256 *h, char ret[SHA256_HEX_LEN + 1]);
/* Frees; harmless on a zeroed one. */
void sha256_clear(struct sha256 *h);
