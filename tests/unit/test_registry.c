// Which sandboxes are mounted, and the directories of their states: who holds what, and who not.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/scope.h"
#include "cmd/registry.h"
#include "fs/state_dir.h"

static char folder[] = "/tmp/test_registry.XXXXXX";

static int make_folder(void **state)
{
	(void)state;
	return mkdtemp(folder) && setenv("XDG_STATE_HOME", folder, 1) == 0 ? 0 : -1;
}

static int remove_folder(void **state)
{
	char command[64];

	(void)state;
	snprintf(command, sizeof(command), "rm -r %s", folder);
	return system(command);
}

static const struct registry_entry example = {.name = (char *)"box one",
	.mount_point = (char *)"/mnt/a b\n",
	.state_path = (char *)"/state\\x",
	.since_usec = 1234567};

/* A process that is the daemon of a mount until it is killed. */
static pid_t start_daemon(const struct registry_entry *entry)
{
	int ready[2];
	char byte;
	pid_t pid;

	assert_int_equal(pipe2(ready, O_CLOEXEC), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		struct registry_claim claim;

		if (registry_add(entry, &claim, NULL) < 0)
			_exit(1);
		close(ready[1]);
		pause();
		_exit(0);
	}
	close(ready[1]);
	assert_int_equal(read(ready[0], &byte, 1), 0);
	close(ready[0]);
	return pid;
}

static void end_daemon(pid_t pid)
{
	kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
}

static void test_entry(void **state)
{
	struct registry_entry entry;
	struct registry_claim claim;
	struct fail f = {0};
	pid_t pid = start_daemon(&example);
	int pidfd;

	(void)state;
	assert_int_equal(registry_find(example.mount_point, &entry), 0);
	assert_string_equal(entry.name, example.name);
	assert_string_equal(entry.mount_point, example.mount_point);
	assert_string_equal(entry.state_path, example.state_path);
	assert_int_equal(entry.since_usec, 1234567);
	assert_int_equal(entry.pid, pid);
	registry_entry_clear(&entry);
	assert_int_equal(registry_add(&example, &claim, &f), -EBUSY);
	assert_non_null(strstr(f.text, "/mnt/a b\\x0a: a sandbox is mounted there"));
	pidfd = registry_pidfd(example.mount_point);
	assert_true(pidfd >= 0);
	close(pidfd);
	/* A living daemon's entry is not to be pruned. */
	registry_prune(example.mount_point);
	assert_int_equal(registry_find(example.mount_point, &entry), 0);
	registry_entry_clear(&entry);
	end_daemon(pid);
}

/* The entry stays behind; nothing is taken for its daemon. */
static void test_dead(void **state)
{
	struct registry_entry entry, *list;
	struct registry_claim claim;
	size_t len;

	(void)state;
	end_daemon(start_daemon(&example));
	assert_int_equal(registry_find(example.mount_point, &entry), 0);
	assert_int_equal(entry.pid, 0);
	registry_entry_clear(&entry);
	assert_int_equal(registry_pidfd(example.mount_point), -ESRCH);
	assert_int_equal(registry_list(&list, &len), 0);
	assert_int_equal(len, 1);
	registry_free(list, len);
	assert_int_equal(registry_add(&example, &claim, NULL), 0);
	registry_remove(&claim);
	assert_int_equal(registry_find(example.mount_point, &entry), -ENOENT);
	assert_int_equal(registry_pidfd(example.mount_point), -ESRCH);
	end_daemon(start_daemon(&example));
	registry_prune(example.mount_point);
	assert_int_equal(registry_list(&list, &len), 0);
	assert_int_equal(len, 0);
	registry_free(list, len);
}

/* Whatever the files hold, they are read as entries or passed over. */
static void test_damaged(void **state)
{
	static const char *const texts[] = {"", "x", "since", "since 1\nname a\n",
		"name a\nname b\n", "\n\n", "since 1\nname a\nmount /b\nstate /c"};
	struct registry_entry *list;
	char path[128];
	size_t len;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
		auto_close int fd = -1;

		snprintf(path, sizeof(path), "%s/sandpit/.run/damaged", folder);
		fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
		assert_int_equal(write(fd, texts[i], strlen(texts[i])), strlen(texts[i]));
		assert_int_equal(registry_list(&list, &len), 0);
		assert_int_equal(len, i + 1 == ARRAY_LEN(texts));
		registry_free(list, len);
	}
	unlink(path);
}

static const char *state_path(const char *name)
{
	static char path[128];

	snprintf(path, sizeof(path), "%s/states/%s", folder, name);
	return path;
}

static void write_file(const char *dir, const char *name, const char *text)
{
	char path[256];
	int fd;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	close(fd);
}

static void test_state_dir(void **state)
{
	struct state_dir one, two;
	struct fail f = {0};
	struct stat st;

	(void)state;
	assert_int_equal(state_dir_open(state_path("one"), "/mnt/a b", &one, &f), 0);
	assert_int_equal(fstat(one.fd, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0700);
	assert_int_equal(state_dir_open(state_path("one"), "/mnt/c", &two, &f), -EBUSY);
	assert_non_null(strstr(f.text, "in use by the sandbox at /mnt/a b (process "));
	state_dir_close(&one);
	assert_int_equal(state_dir_open(state_path("one"), "/mnt/c", &two, &f), 0);
	state_dir_close(&two);
}

static void test_state_version(void **state)
{
	struct state_dir dir;
	struct fail f = {0};

	(void)state;
	write_file(state_path("one"), "version", "2\n");
	assert_int_equal(state_dir_open(state_path("one"), "/m", &dir, &f), -EPROTONOSUPPORT);
	assert_non_null(strstr(f.text, "newer"));
	write_file(state_path("one"), "version", "1");
	assert_int_equal(state_dir_open(state_path("one"), "/m", &dir, &f), -EBADMSG);
	write_file(state_path("one"), "version", "");
	assert_int_equal(state_dir_open(state_path("one"), "/m", &dir, &f), -EBADMSG);
	write_file(state_path("one"), "version", "1\n");
	assert_int_equal(state_dir_open(state_path("one"), "/m", &dir, &f), 0);
	state_dir_close(&dir);
}

/* A directory that was named by mistake stays as it is. */
static void test_state_foreign(void **state)
{
	struct state_dir dir;
	struct fail f = {0};
	struct stat st;

	(void)state;
	assert_int_equal(mkdir(state_path("home"), 0700), 0);
	assert_int_equal(chmod(state_path("home"), 0755), 0);
	write_file(state_path("home"), "letter", "");
	assert_int_equal(state_dir_open(state_path("home"), "/m", &dir, &f), -ENOTEMPTY);
	assert_non_null(strstr(f.text, "'letter'"));
	assert_int_equal(stat(state_path("home"), &st), 0);
	assert_int_equal(st.st_mode & 07777, 0755);
	assert_true(access(state_path("home/lock"), F_OK) < 0);
	assert_int_equal(state_dir_open(state_path("home/letter"), "/m", &dir, &f), -ENOTDIR);
	assert_int_equal(state_dir_open("/proc/nothing/here", "/m", &dir, &f), -ENOENT);
	assert_non_null(strstr(f.text, "state directory /proc/nothing/here: "));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_entry),
		cmocka_unit_test(test_dead),
		cmocka_unit_test(test_damaged),
		cmocka_unit_test(test_state_dir),
		cmocka_unit_test(test_state_version),
		cmocka_unit_test(test_state_foreign),
	};

	return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
