// A client's connection to one Jupyter kernel: its sockets, the connection file, requests and
// signatures. The only home of libzmq and OpenSSL.
#pragma once

#include <stdint.h>

#include "common/buf.h"
#include "kernels/jupyter/jupyter_message.h"

enum jupyter_channel { JUPYTER_SHELL, JUPYTER_IOPUB, JUPYTER_STDIN, JUPYTER_CONTROL };
#define JUPYTER_CHANNELS 4

struct jupyter_client {
	void *zmq; /* owned */
	void *sockets[JUPYTER_CHANNELS]; /* owned */
	char dir[64]; /* of the sockets and the connection file; removed at the end */
	char file[96]; /* the connection file */
	char key[65];
	char session[33];
	uint64_t sent; /* requests */
};

/* Makes keys, the directory and the connection file. 0 or -errno. */
int jupyter_client_open(struct jupyter_client *client);
/* Connects; the kernel need not listen yet. */
int jupyter_client_connect(struct jupyter_client *client);
void jupyter_client_close(struct jupyter_client *client);

/* Sends a request with its content as JSON text; its id into ret_id[80]. parent: the header that
 * is answered as JSON text, NULL: none. */
int jupyter_client_send(struct jupyter_client *client, enum jupyter_channel channel,
	const char *type, const char *content, const struct json_object *parent, char *ret_id);

/* One message if there is one: 1, 0, or a negative errno for what is not a message (skip it). */
int jupyter_client_receive(
	struct jupyter_client *client, enum jupyter_channel channel, struct jupyter_message *ret);

/* Waits until a channel or one of fds[2] has something, at most so long. Sets ready[2] for fds. */
int jupyter_client_wait(
	struct jupyter_client *client, const int *fds, bool *ready, long timeout_msec);
