// mount -t fuse.sandpit and /etc/fstab: mount(8) calls this with NAME DIR and options of its own.
#include <errno.h>
#include <getopt.h>
#include <string.h>

#include "cmd/cmd.h"
#include "common/config.h"
#include "common/scope.h"

/* The sandbox's name from an fstab line's first field; NULL for what names nothing. mount(8) makes
 * a path of it where a file of that name happens to be in the current directory. */
static const char *name_of(const char *source)
{
	const char *slash = strrchr(source, '/');
	const char *name = slash ? slash + 1 : source;

	return strcmp(name, "none") == 0 || strcmp(name, "sandpit") == 0 ? NULL : name;
}

static int read_settings(struct config *c, const char *source, const char *options, struct fail *f)
{
	auto_free char *file = NULL;
	const char *name = name_of(source);
	int r = config_init(c);

	if (r == 0)
		r = config_find_file(&file);
	if (r == 0 && file)
		r = config_read_file(c, file, f);
	if (r == 0 && name)
		r = config_set(c, "name", name, "the first field", f);
	if (r == 0 && options)
		r = config_set_options(c, options, f);
	return r;
}

int cmd_mount_helper(int argc, char **argv)
{
	auto_call(config_clear) struct config c = {0};
	struct fail f = {0};
	const char *options = NULL;
	bool is_fake = false;
	int option, r;

	opterr = 0;
	while ((option = getopt(argc, argv, "sfnvN:o:t:")) != -1) {
		if (option == 'o')
			options = optarg;
		else if (option == 'f')
			is_fake = true;
		else if (option == '?')
			return cmd_usage(
				&cmd_mount, "mount(8) gave an unknown option '-%c'", optopt);
	}
	if (argc - optind != 2)
		return cmd_usage(&cmd_mount, "mount(8) gives a name and a directory");
	r = read_settings(&c, argv[optind], options, &f);
	if (r < 0)
		return cmd_failed("mount", r, &f);
	return is_fake ? CMD_OK : cmd_mount_config(&c, argv[optind + 1], false);
}
