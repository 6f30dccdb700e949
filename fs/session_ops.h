// What the kernel asks: the table of operations.
#pragma once

#include "fs/libfuse.h"

extern const struct fuse_lowlevel_ops session_ops;
