// SQLite's result codes as errno.
#include "common/sqlite_errno.h"

#include <errno.h>
#include <sqlite3.h>

int sqlite_errno(int rc)
{
	switch (rc & 0xff) {
	case SQLITE_OK:
	case SQLITE_DONE:
	case SQLITE_ROW:
		return 0;
	case SQLITE_NOMEM:
		return -ENOMEM;
	case SQLITE_FULL:
		return -ENOSPC;
	case SQLITE_READONLY:
	case SQLITE_PERM:
		return -EROFS;
	case SQLITE_BUSY:
		return -EAGAIN;
	case SQLITE_CORRUPT:
	case SQLITE_NOTADB:
	case SQLITE_CONSTRAINT:
		return -EBADMSG;
	default:
		return -EIO;
	}
}
