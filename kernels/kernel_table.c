// The languages: which program is the kernel of each, and how it is treated.
#include "kernels/kernel_table.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/buf.h"
#include "common/scope.h"
#include "runner/sandbox.h"

#define ARGS(...) ((const char *const[]){__VA_ARGS__, NULL})
#define NEEDS(...) ((const struct kernel_need[]){__VA_ARGS__, {NULL, NULL}})

#define NODE "/usr/bin/node:/usr/local/bin/node:/usr/bin/nodejs"

/* A program that was copied without its drivers finds none. */
#define DRIVER(file)                                                                               \
	{                                                                                          \
		KERNEL_DRIVERS file, "sandpit itself, with its drivers (make install)"             \
	}

/* A new language is an entry here, or a [kernel NAME] section of the INI file. */
const struct kernel_language kernel_table[] = {
	{.name = "python",
		.argv = ARGS("/usr/bin/python3", "-B", KERNEL_DRIVERS "/python/driver.py"),
		.env = ARGS("MPLBACKEND=module://matplotlib_inline.backend_inline", "NO_COLOR=1"),
		.cold = ARGS("PYTHON", "LD_", "OMP_", "OPENBLAS_", "MKL_", "MPL"),
		.needs = NEEDS({"/usr/bin/python3", "python3"},
			{"/usr/lib/python3/dist-packages/IPython", "python3-ipython"},
			DRIVER("/python/driver.py")),
		.standard = true,
		.prepare = true,
		.ready = 5},
	{.name = "javascript",
		.argv = ARGS("node", KERNEL_DRIVERS "/javascript/driver.js", "javascript"),
		.env = ARGS("NO_COLOR=1"),
		.cold = ARGS("NODE_", "LD_", "UV_"),
		.needs = NEEDS({NODE, "nodejs"}, DRIVER("/javascript/driver.js"),
			{KERNEL_DRIVERS "/javascript/node_modules/acorn",
				"sandpit's own npm packages (make deps)"}),
		.standard = true,
		.ready = 1,
		.interrupt_frame = true},
	{.name = "typescript",
		.argv = ARGS("node", KERNEL_DRIVERS "/javascript/driver.js", "typescript"),
		.env = ARGS("NO_COLOR=1"),
		.cold = ARGS("NODE_", "LD_", "UV_"),
		.needs = NEEDS({NODE, "nodejs"}, DRIVER("/javascript/driver.js"),
			{KERNEL_DRIVERS "/javascript/node_modules/typescript",
				"sandpit's own npm packages (make deps)"}),
		.standard = true,
		.ready = 1,
		.interrupt_frame = true},
	{.name = "r",
		.argv = ARGS("R", "--no-echo", "--no-save", "--no-restore",
			"--file=" KERNEL_DRIVERS "/r/driver.R"),
		.env = ARGS("NO_COLOR=1", "R_CLI_NUM_COLORS=1", "R_ENABLE_JIT=0"),
		.cold = ARGS("R_", "LD_", "OMP_", "OPENBLAS_"),
		.needs = NEEDS({"/usr/bin/R:/usr/local/bin/R", "r-base-core"},
			{"/usr/lib/R/site-library/jsonlite:/usr/lib/R/library/jsonlite:"
			 "/usr/local/lib/R/site-library/jsonlite",
				"r-cran-jsonlite"},
			DRIVER("/r/driver.R")),
		.standard = true,
		.ready = 1},
	{.name = "bash",
		.argv = ARGS(KERNEL_DRIVERS "/bash/bash-driver"),
		.needs = NEEDS({"/bin/bash:/usr/bin/bash", "bash"}, DRIVER("/bash/bash-driver")),
		.standard = true},
};
const size_t kernel_table_len = ARRAY_LEN(kernel_table);

#define JUPYTER "jupyter:"
#define JUPYTER_DRIVER KERNEL_DRIVERS "/jupyter/jupyter-driver"

/* One that is not built in. */
struct own {
	struct kernel_language language;
	struct own *next;
	char *name; /* owned, like all here */
	char **argv, **env;
	struct kernel_need needs[2];
};

struct kernel_languages {
	struct own
		*own; /* owned list, of the configuration in the order of the file, then others */
};

static void free_words(char **words)
{
	for (char **word = words; word && *word; word++)
		free(*word);
	free(words);
}

static void free_own(struct own *own)
{
	free(own->name);
	free_words(own->argv);
	free_words(own->env);
	free(own);
}

void kernel_languages_free(struct kernel_languages *all)
{
	while (all && all->own) {
		struct own *next = all->own->next;

		free_own(all->own);
		all->own = next;
	}
	free(all);
}

/* Words between blanks. */
static int split(const char *text, char ***ret)
{
	size_t len = 0, room = strlen(text) / 2 + 2;
	char **words = calloc(room, sizeof(*words));

	while (words && *(text += strspn(text, " \t"))) {
		size_t size = strcspn(text, " \t");

		words[len] = strndup(text, size);
		if (!words[len++]) {
			free_words(words);
			return -ENOMEM;
		}
		text += size;
	}
	*ret = words;
	return words ? 0 : -ENOMEM;
}

static int add(struct kernel_languages *all, const char *name, const char *command, const char *env,
	struct own **ret)
{
	struct own *own = calloc(1, sizeof(*own)), **end = &all->own;
	int r = own ? 0 : -ENOMEM;

	if (r == 0)
		own->name = strdup(name);
	if (r == 0)
		r = own->name ? split(command, &own->argv) : -ENOMEM;
	if (r == 0)
		r = split(env ? env : "", &own->env);
	if (r < 0) {
		if (own)
			free_own(own);
		return r;
	}
	own->language = (struct kernel_language){.name = own->name,
		.argv = (const char *const *)own->argv,
		.env = (const char *const *)own->env};
	while (*end)
		end = &(*end)->next;
	*end = own;
	*ret = own;
	return 0;
}

int kernel_languages_new(const struct config *config, struct kernel_languages **ret)
{
	struct kernel_languages *all = calloc(1, sizeof(*all));
	int r = all ? 0 : -ENOMEM;

	for (const struct config_kernel *k = config->own_kernels; r == 0 && k; k = k->next) {
		struct own *own;

		r = add(all, k->name, k->command, k->env, &own);
		if (r == 0) {
			own->language.ready = k->ready;
			own->language.interrupt_frame = k->interrupt_frame;
		}
	}
	if (r < 0)
		kernel_languages_free(all);
	else
		*ret = all;
	return r;
}

const struct kernel_language *kernel_languages_at(const struct kernel_languages *all, size_t at)
{
	const struct own *own = all->own;

	if (at < kernel_table_len)
		return &kernel_table[at];
	for (at -= kernel_table_len; own && at; at--)
		own = own->next;
	return own ? &own->language : NULL;
}

/* The name of a kernelspec becomes a path: nothing but a name will do. */
static bool is_plain(const char *name)
{
	return *name && *name != '.' && *name != '-' && strlen(name) <= 64 &&
	       name[strspn(name,
		       "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._+-")] ==
		       '\0';
}

static int add_jupyter(struct kernel_languages *all, const char *name,
	const struct kernel_language **ret, struct fail *f)
{
	struct buf command auto_buf = {0};
	struct own *own;
	int r;

	if (!is_plain(name + strlen(JUPYTER)))
		return fail_set(f, -EINVAL, "jupyter: is followed by a kernelspec's name");
	r = buf_printf(&command, JUPYTER_DRIVER " %s", name + strlen(JUPYTER));
	if (r == 0)
		r = add(all, name, buf_text(&command), NULL, &own);
	if (r < 0)
		return r;
	own->needs[0] = (struct kernel_need){JUPYTER_DRIVER, "sandpit's Jupyter driver"};
	own->language.needs = own->needs;
	own->language.interrupt_frame = true;
	own->language.kernelspec = own->name + strlen(JUPYTER);
	*ret = &own->language;
	return 0;
}

int kernel_languages_find(struct kernel_languages *all, const char *name,
	const struct kernel_language **ret, struct fail *f)
{
	struct buf names auto_buf = {0};
	const struct kernel_language *language;

	for (size_t i = 0; (language = kernel_languages_at(all, i)); i++) {
		if (!strcmp(language->name, name)) {
			*ret = language;
			return 0;
		}
		if (strncmp(language->name, JUPYTER, strlen(JUPYTER)) != 0)
			buf_printf(&names, "%s, ", language->name);
	}
	if (!strncmp(name, JUPYTER, strlen(JUPYTER)))
		return add_jupyter(all, name, ret, f);
	return fail_set(f, -EINVAL, "no language \"%.60s\"; there are %sand jupyter:KERNELSPEC",
		name, buf_text(&names));
}

static bool is_inside(const struct sandbox *sandbox, const char *path)
{
	struct open_how how = {.flags = O_PATH | O_CLOEXEC, .resolve = RESOLVE_IN_ROOT};
	int fd auto_close =
		(int)syscall(SYS_openat2, sandbox_tree_fd(sandbox), path, &how, sizeof(how));

	return fd >= 0;
}

static bool any_inside(const struct sandbox *sandbox, const char *paths)
{
	char path[256];

	while (*paths) {
		size_t len = strcspn(paths, ":");

		snprintf(path, sizeof(path), "%.*s", (int)len, paths);
		if (is_inside(sandbox, path))
			return true;
		paths += len + (paths[len] == ':');
	}
	return false;
}

int kernel_language_check(
	const struct kernel_language *language, const struct sandbox *sandbox, struct fail *f)
{
	for (const struct kernel_need *need = language->needs; need && need->path; need++)
		if (!any_inside(sandbox, need->path))
			return fail_set(f, -ENOPKG, "%s is not installed: the package is %s",
				language->name, need->package);
	return 0;
}
