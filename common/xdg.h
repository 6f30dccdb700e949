// Where a user's own files live: the XDG base directories.
#pragma once

/* $variable/tail when the variable is an absolute path (the specification ignores others), else
 * HOME/below_home/tail; HOME comes from the environment, else from the user database. *ret is
 * owned by the caller. 0, -ENOMEM, or -ENOENT when the user has no home.
 * Source: XDG Base Directory Specification 0.8. */
int xdg_path(const char *variable, const char *below_home, const char *tail, char **ret);
