// Which ids of the host stand behind the ids inside the sandbox's user namespace.
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "common/fail.h"

#define IDMAP_LEN 65536

struct idmap {
	bool root; /* the daemon is root: inside n is uid_base + n outside */
	bool single; /* only inside 0 is mapped, to the user */
	uid_t uid; /* the user */
	gid_t gid;
	uid_t uid_base; /* root: of inside 0; a user with a range: of inside 1 */
	gid_t gid_base;
	uint32_t len; /* IDMAP_LEN or 1 */
};

/* Chooses for the calling user: root gets its range in /etc/subuid and /etc/subgid, else 100000; a
 * user gets its ranges there if newuidmap and newgidmap are installed, else the single id. */
void idmap_choose(struct idmap *ret);

/* The user's single id only: what works without any help. */
void idmap_choose_single(struct idmap *ret);

/* Writes the maps of pid's new user namespace, in which the sandbox's own is made: with all ids of
 * that, root's also as they are outside, with root itself. See user_namespaces(7), newuidmap(1). Called
 * by the daemon while it has one thread. 0 or -errno with words. */
int idmap_write(const struct idmap *map, pid_t pid, struct fail *f);

/* Writes the maps of the sandbox's own, which is pid's, from the namespace around it. */
int idmap_write_inside(const struct idmap *map, pid_t pid, struct fail *f);

/* Looks for the first range of len ids or more of a user in the text of subuid(5). */
bool idmap_find_range(const char *text, const char *name, uid_t uid, uint32_t len, uint32_t *ret);
