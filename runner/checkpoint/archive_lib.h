// libarchive, loaded at first use. This, archive_out.c and archive_in.c are its only home.
#pragma once

#include <archive.h>
#include <archive_entry.h>

#include "common/fail.h"

#define ARCHIVE_CALLS(X)                                                                           \
	X(archive_error_string)                                                                    \
	X(archive_write_new)                                                                       \
	X(archive_write_set_format_pax)                                                            \
	X(archive_write_add_filter_zstd)                                                           \
	X(archive_write_set_options)                                                               \
	X(archive_write_set_bytes_per_block)                                                       \
	X(archive_write_set_bytes_in_last_block)                                                   \
	X(archive_write_open2)                                                                     \
	X(archive_write_header)                                                                    \
	X(archive_write_data)                                                                      \
	X(archive_write_finish_entry)                                                              \
	X(archive_write_fail)                                                                      \
	X(archive_write_close)                                                                     \
	X(archive_write_free)                                                                      \
	X(archive_read_new)                                                                        \
	X(archive_read_support_format_tar)                                                         \
	X(archive_read_support_filter_zstd)                                                        \
	X(archive_read_open)                                                                       \
	X(archive_read_next_header)                                                                \
	X(archive_read_data_block)                                                                 \
	X(archive_read_free)                                                                       \
	X(archive_entry_new)                                                                       \
	X(archive_entry_clear)                                                                     \
	X(archive_entry_free)                                                                      \
	X(archive_entry_copy_pathname)                                                             \
	X(archive_entry_copy_symlink)                                                              \
	X(archive_entry_copy_hardlink)                                                             \
	X(archive_entry_set_mode)                                                                  \
	X(archive_entry_set_size)                                                                  \
	X(archive_entry_set_uid)                                                                   \
	X(archive_entry_set_gid)                                                                   \
	X(archive_entry_set_mtime)                                                                 \
	X(archive_entry_sparse_add_entry)                                                          \
	X(archive_entry_xattr_add_entry)                                                           \
	X(archive_entry_pathname)                                                                  \
	X(archive_entry_symlink)                                                                   \
	X(archive_entry_hardlink)                                                                  \
	X(archive_entry_filetype)                                                                  \
	X(archive_entry_mode)                                                                      \
	X(archive_entry_size)                                                                      \
	X(archive_entry_uid)                                                                       \
	X(archive_entry_gid)                                                                       \
	X(archive_entry_mtime)                                                                     \
	X(archive_entry_mtime_nsec)                                                                \
	X(archive_entry_sparse_count)                                                              \
	X(archive_entry_xattr_reset)                                                               \
	X(archive_entry_xattr_next)

struct archive_lib {
#define ARCHIVE_MEMBER(name) __typeof__(name) *name;
	ARCHIVE_CALLS(ARCHIVE_MEMBER)
#undef ARCHIVE_MEMBER
};

/* Loads it. *ret is there for the rest of the process. -ELIBACC with words. */
int archive_lib_get(const struct archive_lib **ret, struct fail *f);
