// The table of settings, and what can be said about each in words.
#include "common/config_key.h"

#include <stdio.h>
#include <string.h>

#include "common/config.h"

#define AT(field) offsetof(struct config, field)
#define MIB ((uint64_t)1 << 20)
#define SIZE_LIMIT ((uint64_t)1 << 62)

/* A new setting is a field in config.h and an entry here. */
const struct config_key config_keys[] = {
	{"name", CONFIG_NAME, AT(name), NULL, "the mount point's path with dashes", 0, 0, NULL,
		"the sandbox's name; its state is kept under it"},
	{"state", CONFIG_PATH, AT(state), NULL, "$XDG_STATE_HOME/sandpit/NAME", 0, 0, NULL,
		"directory that keeps files/ and out/"},
	{"store", CONFIG_PATH, AT(store), NULL, "one for all sandboxes of the user", 0, 0, NULL,
		"directory that keeps checkpoints"},
	{"project", CONFIG_NAME, AT(project), NULL, "the sandbox's name", 0, 0, NULL,
		"name under which checkpoints are kept"},
	{"rootfs", CONFIG_PATH, AT(rootfs), NULL, "the system directories of this machine", 0, 0,
		NULL, "directory with the operating system that the sandbox sees"},
	{"net", CONFIG_NET, AT(net), NULL, "user where pasta or slirp4netns is, else none", 0, 0,
		NULL, "the network"},
	{"net_allow", CONFIG_HOSTS, AT(net_allow), NULL, "none", 0, 0, NULL,
		"hosts that net=proxy may reach"},
	{"memory", CONFIG_BYTES, AT(memory), "0", NULL, MIB, SIZE_LIMIT, "no limit",
		"memory of the whole sandbox"},
	{"pids", CONFIG_COUNT, AT(pids), "2048", NULL, 8, 4194304, "no limit",
		"processes and threads of the whole sandbox"},
	{"cpus", CONFIG_REAL, AT(cpus), "0", NULL, 0, 4096, "no limit",
		"processors that the sandbox may keep busy, such as 1.5"},
	{"disk", CONFIG_BYTES, AT(disk), "0", NULL, MIB, SIZE_LIMIT, "no limit",
		"disk space that files/ may take"},
	{"fsize", CONFIG_BYTES, AT(fsize), "0", NULL, 4096, SIZE_LIMIT, "no limit",
		"size of a single file that a command writes"},
	{"nofile", CONFIG_COUNT, AT(nofile), "0", NULL, 16, 1048576, "7/8 of what the daemon has",
		"open files of a process"},
	{"output_bytes", CONFIG_BYTES, AT(output_bytes), "64M", NULL, 4096, SIZE_LIMIT, NULL,
		"bytes kept of each output stream of a run"},
	{"max_bytes", CONFIG_BYTES, AT(max_bytes), "25M", NULL, 4096, SIZE_LIMIT, NULL,
		"size of a checkpoint's archive"},
	{"keep", CONFIG_COUNT, AT(keep), "10", NULL, 1, 100000, NULL,
		"checkpoints kept of a project"},
	{"kernels", CONFIG_COUNT, AT(kernels), "16", NULL, 1, 1000, NULL,
		"kernels in code/ that run at once"},
	{"threads", CONFIG_COUNT, AT(threads), "8", NULL, 1, 64, NULL,
		"threads that serve files/; more while the disk does not answer"},
	{"idle_poll", CONFIG_FLAG, AT(idle_poll), "yes", NULL, 0, 0, NULL,
		"as root: while requests follow one another no processor sleeps"},
	{"timeout", CONFIG_SECONDS, AT(timeout), "0", NULL, 1, 1000000000, "none",
		"time limit of runs that name none"},
	{"allow_other", CONFIG_FLAG, AT(allow_other), "no", NULL, 0, 0, NULL,
		"let other users enter the mount"},
	{"nonempty", CONFIG_FLAG, AT(nonempty), "no", NULL, 0, 0, NULL,
		"mount over a directory that is not empty"},
};

const size_t config_keys_len = sizeof(config_keys) / sizeof(config_keys[0]);

const struct config_key *config_key_find(const char *name)
{
	for (size_t i = 0; i < config_keys_len; i++) {
		if (strcmp(config_keys[i].name, name) == 0)
			return &config_keys[i];
	}
	return NULL;
}

const char *config_key_metavar(const struct config_key *key)
{
	static const char *const metavars[] = {
		[CONFIG_NAME] = "NAME",
		[CONFIG_PATH] = "DIR",
		[CONFIG_NET] = "KIND",
		[CONFIG_HOSTS] = "HOST:HOST",
		[CONFIG_BYTES] = "SIZE",
		[CONFIG_SECONDS] = "SECONDS",
		[CONFIG_COUNT] = "N",
		[CONFIG_REAL] = "N",
		[CONFIG_FLAG] = NULL,
	};

	return metavars[key->kind];
}

/* 65536 as "64K". */
static void size_text(uint64_t bytes, char *text, size_t size)
{
	static const char units[] = "KMGTPE";
	int unit = -1;

	while (bytes && bytes % 1024 == 0 && unit < 5) {
		bytes /= 1024;
		unit++;
	}
	if (unit < 0)
		snprintf(text, size, "%llu", (unsigned long long)bytes);
	else
		snprintf(text, size, "%llu%c", (unsigned long long)bytes, units[unit]);
}

static void number_allowed(const struct config_key *key, char *text, size_t size)
{
	char min[32], max[32];
	const char *what = "";

	if (key->kind == CONFIG_BYTES) {
		size_text(key->min, min, sizeof(min));
		size_text(key->max, max, sizeof(max));
	} else {
		snprintf(min, sizeof(min), "%llu", (unsigned long long)key->min);
		snprintf(max, sizeof(max), "%llu", (unsigned long long)key->max);
		if (key->kind == CONFIG_SECONDS)
			what = ", also as 2m or 1h";
	}
	if (key->kind == CONFIG_REAL)
		snprintf(text, size, "more than 0, to %s", max);
	else
		snprintf(text, size, "%s to %s%s", min, max, what);
	if (key->zero_help) {
		size_t len = strlen(text);

		snprintf(text + len, size - len, ", 0: %s", key->zero_help);
	}
}

void config_key_allowed(const struct config_key *key, char *text, size_t size)
{
	static const char *const words[] = {
		[CONFIG_NAME] = "up to 200 bytes without / or control characters, not starting "
				"with . or -",
		[CONFIG_PATH] = "a path; in a file an absolute one",
		[CONFIG_NET] = "user, proxy, none or host",
		[CONFIG_HOSTS] =
			"host names separated by :, *.NAME for all below NAME, HOST=PORT for a port",
		[CONFIG_FLAG] = "yes or no",
	};

	if (key->kind < sizeof(words) / sizeof(words[0]) && words[key->kind])
		snprintf(text, size, "%s", words[key->kind]);
	else
		number_allowed(key, text, size);
}
