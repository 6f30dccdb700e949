// What the daemon and the sandbox's init say to each other: packets over one SEQPACKET socketpair.
// Both are built from one tree, so the structs are the format.
#pragma once

#include <stdint.h>

#include "runner/sandbox.h"

/* Descriptors that init starts with, beside 0 to 2 (/dev/null). */
#define INIT_LINK_FD 3
#define INIT_SETUP_FD 4
#define INIT_FENCE_FD 5 /* /proc/sys/user/max_user_namespaces of the sandbox, for writing */

/* The set-up file: this header, then the bytes of the seccomp programs (struct sock_filter). Init
 * installs the first ones for all of itself and, by inheritance, for all that it starts; that of
 * commands for its first thread, which starts them. What builds a sandbox inside is started by
 * another thread, and installs the last one itself. */
#define INIT_FILTERS 4
#define INIT_OWN_FILTERS 2
#define INIT_COMMANDS_FILTER 2
#define INIT_NESTING_FILTER 3

struct init_setup {
	uint32_t uid; /* the id inside that init takes; 0: it stays root */
	uint32_t filter_len[INIT_FILTERS];
	uint64_t unshare_key[2]; /* random: see seccomp_filter_write() */
	uint32_t scope_sockets; /* the network is the host's, its abstract sockets are not */
	uint32_t net_wait_msec; /* the first command waits so long for a route to the outside */
	struct sandbox_limits limits; /* of every process; memory_bytes only without a cgroup */
};

/* The control group counts threads, and init has two beside its first: they are not the
 * sandbox's. */
#define INIT_EXTRA_THREADS 2
/* They are numbered from 1 on; the filter keeps commands off these numbers. */
#define INIT_LAST_THREAD (1 + INIT_EXTRA_THREADS)

enum init_request_kind { INIT_SPAWN = 1, INIT_KILL, INIT_FORGET };

struct init_request {
	uint32_t kind;
	uint32_t id;
	int32_t sig; /* INIT_KILL */
	uint32_t target; /* INIT_KILL: enum sandbox_target */
};

/* Which descriptors come with an INIT_SPAWN, in this order. */
enum init_fds { INIT_HAS_IN = 1, INIT_HAS_EXTRA = 2, INIT_HAS_STRINGS = 4 };
#define INIT_GROUPS_MAX 3
#define INIT_FDS_MAX (5 + INIT_GROUPS_MAX)

/* Followed by strings_len bytes: cwd, argv..., env..., each with its NUL; or, with
 * INIT_HAS_STRINGS, by nothing, and a memory file carries them. */
struct init_spawn {
	struct init_request request;
	uint32_t fds; /* enum init_fds; out and err are always there */
	uint32_t groups_fds; /* how many come behind: files of control groups to join */
	uint32_t nests; /* 1: see sandbox_spawn */
	uint32_t uid, gid;
	uint32_t groups_len;
	uint32_t groups[64];
	uint32_t argc, envc;
	uint64_t strings_len;
	struct sandbox_limits limits;
};

#define INIT_INLINE_MAX (100 * 1024)
#define INIT_PACKET_MAX (sizeof(struct init_spawn) + INIT_INLINE_MAX)

/* From init: struct sandbox_event; the first one says that it is ready. */
#define INIT_READY 100
