// What a symbolic link of the sandbox reads as through files/: a target that cannot lead out.
#pragma once

#include <sys/types.h>

#include "common/buf.h"

/* The kernel follows the answer by itself, from the link's directory, so that it may begin with at
 * most depth times "..", and have none later: behind a name, which may be a link, ".." would leave
 * from wherever that leads. Absolute targets become relative; ".." stops at the root; the part up
 * to the last ".." is followed here, inside the tree. What is safe stays as it is, byte for byte.
 *
 * target is the link's text, NUL-terminated; dir_fd the link's directory and depth how many
 * directories it lies below the tree's root. The answer is added to ret. -ELOOP: more than 40 links
 * on the way. -ENAMETOOLONG: over what a link can hold. -ENOMEM, -EMFILE. */
int link_target_answer(
	int tree_fd, int dir_fd, unsigned depth, const char *target, struct buf *ret);
