// ports/: the TCP ports on which something in the sandbox listens, and their URLs on the host.
#include "fs/synth/synth.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fs/mount.h"
#include "fs/synth/control.h"
#include "runner/net/ports.h"

static bool parse_port(const char *text, unsigned long *ret)
{
	char *end;

	if (*text < '0' || *text > '9' || strlen(text) > 5)
		return false;
	*ret = strtoul(text, &end, 10);
	return !*end && *ret <= UINT16_MAX;
}

/* Opens it, when something reads it: stat(2) does not. */
static int show_url(struct mount *m, const struct synth_node *n, struct buf *ret)
{
	struct buf path auto_buf = {0};
	struct fail f = {0};
	const char *url;
	int r = ports_url(m->ports, (uint16_t)n->object, &url, &f);

	if (r == 0)
		return buf_printf(ret, "%s\n", url);
	synth_path(m, n, &path);
	return mount_failed(m, buf_text(&path), r, &f);
}

static int size_url(struct mount *m, const struct synth_node *n, uint64_t *ret)
{
	*ret = ports_url_len(m->ports, (uint16_t)n->object) + 1;
	return 0;
}

static int begin_bind(struct control_call *call, const char *text, size_t len, struct fail *f)
{
	unsigned long host_port;

	(void)len;
	if (!parse_port(text, &host_port))
		return fail_set(f, -EINVAL, "write a port of the host, 1 to 65535, or 0 for any");
	return ports_bind(call->m->ports, (uint16_t)call->node.object, (uint16_t)host_port, f);
}

static const struct control port_control = {.syntax = CONTROL_LINE, .begin = begin_bind};

static bool is_port(struct mount *m, const struct synth_node *n)
{
	(void)m;
	return n->object;
}

/* Of every port, under its number. */
static const struct synth_file ports_files[] = {
	{.name = "",
		.help = "a URL of the host's loopback that reaches it; write a port for it; rm closes",
		.mode = 0644,
		.show = show_url,
		.size = size_url,
		.control = &port_control,
		.present = is_port},
};

static void set_node(uint16_t port, struct synth_node *ret)
{
	*ret = (struct synth_node){.dir = &synth_ports, .object = port, .slot = 1};
}

static int lookup(struct mount *m, uint32_t object, const char *name, struct synth_node *ret)
{
	unsigned long port;

	(void)object;
	if (*name == '0' || !parse_port(name, &port) || !ports_listens(m->ports, (uint16_t)port))
		return -ENOENT;
	set_node((uint16_t)port, ret);
	return 0;
}

struct emission {
	synth_emit emit;
	void *arg;
};

static int emit_port(void *arg, uint16_t port)
{
	const struct emission *emission = arg;
	struct synth_node n;
	char name[8];

	set_node(port, &n);
	snprintf(name, sizeof(name), "%u", port);
	return emission->emit(emission->arg, name, &n);
}

static int list(struct mount *m, uint32_t object, synth_emit emit, void *arg)
{
	struct emission emission = {emit, arg};

	(void)object;
	return ports_each(m->ports, emit_port, &emission);
}

static bool exists(struct mount *m, uint32_t object)
{
	return !object || (object <= UINT16_MAX && ports_exists(m->ports, (uint16_t)object));
}

static void name(struct mount *m, uint32_t object, struct buf *ret)
{
	(void)m;
	buf_add_str(ret, "ports");
	if (object)
		buf_printf(ret, "/%u", object);
}

static int close_port(struct mount *m, const struct synth_node *n, struct fail *f)
{
	(void)f;
	ports_close(m->ports, (uint16_t)n->object);
	return 0;
}

const struct synth_dir synth_ports = {
	.path = "ports",
	.help = "servers in the sandbox, reachable from outside",
	.no_such = "nothing in the sandbox listens on such a port; start a server first, ls shows "
		   "the ports that are listened on",
	.files = ports_files,
	.files_len = ARRAY_LEN(ports_files),
	.scratch = true,
	.exists = exists,
	.name = name,
	.lookup = lookup,
	.list = list,
	.unlink = close_port,
};
