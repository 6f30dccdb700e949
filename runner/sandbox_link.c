// The daemon's end of the link to init: requests out, events in.
#include "runner/sandbox_impl.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/socket.h>

#include "common/buf.h"
#include "common/scope.h"

/* What exec itself takes at most: one string, and all of them (execve(2), with the usual stack). */
#define STRING_MAX (128 * 1024)
#define STRINGS_MAX (2 * 1024 * 1024)

_Static_assert(INIT_FDS_MAX <= SANDBOX_SEND_MAX, "as many descriptors can be sent");

int sandbox_send(int socket, const void *data, size_t len, const int *fds, size_t fds_len)
{
	char control[CMSG_SPACE(SANDBOX_SEND_MAX * sizeof(int))] __attribute__((aligned(16))) = {0};
	struct iovec iov = {.iov_base = (void *)data, .iov_len = len};
	struct msghdr msg = {.msg_iov = &iov, .msg_iovlen = 1};

	if (fds_len) {
		msg.msg_control = control;
		msg.msg_controllen = CMSG_SPACE(fds_len * sizeof(int));
		struct cmsghdr *c = CMSG_FIRSTHDR(&msg);
		c->cmsg_level = SOL_SOCKET;
		c->cmsg_type = SCM_RIGHTS;
		c->cmsg_len = CMSG_LEN(fds_len * sizeof(int));
		memcpy(CMSG_DATA(c), fds, fds_len * sizeof(int));
	}
	while (sendmsg(socket, &msg, MSG_NOSIGNAL) < 0)
		if (errno != EINTR)
			return -errno;
	return 0;
}

static int send_packet(
	struct sandbox *s, const void *data, size_t len, const int *fds, size_t fds_len)
{
	int r = s->dead ? -EPIPE : sandbox_send(s->link_fd, data, len, fds, fds_len);

	return r == -ECONNRESET ? -EPIPE : r;
}

static int add_string(struct buf *to, const char *text)
{
	size_t len = strlen(text) + 1;

	if (len > STRING_MAX || to->len + len > STRINGS_MAX)
		return -E2BIG;
	return buf_add(to, text, len);
}

static int add_strings(struct buf *to, const char *const *list, uint32_t *ret_count)
{
	int err = 0;

	for (*ret_count = 0; list[*ret_count] && err == 0; ++*ret_count)
		err = add_string(to, list[*ret_count]);
	return err;
}

static int check(const struct sandbox *s, const struct sandbox_spawn *spawn, struct fail *f)
{
	const struct sandbox_user *u = spawn->user;

	if (!spawn->argv[0] || !spawn->argv[0][0])
		return fail_set(f, -EINVAL, "the command is empty");
	if (spawn->cwd[0] != '/')
		return fail_set(f, -EINVAL, "the working directory %s is not absolute", spawn->cwd);
	if (strlen(spawn->cwd) >= PATH_MAX)
		return fail_set(f, -ENAMETOOLONG, "the working directory's path is too long");
	if (u->uid >= s->ids.len || u->gid >= s->ids.len)
		return fail_set(f, -EINVAL, "the ids of user %s are not mapped", u->name);
	return 0;
}

static void fill_request(struct init_spawn *w, const struct sandbox_spawn *spawn)
{
	const struct sandbox_user *u = spawn->user;

	w->request.kind = INIT_SPAWN;
	w->request.id = spawn->id;
	w->uid = u->uid;
	w->gid = u->gid;
	w->nests = spawn->nests;
	for (size_t i = 0; i < u->groups_len && i < ARRAY_LEN(w->groups); i++)
		w->groups[w->groups_len++] = u->groups[i];
}

static size_t list_fds(struct init_spawn *w, const struct sandbox_spawn *spawn, int *fds)
{
	size_t len = 0;

	if (spawn->in_fd >= 0) {
		w->fds |= INIT_HAS_IN;
		fds[len++] = spawn->in_fd;
	}
	fds[len++] = spawn->out_fd;
	fds[len++] = spawn->err_fd;
	if (spawn->extra_fd >= 0) {
		w->fds |= INIT_HAS_EXTRA;
		fds[len++] = spawn->extra_fd;
	}
	return len;
}

/* Too long for a packet: a memory file that nobody can change any more. */
static int put_in_file(const struct buf *strings)
{
	auto_close int fd = memfd_create("strings", MFD_CLOEXEC);

	if (fd < 0)
		return -errno;
	for (size_t at = 0; at < strings->len;) {
		ssize_t n = write(fd, strings->data + at, strings->len - at);
		if (n < 0)
			return -errno;
		at += (size_t)n;
	}
	return lseek(fd, 0, SEEK_SET) < 0 ? -errno : take_fd(&fd);
}

static int send_spawn(struct sandbox *s, const struct sandbox_spawn *spawn, struct init_spawn *w,
	const struct buf *strings, const int *group_fds)
{
	auto_buf struct buf packet = {0};
	auto_close int file_fd = -1;
	int fds[INIT_FDS_MAX];
	size_t fds_len = list_fds(w, spawn, fds);

	w->strings_len = strings->len;
	if (strings->len > INIT_INLINE_MAX) {
		file_fd = put_in_file(strings);
		if (file_fd < 0)
			return file_fd;
		w->fds |= INIT_HAS_STRINGS;
		fds[fds_len++] = file_fd;
	}
	memcpy(fds + fds_len, group_fds, w->groups_fds * sizeof(int));
	fds_len += w->groups_fds;
	buf_add(&packet, w, sizeof(*w));
	if (file_fd < 0)
		buf_add(&packet, strings->data, strings->len);
	return packet.error ? packet.error : send_packet(s, packet.data, packet.len, fds, fds_len);
}

bool sandbox_is_quiet(const struct sandbox *s)
{
	/* When init dies, its end of the link is closed before all others are killed. */
	return !s->dead && (!s->spawns || (s->alone && s->spawns == s->spawns_done));
}

void sandbox_watch_quiet(struct sandbox *s, void (*changed)(void *arg, bool quiet), void *arg)
{
	s->quiet_changed = changed;
	s->quiet_arg = arg;
}

static void tell_quiet(struct sandbox *s, bool quiet)
{
	if (s->told_running == !quiet)
		return;
	s->told_running = !quiet;
	if (s->quiet_changed)
		s->quiet_changed(s->quiet_arg, quiet);
}

int sandbox_spawn(struct sandbox *s, const struct sandbox_spawn *spawn, struct fail *f)
{
	auto_buf struct buf strings = {0};
	int group_fds[INIT_GROUPS_MAX];
	size_t group_fds_len = 0;
	struct init_spawn w = {0};
	int err = check(s, spawn, f);

	if (err < 0)
		return err;
	fill_request(&w, spawn);
	err = sandbox_limit_begin(s, spawn, &w.limits, group_fds, &group_fds_len, f);
	if (err < 0)
		return err;
	w.groups_fds = (uint32_t)group_fds_len;
	err = add_string(&strings, spawn->cwd);
	if (err == 0)
		err = add_strings(&strings, spawn->argv, &w.argc);
	if (err == 0)
		err = add_strings(&strings, spawn->env, &w.envc);
	if (err == 0) {
		tell_quiet(s, false);
		err = send_spawn(s, spawn, &w, &strings, group_fds);
		s->spawns += err == 0;
		tell_quiet(s, sandbox_is_quiet(s));
	}
	if (err < 0)
		sandbox_limit_end(s, spawn->id);
	if (err == -E2BIG)
		return fail_set(f, err, "command and environment are too large for exec");
	return err < 0 ? fail_errno(f, err, "asking the sandbox's init to start a process") : 0;
}

int sandbox_kill(struct sandbox *s, uint32_t id, int sig, enum sandbox_target target)
{
	struct init_request r = {
		.kind = INIT_KILL,
		.id = id,
		.sig = sig,
		.target = target,
	};

	if (sig < 0 || sig >= NSIG)
		return -EINVAL;
	return send_packet(s, &r, sizeof(r), NULL, 0);
}

int sandbox_forget(struct sandbox *s, uint32_t id)
{
	struct init_request r = {.kind = INIT_FORGET, .id = id};

	sandbox_limit_end(s, id);
	return send_packet(s, &r, sizeof(r), NULL, 0);
}

int sandbox_next_event(struct sandbox *s, struct sandbox_event *ret)
{
	ssize_t len;

	if (s->dead)
		return -EPIPE;
	do
		len = recv(s->link_fd, ret, sizeof(*ret), MSG_DONTWAIT);
	while (len < 0 && errno == EINTR);
	if (len < 0 && errno == EAGAIN)
		return 0;
	/* Init is ours, but commands may have taken it over: only what makes sense is passed on. */
	if (len != sizeof(*ret) || (unsigned)ret->kind > SANDBOX_EMPTY) {
		s->dead = true;
		tell_quiet(s, false);
		return -EPIPE;
	}
	s->spawns_done = ret->spawns;
	s->alone = ret->alone;
	tell_quiet(s, sandbox_is_quiet(s));
	ret->text[sizeof(ret->text) - 1] = '\0';
	if (ret->kind == SANDBOX_FAILED || ret->kind == SANDBOX_EMPTY)
		sandbox_limit_end(s, ret->id);
	return 1;
}
