// The names in a directory.
#pragma once

#include <dirent.h>

/* The directory that path is below dir_fd; "." is that itself, opened anew, as all copies of a descriptor share
 * a position. NULL with errno. */
DIR *names_open(int dir_fd, const char *path);

/* The same of a descriptor, which is taken, also on failure. Negative: NULL, errno stays. */
DIR *names_take(int fd);

/* The next entry but "." and ".."; NULL at the end. */
struct dirent *names_next(DIR *dir);

void names_close(DIR **dir);

/* closedir() at scope exit. */
#define auto_dir __attribute__((cleanup(names_close)))
