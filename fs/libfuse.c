#include "fs/libfuse.h"

#include <errno.h>

#if FUSE_VERSION < FUSE_MAKE_VERSION(3, 17)

#include <linux/fuse.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

/* The first is one that the library takes and does not pass on (libfuse's pull request 861), the other
 * one that it does not know. Without them the kernel looks up one name of a directory at a time, and
 * asks for an attribute before each write. */
#define FLAGS_MORE (FUSE_PARALLEL_DIROPS | FUSE_HANDLE_KILLPRIV_V2)

static atomic_bool answers_init;

void libfuse_on_init(struct fuse_conn_info *conn)
{
	(void)conn;
	atomic_store(&answers_init, true);
}

static ssize_t write_answer(int fd, struct iovec *iov, int count, void *userdata)
{
	struct fuse_init_out out;

	(void)userdata;
	if (atomic_load(&answers_init) && atomic_exchange(&answers_init, false) && count == 2 &&
		iov[1].iov_len == sizeof(out)) {
		memcpy(&out, iov[1].iov_base, sizeof(out));
		out.flags |= FLAGS_MORE;
		iov[1].iov_base = &out;
	}
	return writev(fd, iov, count);
}

static ssize_t read_request(int fd, void *buf, size_t size, void *userdata)
{
	(void)userdata;
	return read(fd, buf, size);
}

int libfuse_mounted(struct fuse_session *session)
{
	static const struct fuse_custom_io io = {.writev = write_answer, .read = read_request};

	return fuse_session_custom_io(session, &io, fuse_session_fd(session));
}

#else

/* Files below may lie on an overlay, as those of /usr do. */
void libfuse_on_init(struct fuse_conn_info *conn)
{
	conn->max_backing_stack_depth = FUSE_BACKING_STACKED_OVER;
}

int libfuse_mounted(struct fuse_session *session)
{
	(void)session;
	return 0;
}

#endif
