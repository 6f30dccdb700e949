// Shared libraries that are loaded when they are first needed.
#include "common/library.h"

#include <dlfcn.h>
#include <errno.h>

int library_load(const char *soname, const char *package, const char *const *names,
	void **functions, size_t len, struct fail *f)
{
	void *handle = dlopen(soname, RTLD_NOW | RTLD_LOCAL);

	if (!handle)
		return fail_set(f, -ELIBACC, "%s cannot be loaded: install the package %s (%s)",
			soname, package, dlerror());
	for (size_t i = 0; i < len; i++) {
		functions[i] = dlsym(handle, names[i]);
		if (!functions[i])
			return fail_set(f, -ELIBACC, "%s lacks %s: install a newer package %s",
				soname, names[i], package);
	}
	return 0;
}
