// A real sandbox: commands, users, trees that are killed, hostile mount points, restarts.
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "common/buf.h"
#include "common/scope.h"
#include "cmd/check.h"
#include "runner/sandbox.h"

#define PATIENCE_MSEC 20000

struct fixture {
	char path[64];
	int state_fd;
	struct sandbox *s;
	struct sandbox_user root;
	uint32_t last_id;
};

static int start(struct fixture *x)
{
	struct sandbox_config config = {
		.name = "unit test",
		.state_path = x->path,
		.state_fd = x->state_fd,
		.limits.pids = 200,
	};
	struct fail f = {0};
	int err = sandbox_start(&config, &x->s, &f);

	if (err == 0)
		err = sandbox_find_user(x->s, "root", &x->root, &f);
	if (err < 0)
		print_message("# no sandbox here: %s\n", f.text);
	return err;
}

static int set_up(void **state)
{
	struct fixture *x = calloc(1, sizeof(*x));

	if (!x)
		return -1;
	snprintf(x->path, sizeof(x->path), "/tmp/test-sandbox-XXXXXX");
	if (!mkdtemp(x->path))
		return -1;
	x->state_fd = open(x->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	start(x);
	*state = x;
	return 0;
}

static int remove_one(const char *path, const struct stat *st, int kind, struct FTW *walk)
{
	(void)st;
	(void)kind;
	(void)walk;
	remove(path);
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *x = *state;

	sandbox_free(x->s);
	close(x->state_fd);
	nftw(x->path, remove_one, 16, FTW_DEPTH | FTW_PHYS);
	free(x);
	return 0;
}

static bool has(check_function *check)
{
	struct buf why auto_buf = {0};

	return check(&why) == CHECK_OK;
}

/* The fixture, or the test is skipped where this machine makes no sandboxes. */
static struct fixture *need(void **state)
{
	struct fixture *x = *state;

	if (!x->s && has(check_user_namespaces) && has(check_overlay))
		fail_msg("the machine has what a sandbox needs");
	if (!x->s)
		skip();
	return x;
}

static uint32_t spawn(struct fixture *x, const struct sandbox_user *user, const char *cmd, int out)
{
	const char *const argv[] = {"sh", "-c", cmd, NULL};
	const char *const env[] = {"PATH=/usr/bin:/bin", NULL};
	struct sandbox_spawn sp = {
		.id = ++x->last_id,
		.argv = argv,
		.env = env,
		.cwd = "/",
		.user = user,
		.in_fd = -1,
		.out_fd = out,
		.err_fd = out,
		.extra_fd = -1,
		.nests = user->uid == SANDBOX_NESTING_UID,
	};
	struct fail f = {0};

	assert_int_equal(sandbox_spawn(x->s, &sp, &f), 0);
	return sp.id;
}

/* The next event of that kind for id; others are passed over. */
static struct sandbox_event wait_for(struct fixture *x, uint32_t id, enum sandbox_event_kind kind)
{
	struct sandbox_event e = {0};
	int r;

	do {
		struct pollfd p = {.fd = sandbox_link_fd(x->s), .events = POLLIN};
		r = sandbox_next_event(x->s, &e);
		if (r == 0 && poll(&p, 1, PATIENCE_MSEC) != 1)
			fail_msg("no event for %u within %d ms", id, PATIENCE_MSEC);
		assert_true(r >= 0);
	} while (r == 0 || e.id != id || (e.kind != kind && e.kind != SANDBOX_FAILED));
	assert_int_equal(e.kind, kind);
	return e;
}

static int run_as(
	struct fixture *x, const struct sandbox_user *user, const char *cmd, struct buf *to)
{
	int fds[2];
	ssize_t n;

	assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
	uint32_t id = spawn(x, user, cmd, fds[1]);
	close(fds[1]);
	buf_reset(to);
	do {
		assert_int_equal(buf_reserve(to, 4096), 0);
		n = read(fds[0], to->data + to->len, 4096);
		to->len += n > 0 ? (size_t)n : 0;
	} while (n > 0);
	to->data[to->len] = '\0';
	close(fds[0]);
	int status = wait_for(x, id, SANDBOX_ENDED).wait_status;
	wait_for(x, id, SANDBOX_EMPTY);
	assert_int_equal(sandbox_forget(x->s, id), 0);
	return status;
}

static void expect(struct fixture *x, const char *cmd, const char *output)
{
	auto_buf struct buf out = {0};

	assert_int_equal(run_as(x, &x->root, cmd, &out), 0);
	assert_string_equal(buf_text(&out), output);
}

static void commands_run_as_the_sandboxs_root(void **state)
{
	struct fixture *x = need(state);
	auto_buf struct buf out = {0};

	expect(x, "id -u; hostname; pwd", "0\nunit-test\n/\n");
	expect(x, "stat -c %m /..; test / -ef /.. && echo same", "/\nsame\n");
	expect(x, "grep -E '^(CapEff|NoNewPrivs|Seccomp):' /proc/self/status",
		"CapEff:\t00000000800005fb\nNoNewPrivs:\t1\nSeccomp:\t2\n");
	expect(x, "echo a > /work/a && cat /work/a", "a\n");
	assert_int_equal(WEXITSTATUS(run_as(x, &x->root, "exit 7", &out)), 7);
}

static void nothing_of_the_daemon_is_inherited(void **state)
{
	struct fixture *x = need(state);

	expect(x, "ls /proc/self/fd | tr '\\n' ' '", "0 1 2 3 ");
	expect(x, "/usr/bin/env | grep -v -E '^(PATH|PWD|OLDPWD|SHLVL|_)='; true", "");
	expect(x, "tr '\\0' '\\n' < /proc/1/cmdline", "sandpit-init\n");
	expect(x, "cat /proc/1/environ 2>/dev/null || echo closed", "closed\n");
}

static void the_hosts_secrets_are_not_there(void **state)
{
	struct fixture *x = need(state);

	expect(x, "ls /etc/ssh /etc/sudoers /etc/machine-id /etc/ssl/private 2>/dev/null; true",
		"");
	expect(x, "grep -v -E '^[a-z0-9_-]+:\\*:' /etc/shadow; true", "");
	expect(x, "ls -A /root /sys; find / -xdev -type s 2>/dev/null", "/root:\n\n/sys:\n");
}

static void the_devices_work(void **state)
{
	struct fixture *x = need(state);

	expect(x, "head -c 3 /dev/zero | wc -c; echo x > /dev/null; head -c 1 /dev/urandom | wc -c",
		"3\n1\n");
	expect(x, "script -qec 'test -t 0 && echo a terminal' /dev/null | tr -d '\r'",
		"a terminal\n");
	expect(x, "mknod /tmp/null c 1 3 2>/dev/null || echo no", "no\n");
	expect(x, "ls /dev | tr '\n' ' '",
		"fd full null ptmx pts random shm stderr stdin stdout tty urandom zero ");
}

static void users_come_from_the_tree(void **state)
{
	struct fixture *x = need(state);
	auto_buf struct buf out = {0};
	struct sandbox_user user;
	struct fail f = {0};

	assert_int_equal(sandbox_find_user(x->s, "nobody-at-all", &user, &f), -EINVAL);
	assert_non_null(strstr(f.text, "nobody-at-all"));
	if (sandbox_ids(x->s)->len > 1) {
		assert_int_equal(sandbox_find_user(x->s, "1000", &user, &f), 0);
		assert_string_equal(user.name, "user");
		assert_int_equal(run_as(x, &user, "id -u; id -G", &out), 0);
		assert_string_equal(buf_text(&out), "1000\n1000\n");
	}
	expect(x, "rm /etc/passwd; mkfifo /etc/passwd", "");
	assert_int_equal(sandbox_find_user(x->s, "root", &user, &f), 0);
	assert_string_equal(user.home, "/root");
}

/* Namespaces are for the one user who may nest, while its processes live, and no command can become
 * that user or trace its processes. */
static void nesting_is_for_its_user_only(void **state)
{
	static const char fence[] = "cat /proc/sys/user/max_user_namespaces";
	struct fixture *x = need(state);
	auto_buf struct buf out = {0};
	struct sandbox_user user;
	char trace[256];

	expect(x, "unshare -U true 2>/dev/null || echo refused", "refused\n");
	expect(x, fence, "0\n");
	if (!sandbox_nesting_user(x->s, &user))
		return;
	assert_int_equal(run_as(x, &user, "id -u; grep CapEff /proc/self/status", &out), 0);
	assert_string_equal(buf_text(&out), "65533\nCapEff:\t000000000000000b\n");
	assert_int_not_equal(run_as(x, &user, "unshare -U mount -t tmpfs none /tmp", &out), 0);
	assert_non_null(strstr(buf_text(&out), "mount"));
	assert_int_equal(run_as(x, &user, "unshare -U true && echo made", &out), 0);
	assert_string_equal(buf_text(&out), "made\n");

	auto_close int null_fd = open("/dev/null", O_WRONLY | O_CLOEXEC);
	uint32_t id = spawn(x, &user, "exec sleep 1000", null_fd);
	pid_t pid = wait_for(x, id, SANDBOX_STARTED).pid;
	snprintf(trace, sizeof(trace),
		"{ setpriv --reuid 65533 true || setpriv --euid 65533 true || cat /proc/%d/environ"
		" || readlink /proc/%d/fd/1; } 2>/dev/null || echo refused",
		pid, pid);
	expect(x, trace, "refused\n");
	expect(x, fence, "256\n");
	assert_int_equal(sandbox_kill(x->s, id, SIGKILL, SANDBOX_TREE), 0);
	wait_for(x, id, SANDBOX_EMPTY);
	expect(x, fence, "0\n");
}

static void a_command_that_cannot_start_says_why(void **state)
{
	struct fixture *x = need(state);
	const char *const argv[] = {"no-such-command", NULL};
	const char *const env[] = {NULL};
	struct sandbox_spawn sp = {
		.id = ++x->last_id,
		.argv = argv,
		.env = env,
		.cwd = "/",
		.user = &x->root,
		.in_fd = -1,
		.out_fd = 2,
		.err_fd = 2,
		.extra_fd = -1,
	};
	struct fail f = {0};

	assert_int_equal(sandbox_spawn(x->s, &sp, &f), 0);
	struct sandbox_event e = wait_for(x, sp.id, SANDBOX_FAILED);
	assert_int_equal(e.err, -ENOENT);
	assert_non_null(strstr(e.text, "no-such-command"));
	sp.cwd = "/nowhere";
	assert_int_equal(sandbox_spawn(x->s, &sp, &f), 0);
	e = wait_for(x, sp.id, SANDBOX_FAILED);
	assert_int_equal(e.err, -ENOENT);
	assert_non_null(strstr(e.text, "/nowhere"));
}

/* Until there are some processes, however slow the machine is. */
static void grow(struct fixture *x, uint64_t processes)
{
	struct sandbox_usage usage = {0};

	for (int i = 0; i < 2000 && usage.pids < processes; i++) {
		assert_int_equal(sandbox_usage(x->s, &usage), 0);
		poll(NULL, 0, 1);
	}
}

static void kill_tree(struct fixture *x, const char *cmd)
{
	auto_close int null_fd = open("/dev/null", O_RDWR | O_CLOEXEC);
	uint32_t id = spawn(x, &x->root, cmd, null_fd);

	wait_for(x, id, SANDBOX_STARTED);
	grow(x, 6);
	assert_int_equal(sandbox_kill(x->s, id, SIGKILL, SANDBOX_TREE), 0);
	wait_for(x, id, SANDBOX_EMPTY);
	assert_int_equal(sandbox_forget(x->s, id), 0);
}

static void a_killed_tree_leaves_nothing(void **state)
{
	static const char *const cmds[] = {
		"(setsid sh -c 'sleep 999 & sleep 998' &); sleep 997",
		"while :; do (setsid sleep .05 &); done",
		"f() { f | f & }; f; sleep 99",
		"while :; do kill -CONT -1; done & while :; do setsid sleep 9 & done",
	};
	struct fixture *x = need(state);

	for (size_t i = 0; i < ARRAY_LEN(cmds); i++)
		kill_tree(x, cmds[i]);
	expect(x, "ps -e -o comm= | grep -c -E 'sleep|^f$'; true", "0\n");
}

static void other_trees_survive_a_kill(void **state)
{
	struct fixture *x = need(state);
	auto_close int null_fd = open("/dev/null", O_RDWR | O_CLOEXEC);
	uint32_t other = spawn(x, &x->root, "sleep 500 & exec sleep 501", null_fd);

	wait_for(x, other, SANDBOX_STARTED);
	kill_tree(x, "while :; do setsid sleep 9 & done");
	assert_int_equal(sandbox_kill(x->s, other, SIGTERM, SANDBOX_PROCESS), 0);
	struct sandbox_event e = wait_for(x, other, SANDBOX_ENDED);
	assert_true(WIFSIGNALED(e.wait_status));
	assert_int_equal(WTERMSIG(e.wait_status), SIGTERM);
	assert_int_equal(sandbox_kill(x->s, other, SIGTERM, SANDBOX_TREE), 0);
	wait_for(x, other, SANDBOX_EMPTY);
}

static void count_changes(void *arg, bool quiet)
{
	int *changes = arg;

	changes[quiet]++;
}

static void it_is_quiet_when_nothing_lives(void **state)
{
	struct fixture *x = need(state);
	auto_close int null_fd = open("/dev/null", O_RDWR | O_CLOEXEC);
	int changes[2] = {0};
	uint32_t a, b;

	sandbox_watch_quiet(x->s, count_changes, changes);
	assert_true(sandbox_is_quiet(x->s));
	a = spawn(x, &x->root, "exec sleep 500", null_fd);
	assert_false(sandbox_is_quiet(x->s));
	b = spawn(x, &x->root, "true", null_fd);
	wait_for(x, b, SANDBOX_EMPTY);
	assert_false(sandbox_is_quiet(x->s));
	assert_int_equal(changes[false], 1);
	assert_int_equal(sandbox_kill(x->s, a, SIGKILL, SANDBOX_TREE), 0);
	wait_for(x, a, SANDBOX_ENDED);
	assert_true(sandbox_is_quiet(x->s));
	assert_int_equal(changes[true], 1);

	/* One that its tree has forgotten is not forgotten. */
	a = spawn(x, &x->root, "setsid sleep 500 & exit", null_fd);
	wait_for(x, a, SANDBOX_ENDED);
	assert_int_equal(sandbox_forget(x->s, a), 0);
	b = spawn(x, &x->root, "true", null_fd);
	wait_for(x, b, SANDBOX_ENDED);
	assert_false(sandbox_is_quiet(x->s));
	sandbox_watch_quiet(x->s, NULL, NULL);
}

static void init_cannot_be_harmed(void **state)
{
	struct fixture *x = need(state);

	expect(x, "kill -9 1; kill -STOP 1; kill -TERM 1; echo sent", "sent\n");
	expect(x, "prlimit --pid 1 --nofile=3:3 2>/dev/null || echo no", "no\n");
	expect(x, "renice 19 1 >/dev/null 2>&1 || echo no", "no\n");
	expect(x, "head -c1 /proc/1/mem 2>/dev/null || echo no", "no\n");
	expect(x, "echo still here", "still here\n");
}

/* Whatever a sandbox left in place of its mount points, the next start follows none of it. */
static void mount_points_are_never_followed(void **state)
{
	struct fixture *x = need(state);
	char victim[80];

	snprintf(victim, sizeof(victim), "%s/victim", x->path);
	assert_int_equal(mkdir(victim, 0777), 0);
	sandbox_free(x->s);
	x->s = NULL;
	auto_close int root = openat(x->state_fd, "root", O_PATH | O_DIRECTORY | O_CLOEXEC);
	assert_int_equal(renameat(root, "dev", root, "dev.old"), 0);
	assert_int_equal(symlinkat(victim, root, "dev"), 0);
	assert_int_equal(renameat(root, "usr", root, "usr.old"), 0);
	assert_int_equal(symlinkat("../victim", root, "usr"), 0);
	assert_int_equal(renameat(root, "var/lib", root, "var/lib.old"), 0);
	assert_int_equal(symlinkat(victim, root, "var/lib"), 0);
	assert_int_equal(start(x), 0);
	expect(x, "test -c /dev/null && test ! -L /dev && test ! -L /usr && echo sound", "sound\n");
	assert_int_equal(rmdir(victim), 0);
}

static void the_tree_survives_a_restart(void **state)
{
	struct fixture *x = need(state);

	expect(x, "echo kept > /work/kept; echo kept > /usr/kept", "");
	sandbox_free(x->s);
	x->s = NULL;
	assert_int_equal(start(x), 0);
	expect(x, "cat /work/kept /usr/kept; ps -e -o comm= | grep -c sleep; true",
		"kept\nkept\n0\n");
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(commands_run_as_the_sandboxs_root),
		TEST(nothing_of_the_daemon_is_inherited),
		TEST(the_hosts_secrets_are_not_there),
		TEST(the_devices_work),
		TEST(users_come_from_the_tree),
		TEST(nesting_is_for_its_user_only),
		TEST(a_command_that_cannot_start_says_why),
		TEST(a_killed_tree_leaves_nothing),
		TEST(other_trees_survive_a_kill),
		TEST(it_is_quiet_when_nothing_lives),
		TEST(init_cannot_be_harmed),
		TEST(mount_points_are_never_followed),
		TEST(the_tree_survives_a_restart),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
