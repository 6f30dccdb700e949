// One thing in an archive: a directory, file or link with all that comes back with it.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct archive_xattr {
	const char *name;
	const void *data;
	size_t len;
};

/* A part of a sparse file that holds data. */
struct archive_range {
	uint64_t off, len;
};

/* All pointers are borrowed, by the archive for the call or from it until the next item. */
struct archive_item {
	const char *path; /* relative, of any bytes; "." for the directory itself */
	mode_t mode; /* with the type: directory, regular file or symbolic link */
	int64_t uid, gid; /* as inside the sandbox */
	int64_t mtime_sec;
	uint32_t mtime_nsec;
	uint64_t size; /* of a regular file that is no hard link */
	const char *target; /* of a symbolic link */
	const char *hardlink; /* path of an earlier item that this is another name of; or NULL */
	const struct archive_xattr *xattrs;
	size_t xattrs_len;
	const struct archive_range *ranges; /* when sparse */
	size_t ranges_len;
	bool sparse;
};

/* Which extended attributes are kept: those that users set. The others would mean something to the
 * host, to an overlay (planted, they name other directories) or to its access control. */
bool archive_item_keeps_xattr(const char *name);
