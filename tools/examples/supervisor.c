// SPDX-License-Identifier: GPL-2.0
/*
 * A restart without loss: a supervisor keeps the descriptor of the purgatory while its worker
 * is replaced, like the descriptor store of systemd does for a service.
 *
 * The first worker opens a purgatory, passes the descriptor to the supervisor, adds two
 * operations and crashes. The second worker gets the descriptor from the supervisor and
 * handles both operations: one has expired in the meantime, one is completed by a signal.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <twheel.h>
#include <unistd.h>

enum { SHORT = 1, LONG = 2 };	/* cookies */

static void die(const char *what)
{
	perror(what);
	exit(1);
}

union control {
	struct cmsghdr header;
	char space[CMSG_SPACE(sizeof(int))];
};

static void send_fd(int socket, int fd)
{
	union control control = { .space = "" };
	struct iovec byte = { .iov_base = "", .iov_len = 1 };
	struct msghdr message = {
		.msg_iov = &byte,
		.msg_iovlen = 1,
		.msg_control = &control,
		.msg_controllen = sizeof(control),
	};
	struct cmsghdr *header = CMSG_FIRSTHDR(&message);

	header->cmsg_level = SOL_SOCKET;
	header->cmsg_type = SCM_RIGHTS;
	header->cmsg_len = CMSG_LEN(sizeof(fd));
	memcpy(CMSG_DATA(header), &fd, sizeof(fd));
	if (sendmsg(socket, &message, 0) != 1)
		die("sendmsg");
}

static int receive_fd(int socket)
{
	union control control;
	char byte;
	struct iovec to = { .iov_base = &byte, .iov_len = 1 };
	struct msghdr message = {
		.msg_iov = &to,
		.msg_iovlen = 1,
		.msg_control = &control,
		.msg_controllen = sizeof(control),
	};
	struct cmsghdr *header;
	int fd;

	if (recvmsg(socket, &message, MSG_CMSG_CLOEXEC) != 1)
		die("recvmsg");
	header = CMSG_FIRSTHDR(&message);
	if (!header || header->cmsg_type != SCM_RIGHTS)
		die("no descriptor");
	memcpy(&fd, CMSG_DATA(header), sizeof(fd));
	return fd;
}

static void first_worker(int supervisor)
{
	struct twheel_watch_spec watch = { .key = twheel_key_number(17) };
	struct twheel_add_args op = {
		.deadline = 1000000,
		.condition = TWHEEL_COND_ANY,
		.keys = (uintptr_t)&watch,
		.nr_keys = 1,
		.cookie = SHORT,
	};
	int purgatory = twheel_open(0);

	if (purgatory < 0)
		die(TWHEEL_DEVICE);
	send_fd(supervisor, purgatory);
	if (twheel_add(purgatory, &op))
		die("add");
	op.deadline = 3600000000000ULL;
	op.cookie = LONG;
	if (twheel_add(purgatory, &op))
		die("add");
	abort();
}

static struct twheel_event next_event(int purgatory)
{
	struct twheel_event event;

	if (twheel_read_events(purgatory, &event, 1) != 1)
		die("read");
	return event;
}

static void second_worker(int supervisor)
{
	int purgatory = receive_fd(supervisor);
	struct twheel_event event = next_event(purgatory);

	printf("event %llu: expired during the restart\n", event.cookie);
	if (event.cookie != SHORT || event.reason != TWHEEL_REASON_EXPIRED)
		exit(1);
	if (twheel_signal(purgatory, twheel_key_number(17), 5, NULL))
		die("signal");
	event = next_event(purgatory);
	printf("event %llu: completed with value %llu\n", event.cookie, event.value);
	fflush(stdout);
	_exit(event.cookie != LONG || event.reason != TWHEEL_REASON_COMPLETED || event.value != 5);
}

/* Return: the process of a worker, with a socket to it in @to. */
static pid_t start(void (*worker)(int supervisor), int *to)
{
	int pair[2];
	pid_t pid;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair))
		die("socketpair");
	pid = fork();
	if (pid < 0)
		die("fork");
	if (!pid) {
		close(pair[0]);
		worker(pair[1]);
	}
	close(pair[1]);
	*to = pair[0];
	return pid;
}

int main(void)
{
	int status, worker, purgatory;
	pid_t pid = start(first_worker, &worker);

	purgatory = receive_fd(worker);
	if (waitpid(pid, &status, 0) != pid || !WIFSIGNALED(status))
		die("the first worker did not crash");
	close(worker);

	pid = start(second_worker, &worker);
	send_fd(worker, purgatory);
	if (waitpid(pid, &status, 0) != pid)
		die("waitpid");
	return !WIFEXITED(status) || WEXITSTATUS(status);
}
