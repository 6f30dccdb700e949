// Text of foreign bytes as it can be shown: on one line, on any terminal.
#pragma once

#include "common/buf.h"

/* Adds text with control characters, those beyond ASCII too, and bytes that are not UTF-8 as \xNN. 0 or
 * -ENOMEM. */
int visible_add(struct buf *to, const char *text);
