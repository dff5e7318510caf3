/* SPDX-License-Identifier: GPL-2.0 */
/* For the tests that pass a descriptor to another process. */
#ifndef _TWHEEL_PASS_H
#define _TWHEEL_PASS_H

#include <sys/socket.h>
#include "selftest.h"

/* Buffer of the message that passes a descriptor. */
union fd_message {
	struct cmsghdr header;
	char space[CMSG_SPACE(sizeof(int))];
};

static inline int send_fd(int socket, int fd)
{
	union fd_message control = { 0 };
	struct iovec byte = { .iov_base = "", .iov_len = 1 };
	struct msghdr msg = {
		.msg_iov = &byte,
		.msg_iovlen = 1,
		.msg_control = &control,
		.msg_controllen = sizeof(control),
	};
	struct cmsghdr *cmsg = CMSG_FIRSTHDR(&msg);

	cmsg->cmsg_level = SOL_SOCKET;
	cmsg->cmsg_type = SCM_RIGHTS;
	cmsg->cmsg_len = CMSG_LEN(sizeof(fd));
	memcpy(CMSG_DATA(cmsg), &fd, sizeof(fd));
	return sendmsg(socket, &msg, 0) == 1 ? 0 : -1;
}

static inline int receive_fd(int socket)
{
	union fd_message control;
	char byte;
	struct iovec iov = { .iov_base = &byte, .iov_len = 1 };
	struct msghdr msg = {
		.msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = &control,
		.msg_controllen = sizeof(control),
	};
	int fd = -1;

	if (recvmsg(socket, &msg, 0) == 1 && CMSG_FIRSTHDR(&msg))
		memcpy(&fd, CMSG_DATA(CMSG_FIRSTHDR(&msg)), sizeof(fd));
	return fd;
}

/* A test kernel may not support sockets. */
static inline bool make_pair(int pair[2])
{
	return !socketpair(AF_UNIX, SOCK_STREAM, 0, pair);
}

#endif /* _TWHEEL_PASS_H */
