// Removes a directory with all that is in it, through descriptors.
#pragma once

/* Removes name in dir_fd; nothing is followed, and a mount below is left where it is (-EBUSY). What
 * can be removed is, also after an error. Not there: 0. */
int tree_remove(int dir_fd, const char *name);
