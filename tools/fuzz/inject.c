// SPDX-License-Identifier: GPL-2.0
/*
 * Let the kernel fail in a call: by the fault injection of debug kernels, which counts
 * the allocations and copies of one thread, and lets the n-th fail.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "fuzz.h"

#define MAX_NTH		24

/* The frame of a signal is copied, too, and a thread does not survive if that fails. */
static void let_signals_in(bool in)
{
	sigset_t signals;

	sigemptyset(&signals);
	sigaddset(&signals, SIGUSR1);
	sigaddset(&signals, SIGIO);
	pthread_sigmask(in ? SIG_UNBLOCK : SIG_BLOCK, &signals, NULL);
}

/* Before a call that does not wait. Return: whether one of its allocations may fail. */
bool inject(struct thread *t)
{
	char text[16];
	int length;

	if (t->fail_nth < 0 || !one_in(t, 12))
		return false;
	let_signals_in(false);
	length = snprintf(text, sizeof(text), "%u", 1 + draw(t, MAX_NTH));
	if (pwrite(t->fail_nth, text, length, 0) == length)
		return true;
	let_signals_in(true);
	return false;
}

/* After it, if inject() was true. Return: whether something did fail. */
bool injected(struct thread *t)
{
	char text[16] = "1";
	ssize_t got = pread(t->fail_nth, text, sizeof(text) - 1, 0);

	if (got > 0)
		text[got] = '\0';
	/* This is the next call, which may be the one that fails. */
	if (pwrite(t->fail_nth, "0", 1, 0) != 1 && pwrite(t->fail_nth, "0", 1, 0) != 1)
		failed(t, "fault injection can't be ended");
	let_signals_in(true);
	return !atoi(text);
}
