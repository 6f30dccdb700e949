// The browser's settings: config.json, and what the driver is started with.
#include "kernels/browser/browser_internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/json_in.h"
#include "common/json_out.h"
#include "common/scope.h"

static const struct {
	const char *name; /* of config.json */
	const char *help;
	enum json_in_type type;
} keys[] = {
	{"ignore_tls", "true: certificates are not checked", JSON_IN_BOOL},
	{"credentials", "{\"username\",\"password\"} of HTTP authentication", JSON_IN_OBJECT},
	{"headers", "{\"NAME\":\"VALUE\"} sent with every request", JSON_IN_OBJECT},
	{"offline", "true: no network", JSON_IN_BOOL},
	{"user_agent", "at the next start", JSON_IN_STRING},
	{"headless", "true: no display, at the next start", JSON_IN_BOOL},
	{"cdp", "whether cdp_url works, at the next start", JSON_IN_BOOL},
};

static int check_key(const char *key, const struct json_object *value, void *arg)
{
	struct fail *f = arg;
	struct buf known auto_buf = {0};

	for (size_t i = 0; i < ARRAY_LEN(keys); i++) {
		if (!strcmp(keys[i].name, key))
			return json_in_type(value) == keys[i].type ||
					       json_in_type(value) == JSON_IN_NULL
				       ? 0
				       : fail_set(f, -EINVAL, "\"%s\": %s", key, keys[i].help);
		buf_printf(&known, "%s%s", i ? ", " : "", keys[i].name);
	}
	return fail_set(f, -EINVAL, "unknown key \"%.60s\"; there are %s", key, buf_text(&known));
}

/* Tells a driver that runs: all that it was started with, as it is now. */
static void apply(struct browser *b)
{
	struct buf frame auto_buf = {0};
	struct buf config auto_buf = {0};
	size_t start = browser_frame_begin(&frame, BROWSER_REQUEST, 0);

	if (!b->kernel || b->kernel->state != KERNEL_IS_READY ||
		browser_settings_write(b, &config) < 0)
		return;
	kernel_wire_add(&frame, "op", "configure", 9);
	kernel_wire_add(&frame, "text", config.data, config.len);
	kernel_wire_end(&frame, start);
	kernel_send(b->kernel, &frame);
}

void browser_retime(struct browser *b)
{
	apply(b);
}

static int show_key(const char *key, const struct json_object *value, void *arg)
{
	struct json_out *j = arg;
	size_t len;

	for (size_t i = 0; i < ARRAY_LEN(keys); i++) {
		if (strcmp(keys[i].name, key) != 0)
			continue;
		if (json_in_type(value) == JSON_IN_BOOL)
			json_out_bool(j, keys[i].name, json_in_bool(value));
		else if (json_in_type(value) == JSON_IN_STRING)
			json_out_string(j, keys[i].name, json_in_string(value, &len));
		else if (json_in_type(value) == JSON_IN_OBJECT)
			json_out_string(j, keys[i].name, "set");
	}
	return 0;
}

int browser_show_settings(const struct browser *b, struct buf *ret)
{
	struct json_object *value auto_call(json_in_free) = NULL;
	struct json_out j;

	json_out_begin(&j, ret);
	json_out_object(&j, NULL);
	if (b->settings && json_in_parse(b->settings, strlen(b->settings), &value, NULL) == 0)
		json_in_each(value, show_key, &j);
	json_out_object_end(&j);
	return buf_add_char(ret, '\n');
}

int browser_configure(struct browser *b, const char *text, size_t len, struct fail *f)
{
	struct json_object *value auto_call(json_in_free) = NULL;
	int r = json_in_object(text, len, &value, f);
	char *copy;

	if (r < 0)
		return r;
	r = json_in_each(value, check_key, f);
	if (r < 0)
		return r;
	copy = strndup(text, len);
	if (!copy)
		return -ENOMEM;
	free(b->settings);
	b->settings = copy;
	apply(b);
	return 0;
}

int browser_settings_write(const struct browser *b, struct buf *ret)
{
	struct json_out j;

	json_out_begin(&j, ret);
	json_out_object(&j, NULL);
	json_out_uint(&j, "firstPage", b->next_page);
	json_out_uint(&j, "timeout", b->timeout_msec);
	json_out_string(&j, "profile", BROWSER_HOME "/profile");
	json_out_string(&j, "downloads", BROWSER_HOME "/downloads");
	json_out_string(&j, "shots", BROWSER_HOME "/shots");
	json_out_string(&j, "run", BROWSER_HOME "/run");
	json_out_bool(&j, "cdp", !b->config.shares_network);
	if (b->width) {
		json_out_object(&j, "viewport");
		json_out_uint(&j, "width", b->width);
		json_out_uint(&j, "height", b->height);
		json_out_object_end(&j);
	}
	if (b->settings)
		json_out_raw(&j, "settings", b->settings, strlen(b->settings));
	json_out_object_end(&j);
	return ret->error;
}
