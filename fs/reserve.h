// Room on the disk that is held back while a sandbox is mounted, and until it is mounted again: where a disk has
// been filled to the last byte, that is how it can be mounted and files be removed.
#pragma once

/* Both of a state directory. Giving back is for who has its lock. */
void reserve_give_back(int state_fd);
/* As much as there is room for, unless it is held already. */
void reserve_hold(int state_fd);
