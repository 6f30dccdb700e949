// Whose the other end of a connection over this machine's loopback is: asked of the kernel.
#include "runner/peer.h"

#include <errno.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/scope.h"

struct request {
	struct nlmsghdr head;
	struct inet_diag_req_v2 diag;
};

union answer {
	struct nlmsghdr head;
	char bytes[1024];
};

/* The socket that is bound to from and, but for a listener, connected to to. */
static int ask(int diag_fd, const struct sockaddr_in *from, const struct sockaddr_in *to,
	struct inet_diag_msg *ret)
{
	struct request r = {
		.head = {.nlmsg_len = sizeof(r),
			.nlmsg_type = SOCK_DIAG_BY_FAMILY,
			.nlmsg_flags = NLM_F_REQUEST},
		.diag = {.sdiag_family = AF_INET,
			.sdiag_protocol = IPPROTO_TCP,
			.idiag_states = ~0U,
			.id = {.idiag_sport = from->sin_port,
				.idiag_dport = to->sin_port,
				.idiag_src = {from->sin_addr.s_addr},
				.idiag_dst = {to->sin_addr.s_addr},
				.idiag_cookie = {INET_DIAG_NOCOOKIE, INET_DIAG_NOCOOKIE}}},
	};
	union answer a;
	ssize_t n;

	if (send(diag_fd, &r, sizeof(r), 0) < 0)
		return -errno;
	/* The kernel has answered by now. */
	n = recv(diag_fd, &a, sizeof(a), MSG_DONTWAIT);
	if (n < (ssize_t)sizeof(a.head))
		return n < 0 ? -errno : -EPROTO;
	if (a.head.nlmsg_type == NLMSG_ERROR && n >= (ssize_t)NLMSG_LENGTH(sizeof(int)))
		return ((struct nlmsgerr *)NLMSG_DATA(&a.head))->error;
	if (a.head.nlmsg_type != SOCK_DIAG_BY_FAMILY || n < (ssize_t)NLMSG_LENGTH(sizeof(*ret)))
		return -EPROTO;
	memcpy(ret, NLMSG_DATA(&a.head), sizeof(*ret));
	return 0;
}

/* Whether the kernel tells at all: of a listener of one's own. */
static int try_it(int diag_fd)
{
	struct sockaddr_in address = {
		.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	const struct sockaddr_in nobody = {0};
	socklen_t len = sizeof(address);
	struct inet_diag_msg message;
	auto_close int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd < 0 || bind(fd, (struct sockaddr *)&address, len) < 0 || listen(fd, 1) < 0 ||
		getsockname(fd, (struct sockaddr *)&address, &len) < 0)
		return -errno;
	return ask(diag_fd, &address, &nobody, &message);
}

int peer_open(void)
{
	auto_close int fd = socket(AF_NETLINK, SOCK_DGRAM | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);
	int r = fd < 0 ? -errno : try_it(fd);

	return r < 0 ? r : take_fd(&fd);
}

int peer_uid(int diag_fd, int connection_fd, uid_t *ret)
{
	struct sockaddr_in here = {0}, there = {0};
	socklen_t here_len = sizeof(here), there_len = sizeof(there);
	struct inet_diag_msg message;
	int r;

	if (getsockname(connection_fd, (struct sockaddr *)&here, &here_len) < 0 ||
		getpeername(connection_fd, (struct sockaddr *)&there, &there_len) < 0)
		return -errno;
	r = ask(diag_fd, &there, &here, &message);
	if (r < 0)
		return r;
	/* What was closed already is said to be root's. */
	if (!message.idiag_inode)
		return -ENOENT;
	*ret = message.idiag_uid;
	return 0;
}
