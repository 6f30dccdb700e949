// The program: finds the verb.
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cmd/cmd.h"
#include "common/scope.h"

static const struct cmd *const verbs[] = {&cmd_mount, &cmd_umount, &cmd_run, &cmd_persist,
	&cmd_restore, &cmd_store, &cmd_list, &cmd_check};

static int print_help(void)
{
	printf("usage: sandpit VERB [ARGUMENT]...\n"
	       "A sandbox that you mount: write a command to DIR/ctl/run, and read what it\n"
	       "printed in DIR/out/last/stdout.\n"
	       "\n");
	for (size_t i = 0; i < ARRAY_LEN(verbs); i++)
		printf("  %-8s %s\n", verbs[i]->name, verbs[i]->summary);
	printf("\nsandpit VERB --help tells more; sandpit --version prints the version.\n"
	       "Manual pages: sandpit(1), sandpit.ini(5), sandpit(7).\n");
	return cmd_printed("");
}

static int print_version(void)
{
	printf("sandpit %s\n", SANDPIT_VERSION);
	return cmd_printed("");
}

/* mount(8) looks for mount.TYPE, so the type's helper is this program under that name. */
static bool is_mount_helper(const char *path)
{
	const char *slash = strrchr(path, '/');
	const char *name = slash ? slash + 1 : path;

	return strcmp(name, "mount.fuse.sandpit") == 0 || strcmp(name, "mount.sandpit") == 0;
}

/* A standard descriptor that is closed would be given to the next file that is opened, which then
 * gets messages meant for people. Opened the wrong way round it fails as a closed one does. */
static void keep_standard_places(void)
{
	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++) {
		if (fcntl(fd, F_GETFD) < 0)
			open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY);
	}
}

int main(int argc, char **argv)
{
	const char *word = argc > 1 ? argv[1] : NULL;

	keep_standard_places();
	/* What is made here has its modes from the program; a stricter mask would lock it out. */
	umask(022);
	/* A file that grows beyond the limit is an error like others, not the daemon's end. */
	signal(SIGXFSZ, SIG_IGN);
	if (argc > 0 && is_mount_helper(argv[0]))
		return cmd_mount_helper(argc, argv);
	if (!word) {
		fprintf(stderr, "sandpit: which verb? (see sandpit --help)\n");
		return CMD_USAGE;
	}
	if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0 || strcmp(word, "help") == 0)
		return print_help();
	if (strcmp(word, "--version") == 0 || strcmp(word, "-V") == 0)
		return print_version();
	for (size_t i = 0; i < ARRAY_LEN(verbs); i++) {
		if (strcmp(verbs[i]->name, word) == 0)
			return verbs[i]->run(verbs[i], argc - 1, argv + 1);
	}
	fprintf(stderr, "sandpit: unknown %s '%s' (see sandpit --help)\n",
		word[0] == '-' ? "option" : "verb", word);
	return CMD_USAGE;
}
