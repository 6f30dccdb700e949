// libfuse, and what differs between its versions: passthrough and the handling of set-id bits came
// with 3.17.
#pragma once

#define FUSE_USE_VERSION 314
#include <fuse_lowlevel.h>

#include <stdbool.h>

static inline const char *libfuse_version(void)
{
	return fuse_pkgversion();
}

#if FUSE_VERSION >= FUSE_MAKE_VERSION(3, 17)

#define LIBFUSE_HAS_PASSTHROUGH true
#define LIBFUSE_CAP_KILLPRIV FUSE_CAP_HANDLE_KILLPRIV_V2
#define LIBFUSE_CAP_PASSTHROUGH FUSE_CAP_PASSTHROUGH

/* Files below may lie on an overlay, as those of /usr do. */
static inline void libfuse_stack_over(struct fuse_conn_info *conn)
{
	conn->max_backing_stack_depth = FUSE_BACKING_STACKED_OVER;
}

static inline void libfuse_set_backing(struct fuse_file_info *fi, int id)
{
	fi->backing_id = id;
}

#else

#define LIBFUSE_HAS_PASSTHROUGH false
#define LIBFUSE_CAP_KILLPRIV 0
#define LIBFUSE_CAP_PASSTHROUGH 0

static inline void libfuse_stack_over(struct fuse_conn_info *conn)
{
	(void)conn;
}

static inline void libfuse_set_backing(struct fuse_file_info *fi, int id)
{
	(void)fi;
	(void)id;
}

#endif
