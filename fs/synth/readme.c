// The README in the mount.
#include "fs/synth/readme.h"

#include "fs/mount.h"
#include "fs/synth/synth.h"

static void add_files(struct buf *ret, const struct synth_dir *dir)
{
	for (size_t i = 0; i < dir->files_len; i++)
		buf_printf(ret, "  %-12s %s\n", dir->files[i].name, dir->files[i].help);
}

int readme_write(const struct mount *m, struct buf *ret)
{
	(void)m;
	buf_add_str(ret,
		"This directory is a sandbox. Reading and writing its files is all it takes.\n\n"
		"  echo 'uname -a; id' > ctl/run         run a command; returns when it has ended\n"
		"  cat out/last/stdout                   what it wrote; exit_code: how it ended\n"
		"  cp script.py files/workspace/         files/ is the sandbox's /\n"
		"  echo 'sleep 60' > ctl/start           run in the background\n"
		"  cat out/last/live                     follow it to its end\n"
		"  echo > out/last/kill                  end it, and all that it started\n"
		"  echo 'x = 6 * 7; x' > code/python/in  x is still there at the next request\n"
		"  cat code/python/out/last/result.json  what it gave; results/: as files\n"
		"  echo 'https://example.com' > browser/goto; cat browser/text\n"
		"  cat error                             why the last request failed\n\n");
	add_files(ret, &synth_root);
	buf_add_str(ret, "\nctl/\n");
	add_files(ret, &synth_ctl);
	buf_add_str(ret, "\nout/ID/, and out/last/\n");
	add_files(ret, &synth_run);
	return ret->error;
}
