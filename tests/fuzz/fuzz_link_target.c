// Link targets from hostile bytes: the answer never leads out. The first byte says how deep the link
// lies (0 to 3), the second whether the rest is its own text or that of a link on its way.
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/scope.h"
#include "fs/files/link_target.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static char folder[] = "/tmp/fuzz_link_target.XXXXXX";
static int tree = -1;

static void remove_tree(void)
{
	static const char *const dirs[] = {"a/b/c", "a/b", "a"};

	unlinkat(tree, "w", 0);
	unlinkat(tree, "dot", 0);
	for (size_t i = 0; i < ARRAY_LEN(dirs); i++)
		unlinkat(tree, dirs[i], AT_REMOVEDIR);
	close(tree);
	rmdir(folder);
}

static void make_tree(void)
{
	if (!mkdtemp(folder))
		abort();
	tree = open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC);
	mkdirat(tree, "a", 0755);
	mkdirat(tree, "a/b", 0755);
	mkdirat(tree, "a/b/c", 0755);
	if (symlinkat("a/b/../.", tree, "dot") < 0)
		abort();
	atexit(remove_tree);
}

/* At most depth times ".." at the beginning, none later, and not absolute. */
static void check(const char *answer, unsigned depth)
{
	unsigned ups = 0;
	bool down = false;

	if (*answer == '/' || !*answer)
		abort();
	for (size_t len; *answer; answer += len) {
		answer += strspn(answer, "/");
		len = strcspn(answer, "/");
		if (len == 2 && answer[0] == '.' && answer[1] == '.') {
			if (down || ++ups > depth)
				abort();
		} else if (len && !(len == 1 && answer[0] == '.')) {
			down = true;
		}
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char *const dirs[] = {".", "a", "a/b", "a/b/c"};
	static const char *const ways[] = {"/w/..", "../../../w/../x", "../w/./..//y/"};
	auto_buf struct buf answer = {0};
	auto_close int dir = -1;
	auto_free char *text = NULL;
	unsigned depth;

	if (tree < 0)
		make_tree();
	if (size < 3)
		return 0;
	depth = data[0] % ARRAY_LEN(dirs);
	dir = openat(tree, dirs[depth], O_PATH | O_CLOEXEC);
	text = strndup((const char *)data + 2, size - 2);
	if (!text || !*text)
		return 0;
	if (data[1] % 2) {
		unlinkat(tree, "w", 0);
		if (symlinkat(text, tree, "w") < 0)
			return 0;
	}
	if (link_target_answer(tree, dir, depth,
		    data[1] % 2 ? ways[data[1] / 2 % ARRAY_LEN(ways)] : text, &answer) == 0)
		check(buf_text(&answer), depth);
	return 0;
}
