// SPDX-License-Identifier: GPL-2.0
/*
 * Fault injection of debug kernels: it counts the allocations and copies of a thread, and
 * lets the n-th one fail.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "fuzz.h"

#define MAX_NTH		24

/* The signal frame is copied to user memory, too: a failure would kill the thread. */
static void unblock_signals(bool unblock)
{
	sigset_t signals;

	sigemptyset(&signals);
	sigaddset(&signals, SIGUSR1);
	pthread_sigmask(unblock ? SIG_UNBLOCK : SIG_BLOCK, &signals, NULL);
}

/* Called before a non-blocking call. Return: true if a failure is armed. */
bool inject(struct thread *t)
{
	char text[16];
	int length;

	if (t->fail_nth < 0 || !one_in(t, 12))
		return false;
	unblock_signals(false);
	length = snprintf(text, sizeof(text), "%u", 1 + draw(t, MAX_NTH));
	if (pwrite(t->fail_nth, text, length, 0) == length)
		return true;
	unblock_signals(true);
	return false;
}

/* Called after it, if inject() was true. Return: true if the failure was injected. */
bool injected(struct thread *t)
{
	char text[16] = "1";
	ssize_t got = pread(t->fail_nth, text, sizeof(text) - 1, 0);

	if (got > 0)
		text[got] = '\0';
	/* This call itself may fail. */
	if (pwrite(t->fail_nth, "0", 1, 0) != 1 && pwrite(t->fail_nth, "0", 1, 0) != 1)
		failed(t, "cannot end the fault injection");
	unblock_signals(true);
	return !atoi(text);
}
