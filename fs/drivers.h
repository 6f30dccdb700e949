// Where the drivers are that run inside the sandbox: beside the program, or installed with it.
#pragma once

/* Their directory, absolute; *ret is owned, NULL when there is none. 0 or -ENOMEM. */
int drivers_find(char **ret);
