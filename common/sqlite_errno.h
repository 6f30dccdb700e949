// SQLite's result codes as errno, for both of its homes: runs and checkpoints.
#pragma once

/* 0 for success, a row and the end of rows; else a negative errno (sqlite3.h, "Result Codes"):
 * -EAGAIN busy, -EBADMSG damaged (or a constraint that only damage can break), -ENOSPC, -EROFS,
 * -ENOMEM, else -EIO. */
int sqlite_errno(int rc);
