// How the sandbox's user and group ids are shown in the mount: its 0 as the owner, and the other
// way round, so that no two ids look alike.
#include "fs/files/files_impl.h"

#include <errno.h>

#define ID_UNMAPPED 65534

static uid_t swap_owner(uid_t id, uid_t owner)
{
	if (id == 0)
		return owner;
	return id == owner ? 0 : id;
}

uid_t files_shown_id(uid_t id, uid_t base, uint32_t len, uid_t owner)
{
	if (id < base || id - base >= len)
		return ID_UNMAPPED;
	return swap_owner(id - base, owner);
}

int files_real_id(uid_t id, uid_t base, uint32_t len, uid_t owner, uid_t *ret)
{
	uid_t inside = swap_owner(id, owner);

	if (inside >= len)
		return -EINVAL;
	*ret = base + inside;
	return 0;
}
