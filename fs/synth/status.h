// status.json and stats.json.
#pragma once

#include "common/buf.h"

struct mount;

int status_write(struct mount *m, struct buf *ret);
int status_write_usage(struct mount *m, struct buf *ret);
