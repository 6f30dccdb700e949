// What is mounted, as the kernel tells it.
#include "common/mount_table.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

int mount_table_open(struct mount_table *ret)
{
	*ret = (struct mount_table){.file = fopen("/proc/self/mountinfo", "re")};
	return ret->file ? 0 : -errno;
}

void mount_table_close(struct mount_table *table)
{
	if (table->file)
		fclose(table->file);
	free(table->line);
	*table = (struct mount_table){0};
}

/* "36 35 98:0 /root /dir opts [tag...] - type source super": the optional tags end at the dash. */
static bool split(char *line, struct mount_entry *ret)
{
	char *fields[5], *after = strstr(line, " - "), *super, *user;

	if (!after)
		return false;
	*after = '\0';
	after += 3;
	for (size_t i = 0; i < 5; i++) {
		fields[i] = strsep(&line, " ");
		if (!fields[i])
			return false;
	}
	ret->id = atoi(fields[0]);
	ret->dir = fields[4];
	super = after;
	ret->type = strsep(&super, " ");
	ret->source = strsep(&super, " ");
	user = super ? strstr(super, "user_id=") : NULL;
	ret->user = user ? strtol(user + strlen("user_id="), NULL, 10) : -1;
	return ret->source != NULL;
}

int mount_table_next(struct mount_table *table, struct mount_entry *ret)
{
	ssize_t len;

	errno = 0;
	while ((len = getline(&table->line, &table->size, table->file)) > 0) {
		table->line[strcspn(table->line, "\n")] = '\0';
		if (!split(table->line, ret))
			continue;
		mount_table_unescape(ret->dir);
		mount_table_unescape(ret->source);
		return 1;
	}
	return errno ? -errno : 0;
}

void mount_table_escape(struct buf *to, const char *text)
{
	for (const unsigned char *p = (const unsigned char *)text; *p; p++) {
		if (*p <= 0x20 || *p == 0x7f || *p == '\\')
			buf_printf(to, "\\%03o", *p);
		else
			buf_add_char(to, (char)*p);
	}
}

static bool is_octal(const char *p)
{
	return p[0] >= '0' && p[0] <= '3' && p[1] >= '0' && p[1] <= '7' && p[2] >= '0' &&
	       p[2] <= '7';
}

void mount_table_unescape(char *text)
{
	char *to = text;

	for (const char *p = text; *p; p++) {
		if (p[0] == '\\' && is_octal(p + 1)) {
			*to++ = (char)((p[1] - '0') * 64 + (p[2] - '0') * 8 + (p[3] - '0'));
			p += 3;
		} else {
			*to++ = *p;
		}
	}
	*to = '\0';
}
