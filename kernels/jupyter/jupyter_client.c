// A client's connection to one Jupyter kernel.
#include "kernels/jupyter/jupyter_client.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <openssl/crypto.h>
#include <openssl/hmac.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>
#include <zmq.h>

#include "common/clock.h"
#include "common/json_out.h"
#include "common/scope.h"

#define PARTS_MAX 64
#define MESSAGE_MAX (256LL * 1024 * 1024)

static const char *const port_names[] = {
	"shell_port", "iopub_port", "stdin_port", "control_port", "hb_port"};

static int random_hex(char *ret, size_t bytes)
{
	unsigned char raw[32];

	if (getrandom(raw, bytes, 0) != (ssize_t)bytes)
		return -errno;
	for (size_t i = 0; i < bytes; i++)
		snprintf(ret + 2 * i, 3, "%02x", raw[i]);
	return 0;
}

static int write_file(struct jupyter_client *client)
{
	struct buf text auto_buf = {0}, ip auto_buf = {0};
	struct json_out j;

	buf_printf(&ip, "%s/s", client->dir);
	json_out_begin(&j, &text);
	json_out_object(&j, NULL);
	json_out_string(&j, "transport", "ipc");
	json_out_string(&j, "ip", buf_text(&ip));
	for (size_t i = 0; i < ARRAY_LEN(port_names); i++)
		json_out_uint(&j, port_names[i], i + 1);
	json_out_string(&j, "key", client->key);
	json_out_string(&j, "signature_scheme", "hmac-sha256");
	json_out_string(&j, "kernel_name", "");
	json_out_object_end(&j);
	int fd auto_close = open(client->file, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (fd < 0)
		return -errno;
	return write(fd, text.data, text.len) == (ssize_t)text.len ? 0 : -EIO;
}

/* A short path: that of a socket has at most 107 bytes. */
int jupyter_client_open(struct jupyter_client *client)
{
	int r;

	*client = (struct jupyter_client){.dir = "/dev/shm/jupyter-XXXXXX"};
	if (!mkdtemp(client->dir))
		return -errno;
	snprintf(client->file, sizeof(client->file), "%s/c.json", client->dir);
	r = random_hex(client->key, 32);
	if (r == 0)
		r = random_hex(client->session, 16);
	return r == 0 ? write_file(client) : r;
}

static int open_socket(struct jupyter_client *client, enum jupyter_channel channel)
{
	const int zero = 0, first = 5, most = 20;
	int64_t max = MESSAGE_MAX;
	char address[128];
	void *socket = zmq_socket(client->zmq, channel == JUPYTER_IOPUB ? ZMQ_SUB : ZMQ_DEALER);

	if (!socket)
		return -errno;
	client->sockets[channel] = socket;
	zmq_setsockopt(socket, ZMQ_LINGER, &zero, sizeof(zero));
	zmq_setsockopt(socket, ZMQ_RCVHWM, &zero, sizeof(zero));
	zmq_setsockopt(socket, ZMQ_SNDHWM, &zero, sizeof(zero));
	zmq_setsockopt(socket, ZMQ_RECONNECT_IVL, &first, sizeof(first));
	zmq_setsockopt(socket, ZMQ_RECONNECT_IVL_MAX, &most, sizeof(most));
	zmq_setsockopt(socket, ZMQ_MAXMSGSIZE, &max, sizeof(max));
	if (channel == JUPYTER_IOPUB)
		zmq_setsockopt(socket, ZMQ_SUBSCRIBE, "", 0);
	else /* the same on shell and stdin, or a question would go nowhere */
		zmq_setsockopt(socket, ZMQ_ROUTING_ID, client->session, strlen(client->session));
	snprintf(address, sizeof(address), "ipc://%s/s-%d", client->dir, (int)channel + 1);
	return zmq_connect(socket, address) < 0 ? -errno : 0;
}

int jupyter_client_connect(struct jupyter_client *client)
{
	int r = 0;

	client->zmq = zmq_ctx_new();
	if (!client->zmq)
		return -errno;
	for (int i = 0; r == 0 && i < JUPYTER_CHANNELS; i++)
		r = open_socket(client, (enum jupyter_channel)i);
	return r;
}

void jupyter_client_close(struct jupyter_client *client)
{
	struct buf path auto_buf = {0};

	for (int i = 0; i < JUPYTER_CHANNELS; i++)
		if (client->sockets[i])
			zmq_close(client->sockets[i]);
	if (client->zmq)
		zmq_ctx_term(client->zmq);
	for (size_t i = 1; i <= ARRAY_LEN(port_names); i++) {
		buf_reset(&path);
		buf_printf(&path, "%s/s-%zu", client->dir, i);
		unlink(buf_text(&path));
	}
	unlink(client->file);
	rmdir(client->dir);
	*client = (struct jupyter_client){0};
}

static void sign(const struct jupyter_client *client, const struct jupyter_part *four, char *ret)
{
	unsigned char digest[EVP_MAX_MD_SIZE];
	unsigned len = 0;
	struct buf all auto_buf = {0};

	for (int i = 0; i < 4; i++)
		buf_add(&all, four[i].data, four[i].len);
	HMAC(EVP_sha256(), client->key, (int)strlen(client->key),
		(const unsigned char *)buf_text(&all), all.len, digest, &len);
	for (unsigned i = 0; i < len && i < 32; i++)
		snprintf(ret + 2 * i, 3, "%02x", digest[i]);
}

static bool check(void *arg, const struct jupyter_part *four, const struct jupyter_part *hex)
{
	char right[65] = "";

	sign(arg, four, right);
	return hex->len == 64 && CRYPTO_memcmp(hex->data, right, 64) == 0;
}

static void make_header(
	struct jupyter_client *client, const char *type, const char *id, struct buf *to)
{
	char iso[CLOCK_ISO_LEN];
	struct json_out j;

	clock_iso(clock_wall_usec(), iso);
	json_out_begin(&j, to);
	json_out_object(&j, NULL);
	json_out_string(&j, "msg_id", id);
	json_out_string(&j, "session", client->session);
	json_out_string(&j, "username", "sandpit");
	json_out_string(&j, "date", iso);
	json_out_string(&j, "msg_type", type);
	json_out_string(&j, "version", "5.3");
	json_out_object_end(&j);
}

int jupyter_client_send(struct jupyter_client *client, enum jupyter_channel channel,
	const char *type, const char *content, const struct json_object *parent, char *ret_id)
{
	struct buf header auto_buf = {0};
	char signature[65] = "", id[80];
	size_t parent_len = 2;
	const char *parent_text = parent ? json_in_text(parent, &parent_len) : "{}";

	snprintf(id, sizeof(id), "%s_%" PRIu64, client->session, ++client->sent);
	if (ret_id)
		memcpy(ret_id, id, sizeof(id));
	make_header(client, type, id, &header);
	const struct jupyter_part four[] = {{buf_text(&header), header.len},
		{parent_text, parent_len}, {"{}", 2}, {content, strlen(content)}};
	sign(client, four, signature);
	void *socket = client->sockets[channel];
	if (zmq_send(socket, "<IDS|MSG>", 9, ZMQ_SNDMORE) < 0 ||
		zmq_send(socket, signature, 64, ZMQ_SNDMORE) < 0)
		return -errno;
	for (int i = 0; i < 4; i++)
		if (zmq_send(socket, four[i].data, four[i].len, i < 3 ? ZMQ_SNDMORE : 0) < 0)
			return -errno;
	return 0;
}

int jupyter_client_receive(
	struct jupyter_client *client, enum jupyter_channel channel, struct jupyter_message *ret)
{
	zmq_msg_t messages[PARTS_MAX];
	struct jupyter_part parts[PARTS_MAX];
	size_t len = 0;
	bool more = true;
	int r = 0;

	while (more) {
		zmq_msg_t *message = &messages[len];

		zmq_msg_init(message);
		if (zmq_msg_recv(message, client->sockets[channel], ZMQ_DONTWAIT) < 0) {
			r = errno == EAGAIN ? 0 : -errno;
			zmq_msg_close(message);
			break;
		}
		more = zmq_msg_more(message);
		parts[len] = (struct jupyter_part){zmq_msg_data(message), zmq_msg_size(message)};
		if (len < PARTS_MAX - 1)
			len++;
		else
			zmq_msg_close(message); /* buffers, of which nothing is used */
	}
	if (!more) {
		r = jupyter_message_parse(parts, len, check, client, ret);
		r = r < 0 ? r : 1;
	}
	while (len)
		zmq_msg_close(&messages[--len]);
	return r;
}

int jupyter_client_wait(
	struct jupyter_client *client, const int *fds, bool *ready, long timeout_msec)
{
	zmq_pollitem_t items[JUPYTER_CHANNELS + 2] = {0};

	for (int i = 0; i < JUPYTER_CHANNELS; i++)
		items[i] = (zmq_pollitem_t){.socket = client->sockets[i], .events = ZMQ_POLLIN};
	for (int i = 0; i < 2; i++)
		items[JUPYTER_CHANNELS + i] = (zmq_pollitem_t){.fd = fds[i], .events = ZMQ_POLLIN};
	int r = zmq_poll(items, JUPYTER_CHANNELS + 2, timeout_msec);
	for (int i = 0; i < 2; i++)
		ready[i] = r > 0 && items[JUPYTER_CHANNELS + i].revents;
	return r < 0 ? -errno : r;
}
