// The driver of bash: an interactive bash beside it, which is told by a pipe what to evaluate and
// reports each exit status on descriptor 63.
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/scope.h"
#include "kernels/driver/driver_wire.h"

#define RC KERNEL_DRIVERS "/bash/rc"
#define KERNEL_DRIVERS "/opt/sandpit"
#define STATUS_FD 63 /* of bash */
#define STDERR_FD 61 /* of bash until its rc file has run: its greeting is for nobody */

/* Ours, opened through /proc by the function `read` of the rc file. */
#define EMPTY_FD 50 /* a memory file without content: what executions have as standard input */
#define ASK_FD 51 /* a pipe: a prompt and NUL asks for a line */
#define ANSWER_FD 52 /* a pipe: NUL when the line is there */
#define LINE_FD 53 /* a memory file with the line; empty at the end of file */

struct bash {
	pid_t pid;
	int commands; /* its standard input */
	int status; /* what it reports */
	int code; /* a memory file with the present source */
	int ask; /* the end of ASK_FD from which it is read */
	int answer; /* the end of ANSWER_FD into which it is written */
	char prompt[256]; /* that is not complete yet */
	size_t prompt_len;
	bool asking; /* the daemon, for a line */
	char said[32]; /* of a report that is not complete yet */
	size_t said_len;
};

static void become_bash(int commands, int status)
{
	int null_fd = open("/dev/null", O_WRONLY);

	signal(SIGINT, SIG_DFL);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (dup2(2, STDERR_FD) < 0 || dup2(null_fd, 2) < 0 || dup2(commands, 0) < 0 ||
		dup2(status, STATUS_FD) < 0)
		_exit(126);
	close_range(3, STDERR_FD - 1, 0);
	close_range(STDERR_FD + 1, STATUS_FD - 1, 0);
	execlp("bash", "bash", "--noprofile", "--rcfile", RC, "--noediting", "-i", (char *)NULL);
	_exit(127);
}

/* A descriptor gets the number by which it is known. */
static int put(int fd, int number)
{
	return fd < 0 || dup3(fd, number, O_CLOEXEC) < 0 || close(fd) < 0 ? -errno : 0;
}

static int open_input(struct bash *bash)
{
	int ask[2], answer[2];

	if (pipe2(ask, O_CLOEXEC | O_NONBLOCK) < 0 || pipe2(answer, O_CLOEXEC | O_NONBLOCK) < 0)
		return -errno;
	bash->ask = ask[0];
	bash->answer = answer[1];
	if (put(ask[1], ASK_FD) < 0 || put(answer[0], ANSWER_FD) < 0 ||
		put(memfd_create("empty", MFD_CLOEXEC), EMPTY_FD) < 0)
		return -errno;
	return put(memfd_create("line", MFD_CLOEXEC), LINE_FD);
}

static int start(struct bash *bash)
{
	int commands[2], status[2];

	bash->code = memfd_create("code", MFD_CLOEXEC);
	if (bash->code < 0 || pipe2(commands, O_CLOEXEC) < 0 || pipe2(status, O_CLOEXEC) < 0 ||
		open_input(bash) < 0)
		return -errno;
	bash->pid = fork();
	if (bash->pid < 0)
		return -errno;
	if (bash->pid == 0)
		become_bash(commands[0], status[1]);
	close(commands[0]);
	close(status[1]);
	bash->commands = commands[1];
	bash->status = status[0];
	fcntl(bash->status, F_SETFL, O_NONBLOCK);
	return 0;
}

static int write_all(int fd, const char *data, size_t len)
{
	while (len) {
		ssize_t n = write(fd, data, len);

		if (n < 0 && errno != EINTR)
			return -errno;
		data += n > 0 ? n : 0;
		len -= n > 0 ? (size_t)n : 0;
	}
	return 0;
}

/* The second line is read even when an interrupt throws the first away. */
static int evaluate(struct bash *bash, const char *code, size_t len)
{
	/* In the directory of that name: a restore puts another in its place. One that is only removed
	 * is stayed in. */
	char lines[512];
	int size = snprintf(lines, sizeof(lines),
		"{ \\builtin test . -ef \"${DIRSTACK[0]-.}\" || "
		"\\builtin cd -- \"${DIRSTACK[0]-.}\" 2>/dev/null || \\builtin :; "
		"\\builtin read -r -d '' SANDPIT_CODE </proc/%d/fd/%d; "
		"\\builtin eval \"$SANDPIT_CODE\"; } </proc/%d/fd/%d %d>&-\n"
		"\\builtin printf '%%s\\0' \"$?\" >&%d\n",
		getpid(), bash->code, getpid(), EMPTY_FD, STATUS_FD, STATUS_FD);

	if (ftruncate(bash->code, 0) < 0 || lseek(bash->code, 0, SEEK_SET) < 0)
		return -errno;
	int r = write_all(bash->code, code, len);
	if (r == 0)
		r = write_all(bash->code, "", 1);
	return r == 0 ? write_all(bash->commands, lines, (size_t)size) : r;
}

/* Reads up to a NUL: 1 and the text; 0: not all is there yet; -1: the other side has ended. What is
 * too long is cut. */
static int take_text(int fd, char *text, size_t size, size_t *len)
{
	char c;
	ssize_t n;

	while ((n = read(fd, &c, 1)) > 0) {
		if (c && *len < size - 1) {
			text[(*len)++] = c;
		} else if (!c) {
			text[*len] = '\0';
			*len = 0;
			return 1;
		}
	}
	return n < 0 && (errno == EAGAIN || errno == EINTR) ? 0 : -1;
}

/* The line for the code that asked; NULL: end of file. */
static void answer(struct bash *bash, const struct kernel_field *line)
{
	char old[16];

	bash->asking = false;
	while (read(ANSWER_FD, old, sizeof(old)) > 0)
		; /* for somebody who did not wait */
	if (ftruncate(LINE_FD, 0) < 0 || lseek(LINE_FD, 0, SEEK_SET) < 0)
		return;
	if (line && write_all(LINE_FD, line->value, line->len) == 0)
		write_all(LINE_FD, "\n", 1);
	write_all(bash->answer, "", 1);
}

/* execution: 0: nothing executes, only a background job can have asked. */
static void take_question(struct bash *bash, uint32_t execution)
{
	struct buf frame = {0};
	size_t begin;

	if (take_text(bash->ask, bash->prompt, sizeof(bash->prompt), &bash->prompt_len) <= 0)
		return;
	if (!execution) {
		answer(bash, NULL);
		return;
	}
	begin = kernel_wire_begin(&frame, KERNEL_INPUT, execution);
	kernel_wire_add(&frame, "prompt", bash->prompt, strlen(bash->prompt));
	kernel_wire_end(&frame, begin);
	bash->asking = driver_wire_send(&frame) == 0;
}

static void take_line(struct bash *bash, struct buf *in)
{
	struct kernel_frame frame;
	struct kernel_field line;

	if (driver_wire_next(in, &frame) <= 0)
		_exit(0);
	if (frame.type == KERNEL_LINE)
		answer(bash, kernel_wire_find(&frame, "line", &line) ? &line : NULL);
}

/* 1 and the report, 0 when bash has ended. */
static int wait_status(
	struct bash *bash, struct buf *in, uint32_t execution, char *ret, size_t size)
{
	for (;;) {
		struct pollfd fds[] = {{.fd = bash->status, .events = POLLIN},
			{.fd = bash->ask, .events = POLLIN},
			{.fd = bash->asking ? DRIVER_FD : -1, .events = POLLIN}};
		int r;

		if (!(bash->asking && driver_wire_has(in)) && poll(fds, 3, -1) < 0)
			continue;
		r = fds[0].revents ? take_text(bash->status, bash->said, sizeof(bash->said),
					     &bash->said_len)
				   : 0;
		if (r) {
			bash->asking = false;
			snprintf(ret, size, "%s", bash->said);
			return r > 0;
		}
		if (fds[1].revents)
			take_question(bash, execution);
		if (bash->asking && (fds[2].revents || driver_wire_has(in)))
			take_line(bash, in);
	}
}

/* As bash ended, so ends the driver. */
static _Noreturn void follow(struct bash *bash, uint32_t execution)
{
	int status = 0;

	while (waitpid(bash->pid, &status, 0) < 0 && errno == EINTR)
		;
	if (WIFSIGNALED(status)) {
		signal(WTERMSIG(status), SIG_DFL);
		raise(WTERMSIG(status));
	}
	if (execution && WIFEXITED(status) && WEXITSTATUS(status) == 0)
		driver_wire_exit(execution);
	_exit(WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status));
}

static void execute(struct bash *bash, struct buf *in, const struct kernel_frame *frame)
{
	struct kernel_field code = {.value = ""};
	const uint32_t execution = frame->execution;
	char status[32], words[64];

	kernel_wire_find(frame, "code", &code);
	if (memchr(code.value, '\0', code.len)) {
		driver_wire_error(execution, "ValueError", "the source holds a NUL byte", NULL);
		driver_wire_note(KERNEL_END, execution);
		return;
	}
	if (evaluate(bash, code.value, code.len) < 0 ||
		!wait_status(bash, in, execution, status, sizeof(status)))
		follow(bash, execution);
	if (strcmp(status, "0") != 0) {
		snprintf(words, sizeof(words), "ExitError: exit status %s", status);
		driver_wire_error(execution, "ExitError", status, words);
	}
	driver_wire_note(KERNEL_END, execution);
}

static void add_quoted(struct buf *to, const char *text, size_t len)
{
	buf_add_char(to, '\'');
	for (size_t i = 0; i < len; i++)
		if (text[i] == '\'')
			buf_add_str(to, "'\\''");
		else
			buf_add_char(to, text[i]);
	buf_add_char(to, '\'');
}

static void set_up(struct bash *bash, struct buf *in, struct kernel_frame frame)
{
	struct buf code auto_buf = {0};
	struct kernel_field field;
	char status[32];

	while (kernel_wire_field(&frame, &field) > 0) {
		bool cwd = kernel_wire_is(&field, "cwd");
		const char *value = field.value, *equals = memchr(value, '=', field.len);

		buf_add_str(&code, cwd ? "\\builtin cd -- " : "\\builtin export ");
		if (cwd || !equals) {
			add_quoted(&code, value, field.len);
		} else {
			buf_add(&code, value, (size_t)(equals + 1 - value));
			add_quoted(&code, equals + 1, field.len - (size_t)(equals + 1 - value));
		}
		buf_add_char(&code, '\n');
	}
	if (evaluate(bash, buf_text(&code), code.len) < 0 ||
		!wait_status(bash, in, 0, status, sizeof(status)))
		follow(bash, 0);
}

/* Until the daemon writes. A bash that ends meanwhile (killed by its own background job) ends all. */
static void wait_for_frame(struct bash *bash, const struct buf *in)
{
	struct pollfd fds[] = {{.fd = DRIVER_FD, .events = POLLIN}, {.fd = bash->status},
		{.fd = bash->ask, .events = POLLIN}};

	while (!driver_wire_has(in)) {
		if (poll(fds, 3, -1) < 0)
			continue;
		if (fds[2].revents)
			take_question(bash, 0);
		if (fds[1].revents & (POLLHUP | POLLERR))
			follow(bash, 0);
		if (fds[0].revents)
			return;
	}
}

int main(void)
{
	struct buf in = {0};
	struct bash bash = {0};
	struct kernel_frame frame;
	char status[32];

	/* An interrupt is for what bash executes. */
	signal(SIGINT, SIG_IGN);
	signal(SIGPIPE, SIG_IGN);
	fcntl(DRIVER_FD, F_SETFD, FD_CLOEXEC);
	if (start(&bash) < 0)
		return 126;
	if (!wait_status(&bash, &in, 0, status, sizeof(status)))
		follow(&bash, 0);
	driver_wire_note(KERNEL_READY, 0);
	for (;;) {
		wait_for_frame(&bash, &in);
		if (driver_wire_next(&in, &frame) <= 0)
			return 0;
		if (frame.type == KERNEL_SETUP)
			set_up(&bash, &in, frame);
		else if (frame.type == KERNEL_EXECUTE)
			execute(&bash, &in, &frame);
	}
}
