// Messages of the Jupyter protocol: taken apart, and what they show.
#include "kernels/jupyter/jupyter_message.h"

#include <errno.h>
#include <string.h>

#include "common/json_out.h"
#include "common/scope.h"
#include "kernels/kernel_wire.h"

#define DELIMITER "<IDS|MSG>"

/* Kernels send bytes that are not UTF-8: they become U+FFFD here, as nothing else can be meant. */
static int parse(const struct jupyter_part *part, struct json_object **ret)
{
	struct buf quoted auto_buf = {0};
	struct json_out j;
	int r = json_in_parse(part->data, part->len, ret, NULL);

	if (r == 0 || json_out_is_utf8(part->data, part->len))
		return r;
	/* Written as a JSON string and read back: every wrong byte has been replaced. */
	json_out_begin(&j, &quoted);
	json_out_bytes(&j, NULL, part->data, part->len);
	struct json_object *string auto_call(json_in_free) = NULL;
	if (quoted.error || json_in_parse(quoted.data, quoted.len, &string, NULL) < 0)
		return -EPROTO;
	size_t len;
	const char *clean = json_in_string(string, &len);
	return json_in_parse(clean, len, ret, NULL);
}

static void copy(const struct json_object *object, const char *key, char *ret, size_t size)
{
	const struct json_object *value = json_in_get(object, key);

	ret[0] = '\0';
	if (value && json_in_type(value) == JSON_IN_STRING)
		snprintf(ret, size, "%s", json_in_string(value, NULL));
}

int jupyter_message_parse(const struct jupyter_part *parts, size_t len,
	bool (*signature)(
		void *arg, const struct jupyter_part *four, const struct jupyter_part *hex),
	void *arg, struct jupyter_message *ret)
{
	struct json_object *parent auto_call(json_in_free) = NULL;
	size_t at = 0;

	*ret = (struct jupyter_message){0};
	while (at < len && (parts[at].len != strlen(DELIMITER) ||
				   memcmp(parts[at].data, DELIMITER, strlen(DELIMITER)) != 0))
		at++;
	if (len - at < 6)
		return -EPROTO;
	if (signature && !signature(arg, &parts[at + 2], &parts[at + 1]))
		return -EBADMSG;
	if (parse(&parts[at + 2], &ret->header) < 0 || parse(&parts[at + 3], &parent) < 0 ||
		parse(&parts[at + 5], &ret->content) < 0) {
		jupyter_message_clear(ret);
		return -EPROTO;
	}
	copy(ret->header, "msg_type", ret->type, sizeof(ret->type));
	copy(parent, "msg_id", ret->parent, sizeof(ret->parent));
	return 0;
}

void jupyter_message_clear(struct jupyter_message *message)
{
	json_in_free(&message->content);
	json_in_free(&message->header);
}

const char *jupyter_message_string(
	const struct jupyter_message *message, const char *key, size_t *ret_len)
{
	const struct json_object *value = json_in_get(message->content, key);

	if (ret_len)
		*ret_len = 0;
	return value && json_in_type(value) == JSON_IN_STRING ? json_in_string(value, ret_len) : "";
}

static int digit(char c)
{
	if (c >= 'A' && c <= 'Z')
		return c - 'A';
	if (c >= 'a' && c <= 'z')
		return c - 'a' + 26;
	if (c >= '0' && c <= '9')
		return c - '0' + 52;
	return c == '+' ? 62 : c == '/' ? 63 : -1;
}

int jupyter_message_base64(const char *text, size_t len, struct buf *to)
{
	unsigned bits = 0, held = 0;

	if (buf_reserve(to, len / 4 * 3 + 3) < 0)
		return -ENOMEM;
	for (size_t i = 0; i < len; i++) {
		int value = digit(text[i]);

		if (value < 0 && strchr(" \t\r\n", text[i]))
			continue;
		if (value < 0)
			break;
		held = held << 6 | (unsigned)value;
		bits += 6;
		if (bits >= 8) {
			bits -= 8;
			buf_add_char(to, (char)(held >> bits & 255));
		}
	}
	return to->error;
}

static bool is_binary(const char *mime)
{
	return (!strncmp(mime, "image/", 6) && strcmp(mime, "image/svg+xml") != 0) ||
	       !strcmp(mime, "application/pdf");
}

static int add_mime(const char *mime, const struct json_object *value, void *arg)
{
	struct buf *frame = arg, data auto_buf = {0};
	bool string = json_in_type(value) == JSON_IN_STRING;
	size_t len = 0;
	const char *text = string ? json_in_string(value, &len) : json_in_text(value, &len);

	if (!strcmp(mime, "image/jpg"))
		mime = "image/jpeg";
	if (string && is_binary(mime)) {
		if (jupyter_message_base64(text, len, &data) < 0)
			return 0;
		text = buf_text(&data);
		len = data.len;
	}
	if (*mime != '@' && frame->len + len < KERNEL_WIRE_MAX - 4096)
		kernel_wire_add(frame, mime, text, len);
	return 0;
}

void jupyter_message_bundle(const struct jupyter_message *message, struct buf *frame)
{
	const struct json_object *data = json_in_get(message->content, "data");

	if (data && json_in_type(data) == JSON_IN_OBJECT)
		json_in_each(data, add_mime, frame);
}

void jupyter_message_plain(const char *text, size_t len, struct buf *to)
{
	for (size_t i = 0; i < len; i++) {
		if (text[i] != '\033' || i + 1 == len || text[i + 1] != '[') {
			buf_add_char(to, text[i]);
			continue;
		}
		i += 2;
		while (i < len && (text[i] < '@' || text[i] > '~'))
			i++;
	}
}
