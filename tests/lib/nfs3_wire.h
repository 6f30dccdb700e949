// ONC RPC with AUTH_SYS as it goes over the wire, for NFS version 3: one request at a time, made and read
// in one buffer.
#pragma once

#include <stddef.h>
#include <stdint.h>

#define NFS3_MESSAGE_MAX (4 << 20)

extern unsigned char nfs3_msg[NFS3_MESSAGE_MAX];
extern size_t nfs3_at, nfs3_len; /* of the request being made, or the answer being read */

/* Says what and ends the program. */
void nfs3_die(const char *what);

/* A connection to the server on this machine. */
int nfs3_connect(const char *port);

/* Begins a request; the rest of it is put. */
void nfs3_begin(uint32_t program, uint32_t procedure);
void nfs3_put(uint32_t value);
void nfs3_put64(uint64_t value);
void nfs3_put_opaque(const void *data, size_t size);
/* A ^ is sent as NUL. */
void nfs3_put_name(const char *text);

/* Sends the request and reads the answer up to what is the procedure's own; NULL, or why there is none. */
const char *nfs3_call(int sock);
uint32_t nfs3_get(void);
uint64_t nfs3_get64(void);
const unsigned char *nfs3_get_opaque(uint32_t *ret_size);
