// The driver of bash: an interactive bash beside it, which is told by a pipe what to evaluate and
// reports each exit status on descriptor 63.
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
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

struct bash {
	pid_t pid;
	int commands; /* its standard input */
	int status; /* what it reports */
	int code; /* a memory file with the present source */
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

static int start(struct bash *bash)
{
	int commands[2], status[2];

	bash->code = memfd_create("code", MFD_CLOEXEC);
	if (bash->code < 0 || pipe2(commands, O_CLOEXEC) < 0 || pipe2(status, O_CLOEXEC) < 0)
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
	char lines[256];
	int size = snprintf(lines, sizeof(lines),
		"{ \\builtin read -r -d '' SANDPIT_CODE </proc/%d/fd/%d; "
		"\\builtin eval \"$SANDPIT_CODE\"; } </dev/null %d>&-\n"
		"\\builtin printf '%%s\\0' \"$?\" >&%d\n",
		getpid(), bash->code, STATUS_FD, STATUS_FD);

	if (ftruncate(bash->code, 0) < 0 || lseek(bash->code, 0, SEEK_SET) < 0)
		return -errno;
	int r = write_all(bash->code, code, len);
	if (r == 0)
		r = write_all(bash->code, "", 1);
	return r == 0 ? write_all(bash->commands, lines, (size_t)size) : r;
}

/* 1 and the report, 0 when bash has ended. */
static int wait_status(struct bash *bash, char *ret, size_t size)
{
	for (;;) {
		char c;
		ssize_t n = read(bash->status, &c, 1);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return 0;
		if (c && bash->said_len < sizeof(bash->said) - 1) {
			bash->said[bash->said_len++] = c;
			continue;
		}
		bash->said[bash->said_len] = '\0';
		bash->said_len = 0;
		snprintf(ret, size, "%s", bash->said);
		return 1;
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

static void execute(struct bash *bash, const struct kernel_frame *frame)
{
	struct kernel_field code = {.value = ""};
	char status[32], words[64];

	kernel_wire_find(frame, "code", &code);
	if (memchr(code.value, '\0', code.len)) {
		driver_wire_error(
			frame->execution, "ValueError", "the source holds a NUL byte", NULL);
		driver_wire_note(KERNEL_END, frame->execution);
		return;
	}
	if (evaluate(bash, code.value, code.len) < 0 || !wait_status(bash, status, sizeof(status)))
		follow(bash, frame->execution);
	if (strcmp(status, "0") != 0) {
		snprintf(words, sizeof(words), "ExitError: exit status %s", status);
		driver_wire_error(frame->execution, "ExitError", status, words);
	}
	driver_wire_note(KERNEL_END, frame->execution);
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

static void set_up(struct bash *bash, struct kernel_frame frame)
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
		!wait_status(bash, status, sizeof(status)))
		follow(bash, 0);
}

/* Until the daemon writes. A bash that ends meanwhile (killed by its own background job) ends all. */
static void wait_for_frame(struct bash *bash, const struct buf *in)
{
	struct pollfd fds[] = {{.fd = DRIVER_FD, .events = POLLIN}, {.fd = bash->status}};

	while (!driver_wire_has(in)) {
		if (poll(fds, 2, -1) < 0)
			continue;
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
	if (!wait_status(&bash, status, sizeof(status)))
		follow(&bash, 0);
	driver_wire_note(KERNEL_READY, 0);
	for (;;) {
		wait_for_frame(&bash, &in);
		if (driver_wire_next(&in, &frame) <= 0)
			return 0;
		if (frame.type == KERNEL_SETUP)
			set_up(&bash, frame);
		else if (frame.type == KERNEL_EXECUTE)
			execute(&bash, &frame);
	}
}
