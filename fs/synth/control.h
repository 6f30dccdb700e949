// Control files: a request is what is written between open and close; this file knows when it is
// whole, and what the handle that wrote it reads back. Knows nothing of FUSE.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/buf.h"
#include "common/fail.h"
#include "common/json_in.h"
#include "common/list.h"
#include "common/waiters.h"
#include "fs/synth/synth.h"

#define CONTROL_MAX (1024 * 1024) /* bytes of a request */
#define CONTROL_WAIT 1 /* the answer comes later: when the call has ended */

/* How long a reader of an early answer, or a rename, waits for a call that is going on: short
 * commands are then over, and nobody is held up. */
#define CONTROL_GRACE_USEC 250000

enum control_syntax {
	CONTROL_TEXT, /* free text, acted on at close */
	CONTROL_LINE, /* one line, acted on in the write that completes it */
	CONTROL_JSON, /* one object, likewise */
	CONTROL_LINE_OR_JSON, /* a text that begins with { is JSON */
};

struct control_call;

struct control {
	enum control_syntax syntax;
	bool no_nul; /* a NUL byte is refused in the write that brings it */
	bool keeps_space; /* of a line only its end is cut off, not white space before it */
	bool waits_in_write; /* the write returns when the call has ended, not only the close */
	bool answers_refusals; /* the answer tells of refused requests, too; else reading fails */
	bool answers_early; /* the answer, an id, is known before the end: no reader waits for long */
	const char *usage; /* lines that begin with #; NULL: none */

	/* Carries a request out (call->going stays false) or starts it (sets call->going and calls
	 * control_call_end() later). -errno with words: refused. The text is NUL-terminated. */
	int (*begin)(struct control_call *call, const char *text, size_t len, struct fail *f);
	/* A request was refused before `begin` saw it: too large, several lines. May reword it. */
	void (*refused)(struct control_call *call, int err, struct fail *f);
	/* The writer was interrupted while the call went on. Says what that ends, or nothing. */
	void (*cancel)(struct control_call *call, struct fail *f);
	/* What the handle that wrote reads; NULL: what a fresh one reads. */
	int (*answer)(struct control_call *call, struct buf *ret);
	/* The call is over and its answer read, or nobody waits any more: frees call->data. */
	void (*release)(struct control_call *call);
};

/* A request being carried out, from its start until the handle takes another or is closed. */
struct control_call {
	struct mount *m; /* borrowed */
	struct synth_node node;
	const struct control *control;
	bool going;
	int error; /* of the end */
	uint32_t object; /* the handler's: the number of a run... */
	void *data; /* the handler's; control->release is called when it is set */
	struct waiter waiter; /* the handler's: what tells it of the end */
	struct list ended; /* waiters: the end of this call */
};

/* By the handler: the call that was going is over; error 0 or -errno (words already recorded). */
void control_call_end(struct control_call *call, int error);

/* The writing side of an open handle. */
struct control_handle {
	struct control_call call;
	struct buf pending; /* the request so far */
	struct json_in_scan scan; /* of it */
	bool append;
	bool written; /* pending holds a request that was not acted on */
	bool called; /* a request was acted on, or refused */
	int failed; /* the last request was refused; 0: it was not */
	int refused; /* it is too large or the like: the rest up to the close is dropped */
	uint64_t first_off; /* of the request's first byte */
	struct buf answer;
	bool answered;
	uint64_t answer_off; /* where the answer's first byte was read */
};

void control_open(
	struct control_handle *c, struct mount *m, const struct synth_node *n, bool append);
/* Forgets the call; one that is going on goes on without the handle. Acts on what no close did. */
void control_release(struct control_handle *c);

/* 0, CONTROL_WAIT, or -errno. The words are in /error then. */
int control_write(struct control_handle *c, const void *data, size_t len, uint64_t off);

/* Acts on what is pending; the caller has made sure that nobody else will write to it. */
int control_flush(struct control_handle *c);
/* The same, but never waits. */
int control_sync(struct control_handle *c);
/* Whoever wrote cuts the file off: what lies beyond is no part of a request not acted on yet. */
void control_truncate(struct control_handle *c, uint64_t size);
/* The writer died before it closed. */
void control_abandon(struct control_handle *c);
/* Whoever waits for the call was interrupted: it is cancelled, and /error says so. */
void control_cancel(struct control_handle *c);

/* Prepares the answer for a reader at off. 0: c->answer from off - c->answer_off on; CONTROL_WAIT;
 * -ENODATA: nothing was asked on this handle; -errno: what was asked was refused. patient: wait for
 * a call that is going on. */
int control_read(struct control_handle *c, uint64_t off, bool patient);

/* A whole request at once, from a temporary file renamed over the control file. The call is the
 * caller's, who releases it. */
int control_perform(struct control_handle *c, const char *text, size_t len);

/* What a fresh handle reads where there was no answer yet. */
int control_usage(const struct synth_file *file, struct buf *ret);
