// The languages: which program is the kernel of each, and how it is treated. Data only.
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "common/config.h"
#include "common/fail.h"

struct sandbox;

/* Where the drivers lie inside the sandbox. */
#define KERNEL_DRIVERS "/opt/sandpit"

struct kernel_need {
	const char *path; /* inside, absolute; several that do are separated by : */
	const char *package; /* Debian's, that brings it */
};

struct kernel_language {
	const char *name;
	const char *const *argv; /* argv[0] without a slash is looked up in PATH */
	const char *const *env; /* K=V, over a run's environment; NULL: none */
	const char *const *cold; /* a context that sets a variable which begins so gets a process
				    of its own from the start; NULL: none */
	const struct kernel_need *needs; /* up to one without a path; NULL: none */
	bool standard; /* has a context of its name from the start */
	bool prepare; /* one of those held ready is sent KERNEL_PREPARE */
	unsigned ready; /* so many are held ready once the language is in use */
	bool interrupt_frame; /* SIGINT alone does not stop it */
	const char *kernelspec; /* that a Jupyter kernel is started from; NULL: it is none */
	bool nests; /* builds a sandbox of its own inside, where there is a user for it */
};

/* The built-in languages. */
extern const struct kernel_language kernel_table[];
extern const size_t kernel_table_len;

/* All languages of a mount: the built-in ones, those of the configuration, and jupyter:NAME, which
 * are made when they are first asked for. */
struct kernel_languages;

int kernel_languages_new(const struct config *config, struct kernel_languages **ret);
void kernel_languages_free(struct kernel_languages *all);

/* By name. Borrowed from the table. -EINVAL with the names there are. */
int kernel_languages_find(struct kernel_languages *all, const char *name,
	const struct kernel_language **ret, struct fail *f);

/* Every language that has a name of its own, in order; NULL after the last. */
const struct kernel_language *kernel_languages_at(const struct kernel_languages *all, size_t at);

/* Whether what it needs is in the sandbox: 0, or -ENOPKG with the package to install. */
int kernel_language_check(
	const struct kernel_language *language, const struct sandbox *sandbox, struct fail *f);
