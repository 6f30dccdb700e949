// The driver of Jupyter kernels: starts one from its kernelspec, and speaks the Jupyter protocol to
// it on behalf of the daemon's frames.
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/json_out.h"
#include "common/scope.h"
#include "kernels/driver/driver_wire.h"
#include "kernels/jupyter/jupyter_client.h"
#include "kernels/jupyter/jupyter_spec.h"

#define GREETING_USEC (60 * USEC_PER_MSEC) /* until kernel_info is asked again */
#define IDLE_USEC                                                                                  \
	(2 * USEC_PER_SEC) /* how long after its reply a cell waits for the idle message */

struct driver {
	struct jupyter_client client;
	struct jupyter_spec spec;
	struct buf in; /* frames */
	pid_t pid; /* the kernel's */
	int pid_fd;
	int death; /* pid_fd readable: 1 */
	uint32_t execution; /* 0: nothing executes */
	char request[80]; /* the present request's id */
	bool replied, idle, failed, leaves;
	uint64_t replied_usec;
	struct json_object *question; /* owned; the header of an input_request */
};

/* The kernel's process: in a group of its own, as some die of SIGINT. */

static _Noreturn void become_kernel(struct driver *d, char **argv)
{
	int null_fd = open("/dev/null", O_RDWR);
	bool python = !strcasecmp(d->spec.language, "python");

	setpgid(0, 0);
	signal(SIGINT, SIG_DFL);
	signal(SIGPIPE, SIG_DFL);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	dup2(null_fd, 0);
	if (python) { /* it captures its descriptors itself, and repeats what they get */
		dup2(null_fd, 1);
		dup2(null_fd, 2);
	}
	for (char **pair = d->spec.env; pair && *pair; pair++)
		putenv(*pair);
	close_range(3, ~0U, 0);
	execvp(argv[0], argv);
	dprintf(2, "%s: %s\n", argv[0], strerror(errno));
	_exit(127);
}

/* {connection_file} in a word is replaced. */
static char *fill_in(const char *word, const char *file)
{
	static const char mark[] = "{connection_file}";
	const char *at = strstr(word, mark);
	char *ret = NULL;

	if (!at)
		return strdup(word);
	return asprintf(&ret, "%.*s%s%s", (int)(at - word), word, file, at + strlen(mark)) < 0
		       ? NULL
		       : ret;
}

static int start_kernel(struct driver *d)
{
	char **argv = d->spec.argv;

	for (; *argv; argv++) {
		char *word = fill_in(*argv, d->client.file);

		if (!word)
			return -ENOMEM;
		free(*argv);
		*argv = word;
	}
	d->pid = fork();
	if (d->pid < 0)
		return -errno;
	if (d->pid == 0)
		become_kernel(d, d->spec.argv);
	d->pid_fd = (int)syscall(SYS_pidfd_open, d->pid, 0);
	return d->pid_fd < 0 ? -errno : 0;
}

/* As the kernel ended, so ends the driver. */
static _Noreturn void follow(struct driver *d)
{
	int status = 0;

	while (waitpid(d->pid, &status, 0) < 0 && errno == EINTR)
		;
	if (d->execution && d->leaves && WIFEXITED(status) && WEXITSTATUS(status) == 0)
		driver_wire_exit(d->execution);
	jupyter_client_close(&d->client);
	if (WIFSIGNALED(status)) {
		signal(WTERMSIG(status), SIG_DFL);
		raise(WTERMSIG(status));
	}
	_exit(WEXITSTATUS(status));
}

static _Noreturn void leave(struct driver *d)
{
	kill(-d->pid, SIGKILL);
	jupyter_client_close(&d->client);
	_exit(0);
}

/* Messages */

static void write_text(int fd, const char *text, size_t len)
{
	while (len) {
		ssize_t n = write(fd, text, len);

		if (n < 0 && errno != EINTR)
			return;
		text += n > 0 ? n : 0;
		len -= n > 0 ? (size_t)n : 0;
	}
}

static void on_stream(const struct jupyter_message *m)
{
	size_t len;
	const char *text = jupyter_message_string(m, "text", &len);

	write_text(strcmp(jupyter_message_string(m, "name", NULL), "stderr") ? 1 : 2, text, len);
}

static const char *display_id(const struct jupyter_message *m)
{
	const struct json_object *id =
		json_in_get(json_in_get(m->content, "transient"), "display_id");

	return id && json_in_type(id) == JSON_IN_STRING ? json_in_string(id, NULL) : NULL;
}

static void on_result(struct driver *d, const struct jupyter_message *m, bool is_main, bool update)
{
	struct buf frame = {0};
	const char *id = display_id(m);
	size_t start =
		kernel_wire_begin(&frame, update ? KERNEL_UPDATE : KERNEL_RESULT, d->execution);

	if (is_main)
		kernel_wire_add(&frame, "@main", "1", 1);
	if (id)
		kernel_wire_add(&frame, "@id", id, strlen(id));
	jupyter_message_bundle(m, &frame);
	kernel_wire_end(&frame, start);
	driver_wire_send(&frame);
}

static void on_clear(struct driver *d, const struct jupyter_message *m)
{
	const struct json_object *wait = json_in_get(m->content, "wait");
	struct buf frame = {0};
	size_t start = kernel_wire_begin(&frame, KERNEL_CLEAR, d->execution);

	if (wait && json_in_type(wait) == JSON_IN_BOOL && json_in_bool(wait))
		kernel_wire_add(&frame, "@wait", "1", 1);
	kernel_wire_end(&frame, start);
	driver_wire_send(&frame);
}

static void add_plain(struct buf *frame, const char *name, const char *text, size_t len)
{
	struct buf plain auto_buf = {0};

	jupyter_message_plain(text, len, &plain);
	kernel_wire_add(frame, name, buf_text(&plain), plain.len);
}

static void on_error(struct driver *d, const struct jupyter_message *m)
{
	const struct json_object *lines = json_in_get(m->content, "traceback");
	struct buf frame = {0};
	size_t start = kernel_wire_begin(&frame, KERNEL_ERROR, d->execution), len;
	const char *text;

	if (d->failed)
		return;
	d->failed = true;
	text = jupyter_message_string(m, "ename", &len);
	add_plain(&frame, "name", text, len);
	text = jupyter_message_string(m, "evalue", &len);
	add_plain(&frame, "value", text, len);
	for (size_t i = 0;
		lines && json_in_type(lines) == JSON_IN_ARRAY && i < json_in_array_len(lines);
		i++) {
		const struct json_object *line = json_in_array_at(lines, i);

		if (json_in_type(line) != JSON_IN_STRING)
			continue;
		text = json_in_string(line, &len);
		add_plain(&frame, "traceback", text, len);
	}
	kernel_wire_end(&frame, start);
	driver_wire_send(&frame);
}

/* IRkernel shows values as displays; its plots are pictures, and what html it is asked to display has
 * no text. */
static bool is_value(const struct driver *d, const struct jupyter_message *m)
{
	static const char *const pictures[] = {
		"image/png", "image/svg+xml", "image/jpeg", "application/pdf"};
	const struct json_object *data = json_in_get(m->content, "data");

	for (size_t i = 0; i < ARRAY_LEN(pictures); i++)
		if (json_in_get(data, pictures[i]))
			return false;
	return !strcasecmp(d->spec.language, "R") && json_in_get(data, "text/plain");
}

static void on_iopub(struct driver *d, const struct jupyter_message *m)
{
	bool mine = !strcmp(m->parent, d->request);

	if (!strcmp(m->type, "stream"))
		on_stream(m); /* also late text of an execution that is over */
	else if (!strcmp(m->type, "update_display_data"))
		on_result(d, m, false, true);
	else if (!mine)
		return;
	else if (!strcmp(m->type, "execute_result"))
		on_result(d, m, true, false);
	else if (!strcmp(m->type, "display_data"))
		on_result(d, m, is_value(d, m), false);
	else if (!strcmp(m->type, "clear_output"))
		on_clear(d, m);
	else if (!strcmp(m->type, "error"))
		on_error(d, m);
	else if (!strcmp(m->type, "status") &&
		 !strcmp(jupyter_message_string(m, "execution_state", NULL), "idle"))
		d->idle = true;
}

/* What a pager would show is printed; a kernel that says it leaves is expected to end. */
static void on_payload(struct driver *d, const struct json_object *payload)
{
	const struct json_object *source = json_in_get(payload, "source");
	const struct json_object *text = json_in_get(json_in_get(payload, "data"), "text/plain");
	struct buf plain auto_buf = {0};
	size_t len;

	if (source && json_in_type(source) == JSON_IN_STRING &&
		!strcmp(json_in_string(source, NULL), "ask_exit"))
		d->leaves = true;
	if (!text || json_in_type(text) != JSON_IN_STRING)
		return;
	const char *shown = json_in_string(text, &len);
	jupyter_message_plain(shown, len, &plain);
	buf_add_char(&plain, '\n');
	write_text(1, buf_text(&plain), plain.len);
}

static void on_shell(struct driver *d, const struct jupyter_message *m)
{
	const struct json_object *payloads = json_in_get(m->content, "payload");

	if (strcmp(m->parent, d->request) != 0)
		return;
	d->replied = true;
	d->replied_usec = clock_monotonic_usec();
	if (!strcmp(jupyter_message_string(m, "status", NULL), "error"))
		on_error(d, m);
	for (size_t i = 0; payloads && json_in_type(payloads) == JSON_IN_ARRAY &&
			   i < json_in_array_len(payloads);
		i++)
		on_payload(d, json_in_array_at(payloads, i));
}

static void on_question(struct driver *d, struct jupyter_message *m)
{
	struct buf frame = {0};
	size_t len, start = kernel_wire_begin(&frame, KERNEL_INPUT, d->execution);
	const char *prompt = jupyter_message_string(m, "prompt", &len);

	if (strcmp(m->type, "input_request") != 0)
		return;
	write_text(1, prompt, len);
	kernel_wire_add(&frame, "prompt", prompt, len);
	kernel_wire_end(&frame, start);
	json_in_free(&d->question);
	d->question = take_ptr(m->header);
	driver_wire_send(&frame);
}

/* iopub first: what was shown before the reply is taken in before the reply. */
static void take_messages(struct driver *d)
{
	static const enum jupyter_channel order[] = {
		JUPYTER_IOPUB, JUPYTER_STDIN, JUPYTER_SHELL, JUPYTER_CONTROL};
	struct jupyter_message m;

	for (size_t i = 0; i < ARRAY_LEN(order); i++) {
		int r;

		while ((r = jupyter_client_receive(&d->client, order[i], &m)) != 0) {
			if (r < 0)
				continue;
			if (order[i] == JUPYTER_IOPUB)
				on_iopub(d, &m);
			else if (order[i] == JUPYTER_SHELL)
				on_shell(d, &m);
			else if (order[i] == JUPYTER_STDIN)
				on_question(d, &m);
			jupyter_message_clear(&m);
		}
	}
}

/* Frames */

static void execute(struct driver *d, const struct kernel_frame *frame)
{
	struct buf content auto_buf = {0};
	struct kernel_field code = {.value = ""};
	struct json_out j;

	kernel_wire_find(frame, "code", &code);
	json_out_begin(&j, &content);
	json_out_object(&j, NULL);
	json_out_bytes(&j, "code", code.value, code.len);
	json_out_bool(&j, "silent", false);
	json_out_bool(&j, "store_history", true);
	json_out_raw(&j, "user_expressions", "{}", 2);
	json_out_bool(&j, "allow_stdin", true);
	json_out_bool(&j, "stop_on_error", false);
	json_out_object_end(&j);
	d->execution = frame->execution;
	d->replied = d->idle = d->failed = d->leaves = false;
	jupyter_client_send(
		&d->client, JUPYTER_SHELL, "execute_request", buf_text(&content), NULL, d->request);
}

static void interrupt(struct driver *d)
{
	if (!d->execution)
		return;
	if (d->spec.interrupt_message)
		jupyter_client_send(
			&d->client, JUPYTER_CONTROL, "interrupt_request", "{}", NULL, NULL);
	else
		kill(-d->pid, SIGINT);
}

static void answer(struct driver *d, const struct kernel_frame *frame)
{
	struct buf content auto_buf = {0};
	struct kernel_field line = {.value = ""};
	struct json_out j;

	if (!d->question)
		return;
	kernel_wire_find(frame, "line", &line);
	json_out_begin(&j, &content);
	json_out_object(&j, NULL);
	json_out_bytes(&j, "value", line.value, line.len);
	json_out_string(&j, "status", "ok");
	json_out_object_end(&j);
	jupyter_client_send(
		&d->client, JUPYTER_STDIN, "input_reply", buf_text(&content), d->question, NULL);
	json_in_free(&d->question);
}

static void take_frame(struct driver *d)
{
	struct kernel_frame frame;

	do {
		if (driver_wire_next(&d->in, &frame) <= 0)
			leave(d);
		if (frame.type == KERNEL_EXECUTE)
			execute(d, &frame);
		else if (frame.type == KERNEL_INTERRUPT)
			interrupt(d);
		else if (frame.type == KERNEL_LINE)
			answer(d, &frame);
	} while (driver_wire_has(&d->in));
}

/* Waits for something and takes it; a kernel that has ended is the end. */
static void step(struct driver *d, bool frames, long timeout_msec)
{
	const int fds[2] = {frames ? DRIVER_FD : d->pid_fd, d->pid_fd};
	bool ready[2];

	jupyter_client_wait(&d->client, fds, ready, timeout_msec);
	take_messages(d);
	if (ready[1]) {
		usleep(100 * 1000); /* what it sent last is still on its way */
		take_messages(d);
		follow(d);
	}
	if (frames && ready[0])
		take_frame(d);
}

/* The first output would be lost while iopub is not connected: kernel_info is asked until both its
 * reply and its idle message have come. */
static void greet(struct driver *d)
{
	bool replied = false;

	do {
		uint64_t start = clock_monotonic_usec();

		d->replied = d->idle = false;
		jupyter_client_send(
			&d->client, JUPYTER_SHELL, "kernel_info_request", "{}", NULL, d->request);
		while (!(d->replied && d->idle)) {
			uint64_t now = clock_monotonic_usec();

			if (d->replied && now - d->replied_usec > GREETING_USEC)
				break;
			step(d, false, d->replied ? 10 : 1000);
			if (!d->replied && now - start > 30 * USEC_PER_SEC)
				break;
		}
		replied = d->replied && d->idle;
	} while (!replied);
}

static void finish(struct driver *d)
{
	uint32_t execution = d->execution;

	if (!execution || !d->replied ||
		(!d->idle && clock_monotonic_usec() - d->replied_usec < IDLE_USEC))
		return;
	d->execution = 0;
	json_in_free(&d->question);
	if (d->leaves)
		driver_wire_exit(execution);
	else
		driver_wire_note(KERNEL_END, execution);
}

static int refuse(const char *name, int err, const struct buf *words)
{
	struct buf why auto_buf = {0};

	if (err == -ENOENT)
		buf_printf(&why, "no kernelspec \"%s\"; there are:%s", name,
			words->len ? words->data : " none");
	else
		buf_printf(&why, "kernelspec \"%s\": %s", name, strerror(-err));
	driver_wire_error(0, "KernelError", buf_text(&why), NULL);
	return 127;
}

int main(int argc, char **argv)
{
	struct driver d = {0};
	struct buf words = {0};
	const char *name = argc > 1 ? argv[1] : "";
	int r;

	signal(SIGINT, SIG_IGN);
	signal(SIGPIPE, SIG_IGN);
	fcntl(DRIVER_FD, F_SETFD, FD_CLOEXEC);
	r = jupyter_spec_load(name, &d.spec, &words);
	if (r == 0)
		r = jupyter_client_open(&d.client);
	if (r == 0)
		r = start_kernel(&d);
	if (r == 0)
		r = jupyter_client_connect(&d.client);
	if (r < 0)
		return refuse(name, r, &words);
	greet(&d);
	driver_wire_note(KERNEL_READY, 0);
	for (;;) {
		step(&d, true, d.execution && d.replied ? 50 : -1);
		finish(&d);
	}
}
