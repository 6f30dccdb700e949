// Which sandboxes of this user are mounted: one file a mount, locked by its daemon while it lives.
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "common/fail.h"

struct registry_entry {
	char *name; /* all owned */
	char *mount_point;
	char *state_path;
	uint64_t since_usec; /* wall clock */
	pid_t pid; /* of the living daemon, as the kernel tells it; 0: dead */
};

void registry_entry_clear(struct registry_entry *entry);

/* The calling process' own entry. */
struct registry_claim {
	int fd; /* owned; holds the lock while it is open */
	char *path; /* owned */
};

/* Enters the calling process as the daemon of a mount; open the entry nowhere else in this process.
 * -EBUSY with words: another daemon is at this mount point. */
int registry_add(const struct registry_entry *entry, struct registry_claim *ret, struct fail *f);

/* Takes the entry away, by the process that entered it; it may have entered a user namespace
 * since. */
void registry_remove(struct registry_claim *claim);

/* Takes the entry of a dead daemon away. */
void registry_prune(const char *mount_point);

/* A number for a path, always the same. */
uint64_t registry_hash(const char *path);

/* The entry of a mount point, to registry_entry_clear(); -ENOENT. */
int registry_find(const char *mount_point, struct registry_entry *ret);

/* A pidfd of the living daemon at a mount point: surely that process, never one that got its
 * number later. -ESRCH: none lives. */
int registry_pidfd(const char *mount_point);
/* The same of the entry at a path that somebody else told, which must be the caller's own file. */
int registry_pidfd_at(const char *entry, const char *mount_point);

/* All entries, dead ones too; *ret is an array of *ret_len, to registry_free(). */
int registry_list(struct registry_entry **ret, size_t *ret_len);
void registry_free(struct registry_entry *entries, size_t len);

#define auto_registry_entry __attribute__((cleanup(registry_entry_clear)))
