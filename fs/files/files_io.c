// What is done with an open file of files/.
#include "fs/files/files_impl.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/uio.h>
#include <unistd.h>

/* Copied by one request; the caller asks again for the rest. */
#define COPY_MAX (16u << 20)

static const struct node_handle *handle_of(const struct fuse_file_info *fi)
{
	return (const struct node_handle *)(uintptr_t)fi->fh;
}

static int fd_of(const struct fuse_file_info *fi)
{
	return handle_of(fi)->fd;
}

static ssize_t read_fully(int fd, char *to, size_t size, off_t off)
{
	size_t done = 0;

	while (done < size) {
		ssize_t n = pread(fd, to + done, size - done, off + (off_t)done);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return done ? (ssize_t)done : -errno;
		if (n == 0)
			break;
		done += (size_t)n;
	}
	return (ssize_t)done;
}

void files_read(struct files *files, fuse_req_t req, fuse_ino_t ino, size_t size, off_t off,
	struct fuse_file_info *fi)
{
	char *to = files_buffer(size);
	ssize_t n = to ? read_fully(fd_of(fi), to, size, off) : -ENOMEM;

	(void)files;
	(void)ino;
	if (n < 0)
		files_reply(req, (int)n);
	else
		fuse_reply_buf(req, to, (size_t)n);
}

static ssize_t write_fully(int fd, const char *from, size_t size, off_t off, bool append)
{
	size_t done = 0;

	while (done < size) {
		struct iovec iov = {(char *)from + done, size - done};
		ssize_t n = pwritev2(fd, &iov, 1, off + (off_t)done, append ? RWF_APPEND : 0);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return done ? (ssize_t)done : n < 0 ? -errno : -EIO;
		done += (size_t)n;
	}
	return (ssize_t)done;
}

/* Data that lies in a pipe is brought into memory. */
static ssize_t write_from(int fd, struct fuse_bufvec *in, off_t off, bool append)
{
	size_t size = fuse_buf_size(in);
	struct fuse_bufvec memory = FUSE_BUFVEC_INIT(size);
	ssize_t n;

	if (in->count == 1 && !in->idx && !(in->buf[0].flags & FUSE_BUF_IS_FD))
		return write_fully(fd, (char *)in->buf[0].mem + in->off, size, off, append);
	memory.buf[0].mem = files_buffer(size);
	if (!memory.buf[0].mem)
		return -ENOMEM;
	n = fuse_buf_copy(&memory, in, 0);
	return n < 0 ? n : write_fully(fd, memory.buf[0].mem, (size_t)n, off, append);
}

/* Where the end is only the file below knows: a command in the sandbox may have appended, too. What
 * a mapping wrote goes where it was, also through a file that was opened to append. */
void files_write_buf(struct files *files, fuse_req_t req, fuse_ino_t ino, struct fuse_bufvec *in,
	off_t off, struct fuse_file_info *fi)
{
	bool append = (fi->flags & O_APPEND) && !fi->writepage;
	ssize_t n = atomic_load(&files->full) ? -ENOSPC : write_from(fd_of(fi), in, off, append);

	if (!fi->writepage)
		files_drop_set_ids(fd_of(fi), fuse_req_ctx(req));
	/* What others read while it was written. Where an append went is not known. */
	if (n > 0 && handle_of(fi)->direct && node_table_has_cached(files->nodes, handle_of(fi)))
		files_cache_forget_range(files, ino, append ? 0 : off, append ? 0 : n);
	if (n < 0)
		files_reply(req, (int)n);
	else
		fuse_reply_write(req, (size_t)n);
}

void files_fsync(struct files *files, fuse_req_t req, fuse_ino_t ino, int datasync,
	struct fuse_file_info *fi)
{
	int r = datasync ? fdatasync(fd_of(fi)) : fsync(fd_of(fi));

	(void)files;
	(void)ino;
	files_reply(req, r < 0 ? -errno : 0);
}

void files_fallocate(struct files *files, fuse_req_t req, fuse_ino_t ino, int mode, off_t offset,
	off_t length, struct fuse_file_info *fi)
{
	int r;

	(void)ino;
	if (atomic_load(&files->full) && !(mode & FALLOC_FL_PUNCH_HOLE)) {
		files_reply(req, -ENOSPC);
		return;
	}
	do {
		r = fallocate(fd_of(fi), mode, offset, length) < 0 ? -errno : 0;
	} while (r == -EINTR);
	files_reply(req, r);
}

void files_copy_file_range(struct files *files, fuse_req_t req, fuse_ino_t ino_in, off_t off_in,
	struct fuse_file_info *fi_in, fuse_ino_t ino_out, off_t off_out,
	struct fuse_file_info *fi_out, size_t len, int flags)
{
	ssize_t n;

	(void)ino_in;
	(void)ino_out;
	if (atomic_load(&files->full)) {
		files_reply(req, -ENOSPC);
		return;
	}
	do {
		n = copy_file_range(fd_of(fi_in), &off_in, fd_of(fi_out), &off_out,
			len < COPY_MAX ? len : COPY_MAX, (unsigned)flags);
	} while (n < 0 && errno == EINTR);
	if (n < 0)
		files_reply(req, -errno);
	else
		fuse_reply_write(req, (size_t)n);
}

void files_lseek(struct files *files, fuse_req_t req, fuse_ino_t ino, off_t off, int whence,
	struct fuse_file_info *fi)
{
	off_t found = lseek(fd_of(fi), off, whence);

	(void)files;
	(void)ino;
	if (found < 0)
		files_reply(req, -errno);
	else
		fuse_reply_lseek(req, found);
}
