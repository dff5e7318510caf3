// SPDX-License-Identifier: GPL-2.0
/*
 * Orderly exit on SIGINT and SIGTERM.
 *
 * The signals stay blocked and are never consumed: a pending signal requests the exit.
 */
#include <signal.h>
#include <string.h>
#include <sys/signalfd.h>

#include "twheelctl.h"

/* Maximum number of descriptors passed to wait_or_interrupt(). */
#define MAX_FDS	2

/* Readable when one of the signals is pending; ignored by ppoll() if -1. */
static int signals = -1;

void catch_interrupts(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	sigprocmask(SIG_BLOCK, &set, NULL);
	signals = signalfd(-1, &set, SFD_CLOEXEC);
}

bool interrupted(void)
{
	sigset_t pending;

	sigpending(&pending);
	return sigismember(&pending, SIGINT) || sigismember(&pending, SIGTERM);
}

int wait_or_interrupt(struct pollfd *fds, nfds_t nr, const struct timespec *timeout)
{
	struct pollfd all[MAX_FDS + 1];
	int ready;

	memcpy(all, fds, nr * sizeof(*fds));
	all[nr] = (struct pollfd){ .fd = signals, .events = POLLIN };
	ready = ppoll(all, nr + 1, timeout, NULL);
	memcpy(fds, all, nr * sizeof(*fds));
	return ready;
}
