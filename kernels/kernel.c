// One kernel process in the sandbox: start, frames, output, interrupt, death.
#include "kernels/kernel.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/scope.h"
#include "common/signal_name.h"

#define SPAWN_BIT 0x80000000U /* tells kernels' spawn ids from runs' numbers */
#define START_LIMIT_USEC (60 * USEC_PER_SEC)
#define READ_SIZE (64 * 1024)
#define CLOSED_GRACE_USEC (3 * USEC_PER_SEC)
#define BUFFER_KEPT (1024 * 1024) /* a larger one is freed when it is empty */
#define UNREAD_MAX (8 * 1024 * 1024) /* of answers that the driver does not take */

void kernel_host_init(struct kernel_host *host, struct loop *loop, struct sandbox *sandbox,
	struct runs *runs, int null_fd)
{
	*host = (struct kernel_host){
		.loop = loop, .sandbox = sandbox, .runs = runs, .null_fd = null_fd, .next_id = 1};
	list_init(&host->all);
}

static void close_all(struct kernel *kernel)
{
	if (kernel->source.fd >= 0) {
		loop_unwatch(kernel->host->loop, &kernel->source);
		close_fd(&kernel->source.fd);
	}
	output_pipe_close(&kernel->pipes[RUN_STDOUT].pipe);
	output_pipe_close(&kernel->pipes[RUN_STDERR].pipe);
	loop_timer_cancel(kernel->host->loop, &kernel->start_limit);
	buf_clear(&kernel->in);
	buf_clear(&kernel->out);
}

static void free_kernel(struct kernel *kernel)
{
	close_all(kernel);
	list_remove(&kernel->link);
	free(kernel);
}

void kernel_host_clear(struct kernel_host *host)
{
	while (!list_empty(&host->all))
		free_kernel(list_entry(host->all.next, struct kernel, link));
}

/* Output */

static void take(struct output_pipe *pipe, const void *data, size_t len)
{
	struct kernel_pipe *own = container_of(pipe, struct kernel_pipe, pipe);

	if (own->kernel->ops)
		own->kernel->ops->output(own->kernel, (int)(own - own->kernel->pipes), data, len);
}

static bool full(struct output_pipe *pipe)
{
	struct kernel_pipe *own = container_of(pipe, struct kernel_pipe, pipe);

	return !own->kernel->ops ||
	       own->kernel->ops->output_full(own->kernel, (int)(own - own->kernel->pipes));
}

static void dropped(struct output_pipe *pipe, uint64_t len)
{
	struct kernel_pipe *own = container_of(pipe, struct kernel_pipe, pipe);

	if (own->kernel->ops)
		own->kernel->ops->output_dropped(own->kernel, (int)(own - own->kernel->pipes), len);
}

static void drained(struct output_pipe *pipe)
{
	struct kernel *kernel = container_of(pipe, struct kernel_pipe, pipe)->kernel;

	if (kernel->ops)
		kernel->ops->output_drained(kernel);
}

static const struct output_pipe_ops pipe_ops = {
	.take = take, .full = full, .dropped = dropped, .drained = drained};

/* Frames */

static void wait_for(struct kernel *kernel, uint32_t events)
{
	loop_rewatch(kernel->host->loop, &kernel->source, events);
}

static int push(struct kernel *kernel)
{
	while (kernel->out_at < kernel->out.len) {
		ssize_t n = send(kernel->source.fd, kernel->out.data + kernel->out_at,
			kernel->out.len - kernel->out_at, MSG_NOSIGNAL | MSG_DONTWAIT);

		if (n < 0 && errno == EAGAIN) {
			wait_for(kernel, EPOLLIN | EPOLLOUT);
			return 0;
		}
		if (n < 0)
			return -errno;
		kernel->out_at += (size_t)n;
	}
	kernel->out_at = 0;
	if (kernel->out.size > BUFFER_KEPT)
		buf_clear(&kernel->out);
	buf_reset(&kernel->out);
	return 0;
}

int kernel_send(struct kernel *kernel, const struct buf *frame)
{
	bool waiting = kernel->out_at < kernel->out.len;
	int r = frame->error;

	if (kernel->source.fd < 0)
		return -EPIPE;
	if (r == 0)
		r = buf_add(&kernel->out, frame->data, frame->len);
	return r == 0 && !waiting ? push(kernel) : r;
}

static void answer_sync(struct kernel *kernel, uint32_t execution)
{
	struct buf frame auto_buf = {0};

	if (kernel->out.len - kernel->out_at > UNREAD_MAX) {
		kernel_kill(kernel, "it does not read its frames");
		return;
	}
	kernel_wire_end(&frame, kernel_wire_begin(&frame, KERNEL_SYNCED, execution));
	kernel_send(kernel, &frame);
}

static void handle(struct kernel *kernel, const struct kernel_frame *frame)
{
	if (frame->type == KERNEL_SYNC) {
		answer_sync(kernel, frame->execution);
	} else if (frame->type == KERNEL_ERROR && kernel->state == KERNEL_STARTING) {
		struct kernel_field value = {.value = ""};

		kernel_wire_find(frame, "value", &value);
		snprintf(kernel->said, sizeof(kernel->said), "%.*s",
			(int)(value.len < 199 ? value.len : 199), (const char *)value.value);
	} else if (frame->type != KERNEL_READY) {
		if (kernel->ops && kernel->state == KERNEL_IS_READY)
			kernel->ops->frame(kernel, frame);
	} else if (kernel->state == KERNEL_STARTING) {
		kernel->state = KERNEL_IS_READY;
		loop_timer_cancel(kernel->host->loop, &kernel->start_limit);
		if (kernel->ops)
			kernel->ops->ready(kernel);
	} else if (kernel->ops && kernel->ops->prepared) {
		kernel->ops->prepared(kernel);
	}
}

/* The text that came before a frame is in the pipes by the time the frame is here. */
static void handle_all(struct kernel *kernel)
{
	struct kernel_frame frame;
	size_t at = 0;
	ssize_t n = 0;

	while (kernel->source.fd >= 0 && kernel->ops &&
		(n = kernel_wire_frame(kernel->in.data + at, kernel->in.len - at, &frame)) > 0) {
		at += (size_t)n;
		output_pipe_drain(&kernel->pipes[RUN_STDOUT].pipe);
		output_pipe_drain(&kernel->pipes[RUN_STDERR].pipe);
		handle(kernel, &frame);
	}
	if (n < 0)
		kernel_kill(kernel, "it wrote something that is not a frame on descriptor 3");
	if (at && kernel->in.data) {
		kernel->in.len -= at;
		memmove(kernel->in.data, kernel->in.data + at, kernel->in.len + 1);
	}
	if (kernel->in.len == 0 && kernel->in.size > BUFFER_KEPT)
		buf_clear(&kernel->in);
}

/* A process that ends closes its socket a moment before its end is told. */
static void on_closed(struct loop_timer *timer)
{
	kernel_kill(container_of(timer, struct kernel, start_limit), "it closed descriptor 3");
}

/* Whether there may be more to read now. */
static bool read_frames(struct kernel *kernel)
{
	ssize_t n;

	if (buf_reserve(&kernel->in, READ_SIZE) < 0) {
		kernel_kill(kernel, "there was no memory for its frames");
		return false;
	}
	n = recv(kernel->source.fd, kernel->in.data + kernel->in.len, READ_SIZE, MSG_DONTWAIT);
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return false;
	if (n <= 0) {
		loop_unwatch(kernel->host->loop, &kernel->source);
		close_fd(&kernel->source.fd);
		kernel->start_limit.fire = on_closed;
		loop_timer_set(kernel->host->loop, &kernel->start_limit,
			clock_monotonic_usec() + CLOSED_GRACE_USEC);
		return false;
	}
	kernel->in.len += (size_t)n;
	kernel->in.data[kernel->in.len] = '\0';
	handle_all(kernel);
	return kernel->source.fd >= 0;
}

static void on_socket(struct loop_source *source, uint32_t events)
{
	struct kernel *kernel = container_of(source, struct kernel, source);

	if (events & EPOLLOUT) {
		wait_for(kernel, EPOLLIN);
		if (push(kernel) < 0)
			kernel_kill(kernel, "it cannot be written to");
	}
	if (kernel->source.fd >= 0 && events & (EPOLLIN | EPOLLHUP | EPOLLERR))
		read_frames(kernel);
}

/* Death */

static void describe(struct kernel *kernel, int wait_status, struct kernel_death *ret)
{
	struct sandbox_usage usage = {0};
	int sig = WIFSIGNALED(wait_status) ? WTERMSIG(wait_status) : 0;

	if (sig == SIGKILL && !*kernel->broken && sandbox_usage(kernel->host->sandbox, &usage) == 0)
		ret->oom = usage.oom_kills > kernel->host->oom_seen;
	if (ret->oom)
		kernel->host->oom_seen = usage.oom_kills;
	if (*kernel->said && kernel->state == KERNEL_STARTING)
		snprintf(ret->text, sizeof(ret->text), "%s", kernel->said);
	else if (*kernel->broken)
		snprintf(ret->text, sizeof(ret->text), "killed: %s", kernel->broken);
	else if (ret->oom)
		snprintf(ret->text, sizeof(ret->text), "out of memory");
	else if (sig)
		snprintf(ret->text, sizeof(ret->text), "signal %d (%s)", sig, signal_name(sig));
	else
		snprintf(ret->text, sizeof(ret->text), "exit %d", WEXITSTATUS(wait_status));
	ret->exit_code = sig || *kernel->broken ? -1 : WEXITSTATUS(wait_status);
}

/* What it said before it died. */
static void read_last(struct kernel *kernel)
{
	while (kernel->source.fd >= 0 && kernel->ops && read_frames(kernel))
		;
	output_pipe_drain(&kernel->pipes[RUN_STDOUT].pipe);
	output_pipe_drain(&kernel->pipes[RUN_STDERR].pipe);
}

static void die(struct kernel *kernel, struct kernel_death *death)
{
	const struct kernel_ops *ops;

	death->start = kernel->state == KERNEL_STARTING;
	kernel->state = KERNEL_DEAD;
	close_all(kernel);
	ops = kernel->ops;
	kernel->ops = NULL;
	if (ops)
		ops->dead(kernel, death);
}

static struct kernel *find(struct kernel_host *host, uint32_t id)
{
	struct list *item;

	list_for_each(item, &host->all)
	{
		struct kernel *kernel = list_entry(item, struct kernel, link);

		if (kernel->id == id)
			return kernel;
	}
	return NULL;
}

void kernel_host_event(struct kernel_host *host, const struct sandbox_event *event)
{
	struct kernel *kernel = find(host, event->id);
	struct kernel_death death = {.exit_code = -1};

	if (!kernel || event->kind == SANDBOX_STARTED)
		return;
	if (event->kind == SANDBOX_ENDED) {
		sandbox_kill(host->sandbox, kernel->id, SIGKILL, SANDBOX_TREE);
		read_last(kernel);
		describe(kernel, event->wait_status, &death);
		die(kernel, &death);
		return;
	}
	if (event->kind == SANDBOX_EMPTY)
		sandbox_forget(host->sandbox, kernel->id);
	kernel->in_sandbox = false;
	if (kernel->state != KERNEL_DEAD) {
		snprintf(death.text, sizeof(death.text), "it could not start: %s",
			*event->text ? event->text : strerror(-event->err));
		die(kernel, &death);
	}
	free_kernel(kernel);
}

void kernel_host_died(struct kernel_host *host)
{
	struct list *item, *spare;

	list_for_each_safe(item, spare, &host->all)
	{
		struct kernel *kernel = list_entry(item, struct kernel, link);
		struct kernel_death death = {.text = "the sandbox has died", .exit_code = -1};

		kernel->in_sandbox = false;
		if (kernel->state != KERNEL_DEAD) {
			read_last(kernel);
			die(kernel, &death);
		}
		free_kernel(kernel);
	}
}

void kernel_kill(struct kernel *kernel, const char *reason)
{
	if (!*kernel->broken)
		snprintf(kernel->broken, sizeof(kernel->broken), "%s", reason);
	if (kernel->in_sandbox)
		sandbox_kill(kernel->host->sandbox, kernel->id, SIGKILL, SANDBOX_TREE);
}

void kernel_interrupt(struct kernel *kernel)
{
	struct buf frame auto_buf = {0};

	if (kernel->language->interrupt_frame) {
		kernel_wire_end(&frame, kernel_wire_begin(&frame, KERNEL_INTERRUPT, 0));
		kernel_send(kernel, &frame);
	}
	if (kernel->in_sandbox)
		sandbox_kill(kernel->host->sandbox, kernel->id, SIGINT, SANDBOX_GROUP);
}

void kernel_release(struct kernel *kernel)
{
	if (!kernel)
		return;
	kernel->ops = NULL;
	kernel->state = KERNEL_DEAD;
	close_all(kernel);
	if (kernel->in_sandbox)
		sandbox_kill(kernel->host->sandbox, kernel->id, SIGKILL, SANDBOX_TREE);
}

bool kernel_has_left(const struct kernel *kernel)
{
	struct pollfd fd = {.fd = kernel->source.fd, .events = POLLRDHUP};

	return fd.fd < 0 || (poll(&fd, 1, 0) > 0 && (fd.revents & (POLLRDHUP | POLLHUP)));
}

void kernel_set_owner(struct kernel *kernel, const struct kernel_ops *ops, void *owner)
{
	kernel->ops = ops;
	kernel->owner = owner;
}

/* Start */

static void on_start_limit(struct loop_timer *timer)
{
	kernel_kill(container_of(timer, struct kernel, start_limit),
		"it was not ready within 60 seconds");
}

/* What the process gets; owned. */
struct ends {
	int socket, out, err;
	char **env;
	char **more;
};

static void ends_clear(struct ends *ends)
{
	close_fd(&ends->socket);
	close_fd(&ends->out);
	close_fd(&ends->err);
	run_request_free_strings(&ends->env);
	free(ends->more); /* its strings are borrowed */
}

static int open_ends(struct kernel *kernel, struct ends *ends)
{
	struct loop *loop = kernel->host->loop;
	int fds[2], r;

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds) < 0)
		return -errno;
	ends->socket = fds[1];
	kernel->source = (struct loop_source){.fd = fds[0], .ready = on_socket};
	r = loop_watch(loop, &kernel->source, EPOLLIN);
	if (r < 0) {
		close_fd(&kernel->source.fd);
		return r;
	}
	for (int i = 0; r == 0 && i < 2; i++) {
		kernel->pipes[i].kernel = kernel;
		r = output_pipe_open(&kernel->pipes[i].pipe, loop, kernel->host->null_fd, &pipe_ops,
			i == 0 ? &ends->out : &ends->err);
	}
	return r;
}

static size_t count(char *const *strings)
{
	size_t n = 0;

	while (strings && strings[n])
		n++;
	return n;
}

/* The language's own variables, and the context's over them. */
static int join(struct ends *ends, const struct kernel_language *language, char *const *more)
{
	char *const *parts[] = {(char *const *)language->env, more};
	size_t len = 0;

	ends->more = calloc(count(parts[0]) + count(parts[1]) + 1, sizeof(*ends->more));
	for (size_t i = 0; ends->more && i < ARRAY_LEN(parts); i++)
		for (char *const *p = parts[i]; p && *p; p++)
			ends->more[len++] = *p;
	return ends->more ? 0 : -ENOMEM;
}

static int spawn(struct kernel *kernel, struct ends *ends, char *const *more, const char *cwd,
	struct fail *f)
{
	struct kernel_host *host = kernel->host;
	struct sandbox_user user;
	bool nests = kernel->language->nests && sandbox_nesting_user(host->sandbox, &user);
	int r = nests ? 0 : sandbox_find_user(host->sandbox, runs_user(host->runs), &user, f);

	if (r == 0)
		r = join(ends, kernel->language, more);
	if (r == 0)
		r = run_environment(host->runs, &user, ends->more, &ends->env);
	if (r < 0)
		return r;
	const struct sandbox_spawn spawn = {
		.id = kernel->id,
		.argv = kernel->language->argv,
		.env = (const char *const *)ends->env,
		.cwd = cwd,
		.user = &user,
		.in_fd = -1,
		.out_fd = ends->out,
		.err_fd = ends->err,
		.extra_fd = ends->socket,
		.nests = nests,
	};
	return sandbox_spawn(host->sandbox, &spawn, f);
}

static struct kernel *new_kernel(struct kernel_host *host, const struct kernel_language *language)
{
	struct kernel *kernel = calloc(1, sizeof(*kernel));

	if (!kernel)
		return NULL;
	kernel->host = host;
	kernel->language = language;
	do {
		kernel->id = SPAWN_BIT | host->next_id++;
	} while (find(host, kernel->id));
	kernel->source.fd = -1;
	kernel->pipes[0].pipe.source.fd = kernel->pipes[1].pipe.source.fd = -1;
	kernel->start_limit.fire = on_start_limit;
	list_add_tail(&host->all, &kernel->link);
	return kernel;
}

int kernel_start(struct kernel_host *host, const struct kernel_language *language,
	char *const *more, const char *cwd, const struct kernel_ops *ops, void *owner,
	struct kernel **ret, struct fail *f)
{
	struct ends ends auto_call(ends_clear) = {.socket = -1, .out = -1, .err = -1};
	struct kernel *kernel;
	int r;

	if (!runs_sandbox_alive(host->runs))
		return fail_set(f, -EIO, "the sandbox has died; umount and mount it again");
	r = kernel_language_check(language, host->sandbox, f);
	if (r < 0)
		return r;
	kernel = new_kernel(host, language);
	if (!kernel)
		return -ENOMEM;
	kernel_set_owner(kernel, ops, owner);
	r = open_ends(kernel, &ends);
	if (r < 0)
		fail_errno(f, r, "cannot start a kernel of %s", language->name);
	else
		r = spawn(kernel, &ends, more, cwd, f);
	if (r < 0) {
		free_kernel(kernel);
		return r;
	}
	kernel->in_sandbox = true;
	loop_timer_set(host->loop, &kernel->start_limit, clock_monotonic_usec() + START_LIMIT_USEC);
	*ret = kernel;
	return 0;
}
