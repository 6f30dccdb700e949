// libfuse, and what differs between its versions: passthrough came with 3.17, as did that the kernel is
// told of parallel operations in a directory, and that set-id bits are taken away here.
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

static inline void libfuse_set_backing(struct fuse_file_info *fi, int id)
{
	fi->backing_id = id;
}

#else

#define LIBFUSE_HAS_PASSTHROUGH false
#define LIBFUSE_CAP_KILLPRIV 0
#define LIBFUSE_CAP_PASSTHROUGH 0

static inline void libfuse_set_backing(struct fuse_file_info *fi, int id)
{
	(void)fi;
	(void)id;
}

#endif

/* To be called last by the init operation. */
void libfuse_on_init(struct fuse_conn_info *conn);
/* To be called once it is mounted, before the first request. Returns 0 or -errno. */
int libfuse_mounted(struct fuse_session *session);
