// Which directories are left out of an archive, and the names that are told about it.
#include "runner/checkpoint/pack_names.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/scope.h"

/* Dependencies, build outputs, version control and caches: made again by their tools. */
static const char *const usual[] = {"node_modules", ".next", ".git", "dist", "build", "out",
	"coverage", ".cache", ".turbo", ".vite", ".parcel-cache", "__pycache__", ".venv", "venv",
	".edgeone"};

bool pack_names_is_excluded(const char *name, const struct buf *exclude)
{
	const char *at = buf_text(exclude), *end = at + exclude->len;

	for (size_t i = 0; i < ARRAY_LEN(usual); i++)
		if (!strcmp(usual[i], name))
			return true;
	for (; at < end; at += strlen(at) + 1)
		if (!strcmp(at, name))
			return true;
	return false;
}

int pack_names_add(struct pack_names *names, const char *path)
{
	return names->count++ < PACK_LISTED_MAX ? buf_add(&names->text, path, strlen(path) + 1) : 0;
}

void pack_names_json(const struct pack_names *names, const char *key, struct json_out *j)
{
	const char *at = buf_text(&names->text), *end = at + names->text.len;

	json_out_array(j, key);
	for (; at < end; at += strlen(at) + 1)
		json_out_bytes(j, NULL, at, strlen(at));
	json_out_array_end(j);
}

int pack_names_largest(struct pack_result *result, const char *path, uint64_t bytes)
{
	struct pack_largest *last = &result->largest[PACK_LARGEST - 1];
	char *copy;
	size_t at = PACK_LARGEST - 1;

	if (bytes == 0 || (last->path && bytes <= last->bytes))
		return 0;
	copy = strdup(path);
	if (!copy)
		return -ENOMEM;
	free(last->path);
	for (; at > 0 && (!result->largest[at - 1].path || result->largest[at - 1].bytes < bytes);
		at--)
		result->largest[at] = result->largest[at - 1];
	result->largest[at] = (struct pack_largest){copy, bytes};
	return 0;
}

void pack_names_advise(const struct pack_result *result, struct fail *f)
{
	struct buf words auto_buf = {0};
	const char *base;

	if (!result->largest[0].path)
		return;
	buf_printf(&words, "%s; the largest directories so far:", f->text);
	for (size_t i = 0; i < 3 && result->largest[i].path; i++)
		buf_printf(&words, "%s %.60s (%" PRIu64 " bytes)", i ? "," : "",
			result->largest[i].path, result->largest[i].bytes);
	base = strrchr(result->largest[0].path, '/');
	base = base ? base + 1 : result->largest[0].path;
	buf_printf(&words, "; leave some out with exclude=%.60s", base);
	if (!words.error)
		fail_set(f, -EFBIG, "%s", words.data);
}

struct sum {
	uint64_t files, bytes;
};

static int add_size(void *arg, const struct tree_entry *entry, struct fail *f)
{
	struct sum *sum = arg;

	(void)f;
	sum->files++;
	if (S_ISREG(entry->sx.stx_mode))
		sum->bytes += entry->sx.stx_size;
	return 0;
}

static struct pack_excluded *find(struct buf *in, const char *name)
{
	struct pack_excluded *at = (struct pack_excluded *)in->data;
	struct pack_excluded empty = {0};
	size_t len = in->len / sizeof(*at);

	for (size_t i = 0; i < len; i++)
		if (!strcmp(at[i].name, name))
			return &at[i];
	snprintf(empty.name, sizeof(empty.name), "%s", name);
	if (buf_add(in, &empty, sizeof(empty)) < 0)
		return NULL;
	return (struct pack_excluded *)in->data + len;
}

int pack_names_measure(
	struct task *t, const struct tree_entry *entry, struct buf *to, struct fail *f)
{
	static const struct tree_visitor visitor = {.visit = add_size};
	struct pack_excluded *excluded;
	struct sum sum = {0};
	int r = tree_walk(t, entry->fd, &visitor, &sum, f);

	if (r < 0)
		return r;
	excluded = find(to, entry->name);
	if (!excluded)
		return -ENOMEM;
	excluded->directories++;
	excluded->files += sum.files;
	excluded->bytes += sum.bytes;
	return 0;
}
