// Runs inside the sandbox: makes each forbidden system call and prints `NAME ERROR`, or `NAME ok`
// when it succeeded. Static, so that it runs in any tree. `escape inside` makes all of them,
// `escape inside NAME` one; without the word it does nothing, for outside they would do harm.
#include "escape.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "common/scope.h"

static const struct escape *const kinds[] = {
	escapes_tree, escapes_kernel, escapes_processes, escapes_machine};

static void attempt(const struct escape *escape)
{
	long result = escape->call();

	printf("%s %s\n", escape->name, result < 0 ? strerrorname_np(errno) : "ok");
}

int main(int argc, char **argv)
{
	if (argc < 2 || strcmp(argv[1], "inside") != 0)
		return 2;
	for (size_t i = 0; i < ARRAY_LEN(kinds); i++)
		for (const struct escape *escape = kinds[i]; escape->name; escape++)
			if (argc == 2 || !strcmp(argv[2], escape->name))
				attempt(escape);
	return 0;
}
