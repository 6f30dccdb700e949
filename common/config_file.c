// The INI file: where it is and how it is read. The only home of inih.
#include "common/config.h"

#include <errno.h>
#include <fcntl.h>
#include <ini.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/config_key.h"
#include "common/scope.h"
#include "common/xdg.h"

#define FILE_MAX (64 * 1024)
#define LINE_MAX_BYTES 4096
#define SYSTEM_FILE "/etc/sandpit.ini"

struct reading {
	struct config *config; /* borrowed */
	const char *path; /* borrowed */
	const char *at; /* what has not been given to the parser yet */
	const char *end;
	struct fail *fail; /* borrowed */
	unsigned line; /* of what was given last */
	unsigned *seen; /* borrowed; the line of each key of the table, 0: not given */
	int error; /* the first one; nothing is looked at after it */
};

static void where(const struct reading *reading, char *text, size_t size)
{
	snprintf(text, size, "%.200s:%u", reading->path, reading->line);
}

static int refuse(struct reading *reading, const char *words)
{
	char place[256];

	where(reading, place, sizeof(place));
	return reading->error = fail_set(reading->fail, -EINVAL, "%s: %s", place, words);
}

/* inih takes what follows a section's bracket for nothing at all: "[sandpit] pids=3" would be
 * silently lost. */
static void check_section(struct reading *reading, const char *line)
{
	const char *close = strchr(line, ']');

	if (line[0] != '[')
		return;
	if (!close) {
		refuse(reading, "a section's name lacks its closing bracket");
		return;
	}
	close += 1 + strspn(close + 1, " \t\r\n");
	if (*close && *close != ';' && *close != '#')
		refuse(reading, "something follows the section's name on its line");
}

/* inih's fgets(): one line at a time, without leading white space, which would make it the
 * continuation of the line before. */
static char *next_line(char *line, int size, void *arg)
{
	struct reading *reading = arg;
	const char *start = reading->at, *stop;
	size_t len;

	if (reading->error || start == reading->end)
		return NULL;
	reading->line++;
	stop = memchr(start, '\n', (size_t)(reading->end - start));
	stop = stop ? stop + 1 : reading->end;
	reading->at = stop;
	if (memchr(start, '\0', (size_t)(stop - start))) {
		refuse(reading, "a NUL byte: this is not a text file");
		return NULL;
	}
	while (start < stop && (*start == ' ' || *start == '\t'))
		start++;
	len = (size_t)(stop - start);
	if (len > LINE_MAX_BYTES || len + 1 > (size_t)size) {
		refuse(reading, "the line is longer than 4096 bytes");
		return NULL;
	}
	memcpy(line, start, len);
	line[len] = '\0';
	check_section(reading, line);
	return reading->error ? NULL : line;
}

/* The rules that only a file has: its section, each key once, absolute paths. */
static int check_key(struct reading *reading, const char *section, const struct config_key *key,
	const char *value)
{
	char words[160];

	if (*section && strcmp(section, "sandpit") != 0) {
		snprintf(words, sizeof(words),
			"unknown section [%.60s]; allowed: [sandpit], [kernel NAME]", section);
		return refuse(reading, words);
	}
	if (!key)
		return 0;
	if (reading->seen[key - config_keys]) {
		snprintf(words, sizeof(words), "%s: given twice, first in line %u", key->name,
			reading->seen[key - config_keys]);
		return refuse(reading, words);
	}
	reading->seen[key - config_keys] = reading->line;
	if (key->kind == CONFIG_PATH && value[0] != '/') {
		snprintf(words, sizeof(words),
			"%s: '%.60s' is not valid; allowed: an absolute path", key->name, value);
		return refuse(reading, words);
	}
	return 0;
}

#define KERNEL_SECTION "kernel "

static int take_key(void *arg, const char *section, const char *name, const char *value)
{
	struct reading *reading = arg;
	char place[256];

	if (reading->error)
		return 0;
	if (!strncmp(section, KERNEL_SECTION, strlen(KERNEL_SECTION))) {
		where(reading, place, sizeof(place));
		reading->error =
			config_kernel_set(reading->config, section + strlen(KERNEL_SECTION), name,
				value ? value : "", place, reading->fail);
		return reading->error == 0;
	}
	if (check_key(reading, section, config_key_find(name), value ? value : "") < 0)
		return 0;
	where(reading, place, sizeof(place));
	reading->error =
		config_set(reading->config, name, value ? value : "", place, reading->fail);
	return reading->error == 0;
}

static int parse(struct reading *reading)
{
	int line;

	ini_allow_multiline = false;
	ini_use_stack = false;
	ini_allow_realloc = false;
	ini_max_line = LINE_MAX_BYTES + 3;
	ini_initial_alloc = LINE_MAX_BYTES + 3;
	line = ini_parse_stream(next_line, reading, take_key, reading);
	if (reading->error)
		return reading->error;
	if (line == -2)
		return -ENOMEM;
	if (line != 0) {
		reading->line = (unsigned)line;
		return refuse(reading, "neither KEY = VALUE nor [sandpit] nor a comment");
	}
	return 0;
}

/* 0, or a negative errno with words. */
static int read_all(const char *path, struct buf *to, struct fail *f)
{
	auto_close int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
	struct stat st;
	char part[4096];
	ssize_t len;

	/* Where even its directory is closed it is not this user's: HOME is left from another. */
	if (fd < 0 && errno == EACCES && access(path, F_OK) < 0)
		return fail_set(f, -EACCES,
			"%.200s: Permission denied; set XDG_CONFIG_HOME, or HOME, to a directory of "
			"yours",
			path);
	if (fd < 0)
		return fail_errno(f, -errno, "%.200s", path);
	if (fstat(fd, &st) == 0 && S_ISDIR(st.st_mode))
		return fail_errno(f, -EISDIR, "%.200s", path);
	while ((len = read(fd, part, sizeof(part))) != 0) {
		if (len < 0 && errno == EINTR)
			continue;
		if (len < 0)
			return fail_errno(f, -errno, "%.200s", path);
		if (to->len + (size_t)len > FILE_MAX)
			return fail_set(f, -EFBIG, "%.200s: larger than 64 KiB", path);
		if (buf_add(to, part, (size_t)len) < 0)
			return fail_errno(f, -ENOMEM, "%.200s", path);
	}
	return 0;
}

int config_read_file(struct config *c, const char *path, struct fail *f)
{
	auto_buf struct buf text = {0};
	auto_free unsigned *seen = calloc(config_keys_len, sizeof(*seen));
	struct reading reading = {.config = c, .path = path, .fail = f, .seen = seen};
	int r;

	if (!seen)
		return -ENOMEM;
	r = read_all(path, &text, f);
	if (r < 0)
		return r;
	reading.at = buf_text(&text);
	reading.end = reading.at + text.len;
	r = parse(&reading);
	return r < 0 ? r : config_kernels_check(c, path, f);
}

/* A file that is there but cannot be reached counts: to pass over it in silence would mount with
 * other settings than the user wrote. */
static bool is_absent(const char *path)
{
	struct stat st;

	return stat(path, &st) < 0 && (errno == ENOENT || errno == ENOTDIR);
}

int config_find_file(char **ret)
{
	auto_free char *own = NULL;
	int r = xdg_path("XDG_CONFIG_HOME", ".config", "sandpit/sandpit.ini", &own);

	*ret = NULL;
	if (r == -ENOMEM)
		return r;
	if (r == 0 && !is_absent(own)) {
		*ret = take_ptr(own);
		return 0;
	}
	if (is_absent(SYSTEM_FILE))
		return 0;
	*ret = strdup(SYSTEM_FILE);
	return *ret ? 0 : -ENOMEM;
}
