// What this machine can do for sandpit: single checks, each with a word of advice.
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "common/buf.h"
#include "common/fail.h"

enum check_result {
	CHECK_OK,
	CHECK_MISSING,
	CHECK_UNUSED, /* has no meaning for this user */
	CHECK_WRONG, /* is there, but no mount would take it */
};

/* Each adds to `why` what was found, or what is missing and the package or setting that helps, in
 * one line. They may fork, mount in a namespace of their own, and start programs; they leave
 * nothing behind. */
typedef enum check_result check_function(struct buf *why);

check_function check_limits, check_fuse, check_fusermount, check_user_namespaces, check_uid_ranges;
check_function check_mounting, check_proc, check_state, check_overlay, check_idmap, check_cgroups,
	check_seccomp;
check_function check_passthrough, check_network, check_python, check_node, check_r, check_bash,
	check_browser, check_checkpoints;

/* Whether users may let others in, as who mounts with allow_other does: 0 or -EPERM with words. */
int check_allow_other(struct fail *f);

/* Runs work(why) in a child process, so that it may enter namespaces; work returns 0 or a negative
 * errno. */
int check_in_child(int (*work)(void));

/* Makes the calling process root of a user and a mount namespace of its own, who may mount. 0 or
 * -errno. */
int check_enter_user_namespace(void);

/* Whether the kernel offers to serve files of a mount by itself; for root. 0, -EOPNOTSUPP: it does not,
 * or another -errno. */
int check_kernel_passthrough(void);

/* Where the state and the checkpoints of the mount that is meant will be; borrowed. Else they are
 * taken to be where they are by default. With rootfs= all of the tree is a layer, which must be written. */
void check_set_places(const char *state_path, const char *store_path, bool has_rootfs);

/* Whether a program is where a sandbox sees it. */
bool check_has_program(const char *name);

/* Runs a program and keeps the first line of what it prints; 0, or -errno. */
int check_ask_program(const char *const argv[], char *line, size_t size);
