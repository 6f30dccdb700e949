// One thing in an archive.
#include "runner/checkpoint/archive_item.h"

#include <string.h>

bool archive_item_keeps_xattr(const char *name)
{
	return !strncmp(name, "user.", 5) && strncmp(name, "user.overlay.", 13) != 0;
}
