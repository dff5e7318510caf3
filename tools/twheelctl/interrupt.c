// SPDX-License-Identifier: GPL-2.0
/*
 * ^C as a wish to end in good order. See interrupt.h.
 *
 * The signals stay blocked and pending for good: that they are is the wish.
 */
#include <signal.h>
#include <string.h>
#include <sys/signalfd.h>

#include "interrupt.h"

/* The most that wait_or_interrupt() waits for, beside the signals. */
#define MAX_FDS	2

/* Readable when one of the signals is pending; -1 is passed over by poll(). */
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
