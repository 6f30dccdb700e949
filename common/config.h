// The settings of a mount: one table of keys, filled from the built-in defaults, the INI file and
// the command line, in this order.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "common/buf.h"
#include "common/fail.h"

/* A [kernel NAME] section: a language of one's own for code/. */
struct config_kernel {
	struct config_kernel *next; /* owned */
	char *name, *command; /* owned; the command is words between blanks */
	char *env; /* owned; K=V words; NULL: none */
	bool ready; /* one is held ready once the language is in use */
	bool interrupt_frame; /* it is interrupted by a frame, too */
};

struct config {
	struct config_kernel *own_kernels; /* owned; in the order of the file */
	char *name; /* all char * are owned; NULL: not given, the mount decides */
	char *state;
	char *store;
	char *project;
	char *rootfs;
	char *net; /* user, proxy, none or host; NULL: user where pasta or slirp4netns is, else none */
	char *net_allow;
	uint64_t memory; /* bytes; 0: no limit */
	uint64_t pids;
	double cpus;
	uint64_t disk; /* bytes */
	uint64_t fsize; /* bytes */
	uint64_t nofile;
	uint64_t output_bytes; /* kept of each stream of a run */
	uint64_t max_bytes; /* of a checkpoint's archive */
	uint64_t keep; /* checkpoints a project */
	uint64_t kernels; /* how many run at once */
	uint64_t threads; /* that serve files/; more while the disk does not answer */
	uint64_t timeout; /* seconds, default of runs; 0: none */
	bool idle_poll;
	bool allow_other;
	bool nonempty;
};

/* The defaults. 0 or -ENOMEM. */
int config_init(struct config *c);
void config_clear(struct config *c);

/* Sets one key. where says where it came from ("FILE:12" or "-o"), for the message. -EINVAL with
 * the key, the value, what is allowed and where: unknown key or bad value. */
int config_set(
	struct config *c, const char *key, const char *value, const char *where, struct fail *f);

/* One key of a [kernel NAME] section. -EINVAL as above. */
int config_kernel_set(struct config *c, const char *name, const char *key, const char *value,
	const char *where, struct fail *f);
/* Whether each has what it needs. -EINVAL. */
int config_kernels_check(const struct config *c, const char *path, struct fail *f);
void config_kernels_clear(struct config *c);

/* Reads an INI file (section [sandpit] or none, and [kernel NAME]). -EINVAL with file and line; -errno of open. */
int config_read_file(struct config *c, const char *path, struct fail *f);

/* The file to read when -c was not given: $XDG_CONFIG_HOME/sandpit/sandpit.ini, else
 * /etc/sandpit.ini; *ret is NULL when neither exists, else owned by the caller. */
int config_find_file(char **ret);

/* "-o KEY=VALUE,..." ; a backslash escapes a comma. mount(8)'s own words (rw, nosuid, nodev,
 * noauto, user, _netdev, x-..., defaults ...) are accepted and mean nothing. */
int config_set_options(struct config *c, const char *options, struct fail *f);

/* All keys with type, default, range and help, for `sandpit mount --help`, at most 79 columns. */
int config_help(struct buf *to);

/* "64M", "1G", "4096", "1.5G": bytes. "30", "2m", "1h": seconds. 0 or -EINVAL, -ERANGE. */
int config_parse_bytes(const char *text, uint64_t *ret);
int config_parse_seconds(const char *text, uint64_t *ret);
