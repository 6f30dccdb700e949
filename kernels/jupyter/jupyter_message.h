// Messages of the Jupyter protocol 5.3 as frames on a wire: built and signed, checked and taken
// apart ("Messaging in Jupyter", the wire protocol). Knows nothing of sockets.
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "common/buf.h"
#include "common/json_in.h"

struct jupyter_part {
	const void *data; /* borrowed */
	size_t len;
};

struct jupyter_message {
	char type[64]; /* header.msg_type */
	char parent[80]; /* parent_header.msg_id; empty: none */
	struct json_object *content; /* owned; NULL: not an object */
	struct json_object *header; /* owned */
};

/* Takes a message apart; the routing frames before <IDS|MSG> are passed over. signature(arg, parts,
 * hex) says whether the signature of four parts is right; NULL: none is asked. -EPROTO: not a
 * message; -EBADMSG: the signature is wrong. */
int jupyter_message_parse(const struct jupyter_part *parts, size_t len,
	bool (*signature)(
		void *arg, const struct jupyter_part *four, const struct jupyter_part *hex),
	void *arg, struct jupyter_message *ret);
void jupyter_message_clear(struct jupyter_message *message);

/* A string member of the content, or "". */
const char *jupyter_message_string(
	const struct jupyter_message *message, const char *key, size_t *ret_len);

/* Adds the fields of a result (KERNEL_RESULT, KERNEL_UPDATE) from content.data: images decoded,
 * JSON as text. */
void jupyter_message_bundle(const struct jupyter_message *message, struct buf *frame);

/* Text without terminal colours. */
void jupyter_message_plain(const char *text, size_t len, struct buf *to);

/* Base64 with white space in it into bytes; what follows a wrong character is left out. */
int jupyter_message_base64(const char *text, size_t len, struct buf *to);
