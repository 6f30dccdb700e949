// 9P2000.L as it goes over the wire: one request at a time, made and read in one buffer.
#pragma once

#include <stddef.h>
#include <stdint.h>

#define P9_MSIZE 65536

enum {
	RLERROR = 7,
	TLOPEN = 12,
	TLCREATE = 14,
	TSYMLINK = 16,
	TMKNOD = 18,
	TRENAME = 20,
	TREADLINK = 22,
	TGETATTR = 24,
	TSETATTR = 26,
	TREADDIR = 40,
	TFSYNC = 50,
	TLOCK = 52,
	TMKDIR = 72,
	TVERSION = 100,
	TATTACH = 104,
	TWALK = 110,
	TREAD = 116,
	TWRITE = 118,
	TCLUNK = 120,
	TREMOVE = 122,
};

/* The export's root, once p9_attach() has come back. */
enum { ROOT, FILE_FID, DIR_FID };

extern unsigned char p9_msg[P9_MSIZE + 64];
extern size_t p9_at, p9_len; /* of the request being made, or the answer being read */

/* Says what and ends the program. */
void p9_die(const char *what);

/* Begins a request; the rest of it is put. */
void p9_begin(int type, uint32_t fid);
void p9_put(uint64_t value, int bytes);
/* A % is sent as a slash and a ^ as NUL, to make a name that no name can be. */
void p9_put_text(const char *text);

/* Sends it: 0 or -errno; the answer is then read with p9_get(). */
int p9_call(void);
uint64_t p9_get(int bytes);

/* newfid becomes what path leads to, below the export's root; only its directory if parent is set,
 * which then is the last name. 0 or -errno. */
int p9_walk(uint32_t newfid, const char *path, const char **parent);

int p9_lopen(uint32_t fid, int flags);
int p9_clunk(uint32_t fid);

/* Connects to the server on this machine and attaches ROOT to the export. */
void p9_attach(int port, const char *name);
