// Whose the other end of a connection over this machine's loopback is.
#pragma once

#include <stdbool.h>
#include <sys/types.h>

/* A descriptor for peer_uid(), owned by the caller; ids are told as the present user namespace sees
 * them. -errno: this kernel does not tell (sock_diag(7), CONFIG_INET_DIAG). */
int peer_open(void);

/* The user that has the other end of an IPv4 connection open. 0; -ENOENT: nobody has it any more. By
 * one thread at a time. */
int peer_uid(int diag_fd, int connection_fd, uid_t *ret);
