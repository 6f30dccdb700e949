// Finding the directory that a request names in the sandbox's tree, without trusting the tree.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/buf.h"
#include "common/fail.h"
#include "runner/checkpoint/task.h"

struct tree_level;

struct tree_target {
	int tree_fd; /* borrowed */
	uint64_t mount_id; /* of the tree's root */
	struct tree_level *levels; /* owned; the root first, the directory itself last */
	size_t len;
};

/* Finds path, absolute, from tree_fd. Refused as TASK_INVALID_ARGUMENT: the root, a reserved name,
 * a place on another mount (/usr, /opt), a link that leads out of the directory in which it lies.
 * may_miss: directories that do not exist are no error. To be given to tree_target_clear(). */
int tree_target_find(struct task *t, int tree_fd, const char *path, bool may_miss,
	struct tree_target *ret, struct fail *f);
void tree_target_clear(struct tree_target *target);

/* The directory itself, O_PATH; -1: it does not exist. Borrowed. */
int tree_target_fd(const struct tree_target *target);

/* The directory that holds it (-1: does not exist), and its name there. Borrowed. */
int tree_target_parent_fd(const struct tree_target *target);
const char *tree_target_name(const struct tree_target *target);

/* Makes the directories above it that are missing. */
int tree_target_make_parents(struct task *t, struct tree_target *target, struct fail *f);

/* Its path inside, absolute. */
void tree_target_path(const struct tree_target *target, struct buf *ret);

#define auto_target __attribute__((cleanup(tree_target_clear)))
