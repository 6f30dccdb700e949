// Plan: what a persist would make, without storing anything.
#include "runner/checkpoint/checkpoint.h"

#include <string.h>

#include "common/json_out.h"
#include "common/scope.h"
#include "runner/checkpoint/archive_out.h"
#include "runner/checkpoint/pack.h"
#include "runner/checkpoint/tree_target.h"

static void excluded_json(const struct buf *excluded, struct json_out *j)
{
	const struct pack_excluded *at = (const struct pack_excluded *)excluded->data;
	size_t len = excluded->len / sizeof(*at);

	json_out_array(j, "excluded");
	for (size_t i = 0; i < len; i++) {
		json_out_object(j, NULL);
		json_out_bytes(j, "name", at[i].name, strlen(at[i].name));
		json_out_uint(j, "directories", at[i].directories);
		json_out_uint(j, "files", at[i].files);
		json_out_uint(j, "bytes", at[i].bytes);
		json_out_object_end(j);
	}
	json_out_array_end(j);
}

static void largest_json(const struct pack_result *packed, struct json_out *j)
{
	json_out_array(j, "largest");
	for (size_t i = 0; i < PACK_LARGEST && packed->largest[i].path; i++) {
		json_out_object(j, NULL);
		json_out_bytes(j, "path", packed->largest[i].path, strlen(packed->largest[i].path));
		json_out_uint(j, "bytes", packed->largest[i].bytes);
		json_out_object_end(j);
	}
	json_out_array_end(j);
}

static int answer(const struct checkpoint_env *env, const struct tree_target *target,
	const struct pack_result *packed, uint64_t size, struct buf *ret)
{
	struct buf path auto_buf = {0};
	struct json_out j;

	tree_target_path(target, &path);
	json_out_begin(&j, ret);
	json_out_object(&j, NULL);
	json_out_bytes(&j, "path", buf_text(&path), path.len);
	json_out_uint(&j, "size", size);
	json_out_uint(&j, "limit", env->max_bytes);
	json_out_bool(&j, "fits",
		size <= env->max_bytes && packed->bytes <= checkpoint_max_content(env->max_bytes));
	json_out_uint(&j, "files", packed->files);
	json_out_uint(&j, "bytes", packed->bytes);
	largest_json(packed, &j);
	excluded_json(&packed->excluded, &j);
	pack_names_json(&packed->skipped, "skipped", &j);
	json_out_object_end(&j);
	return buf_add_char(ret, '\n');
}

static int measure(const struct pack_config *config, struct pack_result *packed, uint64_t *ret_size,
	struct fail *f)
{
	char sha256[SHA256_HEX_LEN + 1];
	struct archive_out *out;
	int r = archive_out_open(config->task, -1, 0, &out, f);

	if (r < 0)
		return r;
	r = pack_directory(config, out, packed, f);
	if (r == 0)
		r = archive_out_close(out, ret_size, sha256, f);
	archive_out_free(out);
	return r;
}

int checkpoint_plan(const struct checkpoint_env *env, const struct checkpoint_request *request,
	struct task *t, struct buf *ret, struct fail *f)
{
	struct tree_target target auto_target = {0};
	struct pack_result packed auto_call(pack_result_clear) = {0};
	struct pack_config config = {
		.task = t,
		.ids_base = env->ids_base,
		.ids_len = env->ids_len,
		.exclude = &request->exclude,
		.max_files = CHECKPOINT_FILES_MAX,
		.max_content = UINT64_MAX,
		.measure_excluded = true,
	};
	uint64_t size = 0;
	int r = tree_target_find(t, env->tree_fd, request->path, false, &target, f);

	if (r < 0)
		return r;
	config.dir_fd = tree_target_fd(&target);
	r = measure(&config, &packed, &size, f);
	return r < 0 ? r : answer(env, &target, &packed, size, ret);
}
