// The README in the mount: how to use it, in one screen, from the tables.
#pragma once

#include "common/buf.h"

struct mount;

int readme_write(const struct mount *m, struct buf *ret);
