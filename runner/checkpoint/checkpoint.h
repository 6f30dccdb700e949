// Persist, restore and plan: what they are asked, where they work, and what they give. Each runs in
// a thread of its own and blocks as long as it takes.
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "common/buf.h"
#include "common/fail.h"
#include "runner/checkpoint/checkpoint_request.h"
#include "runner/checkpoint/task.h"

#define CHECKPOINT_FILES_MAX 2000000 /* in one archive */

struct sandbox;

struct checkpoint_env {
	const struct sandbox *sandbox; /* borrowed; NULL: files belong to who runs this */
	int tree_fd; /* borrowed; O_PATH of the sandbox's tree */
	uid_t ids_base; /* id n inside is ids_base + n here */
	uint32_t ids_len;
	const char *store_path; /* borrowed, both */
	const char *project;
	uint64_t max_bytes; /* of an archive */
	uint64_t keep; /* checkpoints a project */
};

/* Content that one archive may hold: what can be persisted can be restored, and an archive of a few
 * kilobytes cannot fill a disk. */
uint64_t checkpoint_max_content(uint64_t max_bytes);

/* Each carries a request out and gives its answer as JSON text, one line, also when it fails. 0 or
 * -errno with words; t->code says as which of the codes. */
int checkpoint_persist(const struct checkpoint_env *env, const struct checkpoint_request *request,
	struct task *t, struct buf *ret, struct fail *f);
int checkpoint_restore(const struct checkpoint_env *env, const struct checkpoint_request *request,
	struct task *t, struct buf *ret, struct fail *f);
int checkpoint_plan(const struct checkpoint_env *env, const struct checkpoint_request *request,
	struct task *t, struct buf *ret, struct fail *f);

/* Carries out whichever was asked, and turns an error without a code into SANDBOX_FAILED_OPERATION
 * and EIO. The answer is never empty. */
int checkpoint_run(const struct checkpoint_env *env, const struct checkpoint_request *request,
	struct task *t, struct buf *ret, struct fail *f);

/* Whether the libraries that are needed are installed: 0, or -errno with words. */
int checkpoint_check(struct fail *f);

/* {"error":{"code","message"}} */
int checkpoint_error(enum task_code code, const struct fail *f, struct buf *ret);

/* Removes what a restore left in the tree when the daemon died. */
int checkpoint_restore_clean(int tree_fd);
