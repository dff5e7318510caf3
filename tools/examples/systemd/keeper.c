// SPDX-License-Identifier: GPL-2.0
/*
 * A service that keeps its operations across restarts, in the descriptor store of systemd: see
 * keeper.service. It prints the number of pending operations when it starts, and the cookie of
 * each event. SIGUSR1 completes all operations.
 *
 *   gcc keeper.c -o keeper $(pkg-config --cflags --libs libtwheel libsystemd)
 */
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <systemd/sd-daemon.h>
#include <twheel.h>

#define NR_OPS	50
#define HOUR	3600000000000ULL

static void die(const char *message)
{
	perror(message);
	exit(1);
}

static int new_purgatory(void)
{
	int fd = twheel_open(0);

	if (fd < 0)
		die("open");
	for (int i = 0; i < NR_OPS; i++) {
		struct twheel_add_args op = { .deadline = HOUR, .cookie = i };

		if (twheel_add(fd, &op))
			die("add");
	}
	if (sd_pid_notify_with_fds(0, 0, "FDSTORE=1\nFDNAME=twheel", &fd, 1) <= 0)
		die("store");
	return fd;
}

static void report_start(int fd, const char *origin)
{
	struct twheel_query_args query = { };

	if (twheel_query(fd, &query))
		die("query");
	printf("%s %llu\n", origin, (unsigned long long)query.pending);
	sd_notify(0, "READY=1");
}

static int open_signals(void)
{
	sigset_t signals;

	sigemptyset(&signals);
	sigaddset(&signals, SIGUSR1);
	sigprocmask(SIG_BLOCK, &signals, NULL);
	return signalfd(-1, &signals, SFD_CLOEXEC);
}

static void print_events(int fd)
{
	struct twheel_event events[16];
	ssize_t nr = twheel_read_events(fd, events, 16);

	if (nr < 0)
		die("read");
	for (ssize_t i = 0; i < nr; i++)
		printf("event %llu\n", (unsigned long long)events[i].cookie);
}

static void complete(int fd, int signals)
{
	struct signalfd_siginfo info;

	if (read(signals, &info, sizeof(info)) != sizeof(info) ||
	    twheel_complete_all(fd, 0, 0, 0, NULL))
		die("complete");
}

int main(void)
{
	int signals = open_signals(), stored = sd_listen_fds(1);
	int fd = stored > 0 ? SD_LISTEN_FDS_START : new_purgatory();
	struct pollfd fds[] = {
		{ .fd = fd, .events = POLLIN },
		{ .fd = signals, .events = POLLIN },
	};

	setvbuf(stdout, NULL, _IOLBF, 0);
	report_start(fd, stored > 0 ? "restored" : "new");
	for (;;) {
		if (poll(fds, 2, -1) < 0)
			die("poll");
		if (fds[0].revents)
			print_events(fd);
		if (fds[1].revents)
			complete(fd, signals);
	}
}
