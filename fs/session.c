// The FUSE session: the mount, and requests from the kernel as the loop gets them.
#include "fs/session.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>

#include "common/scope.h"
#include "common/unsafe.h"
#include "fs/agent.h"
#include "fs/files/files.h"
#include "fs/files/files_cache.h"
#include "fs/mount.h"
#include "fs/parked.h"
#include "fs/session_ops.h"

#define NO_MEMORY_USEC 1000 /* before a request that there is no memory for is tried again */
#define REQUESTS_IN_A_ROW 32 /* before other events get their turn */

struct source {
	struct loop_source loop;
	struct mount *m;
	void (*act)(struct mount *m); /* of those that tell nothing of the sandbox */
};

static struct source source;

static bool buffer_key_made;
static pthread_key_t buffer_key; /* each thread's struct fuse_buf, which libfuse fills */

static void free_buffer(void *arg)
{
	struct fuse_buf *buffer = arg;

	free(buffer->mem);
	free(buffer);
}

static struct fuse_buf *thread_buffer(void)
{
	struct fuse_buf *buffer = pthread_getspecific(buffer_key);

	if (buffer)
		return buffer;
	buffer = calloc(1, sizeof(*buffer));
	if (buffer && pthread_setspecific(buffer_key, buffer) == 0)
		return buffer;
	free(buffer);
	return NULL;
}

static void on_requests(struct loop_source *loop_source, uint32_t events)
{
	struct mount *m = container_of(loop_source, struct source, loop)->m;
	struct fuse_buf *buffer = thread_buffer();

	(void)events;
	m->own_events++;
	for (int handled = 0; handled < REQUESTS_IN_A_ROW;) {
		int n = buffer ? fuse_session_receive_buf(m->session, buffer) : -ENOMEM;

		if (n == -EINTR || (n == -EAGAIN && handled && spin_pause(&m->spin)))
			continue;
		if (n == -EAGAIN)
			return;
		if (n == -ENOMEM) {
			usleep(NO_MEMORY_USEC);
			return;
		}
		handled++;
		spin_found(&m->spin);
		if (n <= 0) {
			loop_unwatch(m->loop, loop_source);
			loop_stop(m->loop);
			return;
		}
		idle_poll_request(&m->idle_poll);
		fuse_session_process_buf(m->session, buffer);
		if (!loop_leads())
			return;
		parked_tell_interrupted(m);
	}
}

static int add_args(struct mount *m, struct fuse_args *args)
{
	struct buf options auto_buf = {0};

	buf_add_str(&options, unsafe_is("nosuid") ? "subtype=sandpit,suid,dev,fsname="
						  : "subtype=sandpit,nosuid,nodev,fsname=");
	for (const char *c = m->name; *c; c++) {
		if (*c == ',' || *c == '\\')
			buf_add_char(&options, '\\');
		buf_add_char(&options, *c);
	}
	if (m->config->allow_other && unsafe_is("permissions"))
		buf_add_str(&options, ",allow_other");
	else if (m->config->allow_other)
		buf_add_str(&options, ",allow_other,default_permissions");
	if (options.error)
		return options.error;
	if (fuse_opt_add_arg(args, "sandpit") < 0 || fuse_opt_add_arg(args, "-o") < 0 ||
		fuse_opt_add_arg(args, buf_text(&options)) < 0)
		return -ENOMEM;
	return 0;
}

int session_mount(struct mount *m, struct fail *f)
{
	struct fuse_args args auto_call(fuse_opt_free_args) = FUSE_ARGS_INIT(0, NULL);
	int r = add_args(m, &args);

	if (r < 0)
		return r;
	m->session = fuse_session_new(&args, &session_ops, sizeof(session_ops), m);
	if (!m->session)
		return fail_set(f, -EINVAL, "libfuse refuses the mount's options");
	if (fuse_session_mount(m->session, m->mount_point) != 0) {
		fuse_session_destroy(m->session);
		m->session = NULL;
		return fail_set(f, -EIO, "cannot mount at %s: %s", m->mount_point,
			access("/dev/fuse", R_OK | W_OK) < 0
				? "/dev/fuse cannot be opened (is the fuse module loaded, and its "
				  "mode 0666?)"
				: "see the line above");
	}
	idle_poll_init(&m->idle_poll, m->config->idle_poll);
	r = libfuse_mounted(m->session);
	return r < 0 ? fail_errno(f, r, "taking over what libfuse tells the kernel") : 0;
}

static void on_quiet(void *arg, bool quiet)
{
	files_cache_set_quiet(((struct mount *)arg)->files, quiet);
}

/* What the sandbox changes in files/ behind the kernel's back. */
static void drain_changes(struct mount *m)
{
	files_watch_drain(m->files);
}

static void retry_missed(struct mount *m)
{
	files_missed_retry(m->files);
}

static void look_for_idleness(struct mount *m)
{
	idle_poll_look(&m->idle_poll);
}

static struct source own[] = {
	{.act = drain_changes}, {.act = retry_missed}, {.act = look_for_idleness}};

static void on_own(struct loop_source *loop_source, uint32_t events)
{
	struct source *from = container_of(loop_source, struct source, loop);

	(void)events;
	from->m->own_events++;
	from->act(from->m);
}

static int watch_own(struct mount *m)
{
	const int fds[ARRAY_LEN(own)] = {
		files_watch_fd(m->files), files_missed_fd(m->files), idle_poll_fd(&m->idle_poll)};
	int r = 0;

	for (size_t i = 0; r == 0 && i < ARRAY_LEN(own); i++) {
		own[i].loop = (struct loop_source){.fd = fds[i], .ready = on_own};
		own[i].m = m;
		if (fds[i] >= 0)
			r = loop_watch(m->loop, &own[i].loop, EPOLLIN);
	}
	return r;
}

/* The kernel's first request; if that is answered with an error, the mount serves nothing. */
static int greet(struct mount *m)
{
	struct fuse_buf *buffer = thread_buffer();
	int n;

	do
		n = buffer ? fuse_session_receive_buf(m->session, buffer) : -ENOMEM;
	while (n == -EINTR);
	if (n <= 0)
		return n < 0 ? n : -ENODEV;
	fuse_session_process_buf(m->session, buffer);
	return m->greeted ? 0 : -ENOMEM;
}

int session_watch(struct mount *m, struct fail *f)
{
	int fd = fuse_session_fd(m->session);
	int r = -pthread_key_create(&buffer_key, free_buffer);

	source = (struct source){.loop = {.fd = fd, .ready = on_requests}, .m = m};
	buffer_key_made = r == 0;
	if (r == 0)
		r = greet(m);
	if (r == 0)
		r = fcntl(fd, F_SETFL, O_NONBLOCK) < 0 ? -errno : 0;
	if (r == 0)
		r = loop_watch(m->loop, &source.loop, EPOLLIN);
	if (r == 0) {
		files_cache_start(m->files, m->session);
		sandbox_watch_quiet(m->sandbox, on_quiet, m);
		r = watch_own(m);
	}
	return r < 0 ? fail_errno(f, r, "answering the FUSE device") : 0;
}

void session_close(struct mount *m)
{
	struct fuse_buf *buffer = buffer_key_made ? pthread_getspecific(buffer_key) : NULL;

	if (!m->session)
		return;
	/* libfuse unmounts what this process may unmount. */
	if (agent_is_apart(m->agent))
		agent_unmount(m->agent);
	fuse_session_unmount(m->session);
	fuse_session_destroy(m->session);
	m->session = NULL;
	idle_poll_close(&m->idle_poll);
	if (!buffer)
		return;
	free_buffer(buffer);
	pthread_setspecific(buffer_key, NULL);
}
