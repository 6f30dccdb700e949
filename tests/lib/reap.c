// Runs a command, ends what hangs in it, and fails when it left a process behind.
//
// reap [-t SECONDS] [-l SECONDS] [-b FILE] CMD...
// -b FILE is touched at the start of every test; a test that takes longer than -t has its sandpit
// processes killed, so that whoever waits for them fails and the next test can run. -l limits all.
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { LEFT_BEHIND = 3, GRACE_MSEC = 2000, MAX_PIDS = 65536 };

struct process {
	pid_t pid, parent;
	char comm[32];
	bool ours;
};

static struct process table[MAX_PIDS];
static size_t table_len;

static bool read_process(const char *pid, struct process *ret)
{
	char path[64], text[512], *name, *end;
	int fd, len;

	snprintf(path, sizeof(path), "/proc/%s/stat", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	len = (int)read(fd, text, sizeof(text) - 1);
	close(fd);
	if (len <= 0)
		return false;
	text[len] = 0;
	name = strchr(text, '(');
	end = strrchr(text, ')');
	if (!name || !end || end[1] != ' ' || end[2] == 'Z')
		return false;
	*end = 0;
	ret->pid = atoi(pid);
	ret->parent = atoi(end + 4);
	ret->ours = false;
	snprintf(ret->comm, sizeof(ret->comm), "%.*s", (int)sizeof(ret->comm) - 1, name + 1);
	return true;
}

/* All living processes; those that descend from us are marked. */
static void read_table(void)
{
	DIR *dir = opendir("/proc");
	struct dirent *entry;
	bool changed = true;

	table_len = 0;
	while (dir && (entry = readdir(dir)) && table_len < MAX_PIDS)
		if (isdigit((unsigned char)entry->d_name[0]))
			table_len += read_process(entry->d_name, &table[table_len]);
	if (dir)
		closedir(dir);
	while (changed) {
		changed = false;
		for (size_t i = 0; i < table_len; i++)
			for (size_t j = 0; j < table_len && !table[i].ours; j++)
				if (table[i].parent == getpid() ||
					(table[j].ours && table[j].pid == table[i].parent))
					changed = table[i].ours = true;
	}
}

static void print_process(const char *what, const struct process *p)
{
	char path[64], text[200] = "";
	int fd, len = 0;

	snprintf(path, sizeof(path), "/proc/%d/cmdline", p->pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd >= 0) {
		len = (int)read(fd, text, sizeof(text) - 1);
		close(fd);
	}
	for (int i = 0; i < len; i++)
		if ((unsigned char)text[i] < ' ')
			text[i] = ' ';
	printf("# %s: %d (%s) %s\n", what, p->pid, p->comm, text);
	fflush(stdout);
}

/* Kills descendants, all or only those whose name starts with prefix. How many there were. */
static unsigned kill_ours(const char *what, const char *prefix)
{
	unsigned count = 0;

	read_table();
	for (size_t i = 0; i < table_len; i++) {
		if (!table[i].ours || strncmp(table[i].comm, prefix, strlen(prefix)) != 0)
			continue;
		print_process(what, &table[i]);
		kill(table[i].pid, SIGKILL);
		count++;
	}
	return count;
}

static double age_of(const char *beat)
{
	struct timespec now;
	struct stat st;

	clock_gettime(CLOCK_REALTIME, &now);
	if (!beat || stat(beat, &st) < 0)
		return 0;
	return (double)(now.tv_sec - st.st_mtim.tv_sec) +
	       (double)(now.tv_nsec - st.st_mtim.tv_nsec) / 1e9;
}

/* Reaps what has ended. False when no child is left. */
static bool reap_children(pid_t main_pid, int *main_status, bool *main_ended)
{
	int status;
	pid_t pid;

	while ((pid = waitpid(-1, &status, WNOHANG)) > 0)
		if (pid == main_pid) {
			*main_status = status;
			*main_ended = true;
		}
	return pid == 0;
}

static int wait_main(pid_t main_pid, double test_sec, double limit_sec, const char *beat,
	const sigset_t *signals)
{
	const struct timespec tick = {.tv_nsec = 200 * 1000 * 1000};
	double waited = 0, killed_at = 0;
	bool ended = false;
	int status = 0, sig;

	while (!ended) {
		sig = sigtimedwait(signals, NULL, &tick);
		reap_children(main_pid, &status, &ended);
		if (sig == SIGINT || sig == SIGTERM) {
			kill_ours("interrupted", "");
			return 128 + sig;
		}
		waited += sig < 0 ? 0.2 : 0;
		if (waited > limit_sec) {
			kill_ours("too long in all", "");
			return 124;
		}
		if (test_sec > 0 && age_of(beat) > test_sec && waited > killed_at + 5) {
			kill_ours("test takes too long, killed", "sandpit");
			killed_at = waited;
		}
		if (test_sec > 0 && age_of(beat) > 2 * test_sec) {
			kill_ours("test still hangs, killed", "");
			return 124;
		}
	}
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static bool wait_rest(void)
{
	const struct timespec tick = {.tv_nsec = 10 * 1000 * 1000};
	bool ended;
	int status;

	for (int msec = 0; msec < GRACE_MSEC; msec += 10) {
		if (!reap_children(-1, &status, &ended))
			return true;
		nanosleep(&tick, NULL);
	}
	return false;
}

int main(int argc, char **argv)
{
	double test_sec = 0, limit_sec = 1e9;
	const char *beat = NULL;
	sigset_t signals;
	pid_t pid;
	int opt, ret;

	while ((opt = getopt(argc, argv, "+t:l:b:")) != -1) {
		if (opt == 't')
			test_sec = atof(optarg);
		else if (opt == 'l')
			limit_sec = atof(optarg);
		else if (opt == 'b')
			beat = optarg;
		else
			return 2;
	}
	if (optind >= argc || prctl(PR_SET_CHILD_SUBREAPER, 1) < 0)
		return 2;
	sigemptyset(&signals);
	sigaddset(&signals, SIGCHLD);
	sigaddset(&signals, SIGINT);
	sigaddset(&signals, SIGTERM);
	sigprocmask(SIG_BLOCK, &signals, NULL);
	pid = fork();
	if (pid == 0) {
		sigprocmask(SIG_UNBLOCK, &signals, NULL);
		execvp(argv[optind], argv + optind);
		perror(argv[optind]);
		_exit(127);
	}
	ret = wait_main(pid, test_sec, limit_sec, beat, &signals);
	if (!wait_rest()) {
		while (kill_ours("left behind", "") && !wait_rest())
			;
		return LEFT_BEHIND;
	}
	return ret;
}
