/* SPDX-License-Identifier: GPL-2.0 */
/* A thread that blocks in read() or poll() on a device, for tests that end the wait. */
#ifndef _TWHEEL_WAITER_H
#define _TWHEEL_WAITER_H

#include <poll.h>
#include <pthread.h>
#include "selftest.h"

struct waiter {
	int fd;
	pid_t tid;
	long result;
	int error;
	short revents;
	struct twheel_event *to;	/* NULL for @event */
	struct twheel_event event;
};

static inline void *wait_in_read(void *arg)
{
	struct waiter *w = arg;

	__atomic_store_n(&w->tid, gettid(), __ATOMIC_RELEASE);
	w->result = read_events(w->fd, w->to ?: &w->event, 1);
	w->error = errno;
	return NULL;
}

static inline void *wait_in_poll(void *arg)
{
	struct pollfd pfd = { .events = POLLIN };
	struct waiter *w = arg;

	pfd.fd = w->fd;
	__atomic_store_n(&w->tid, gettid(), __ATOMIC_RELEASE);
	w->result = poll(&pfd, 1, BUDGET_MS);
	w->revents = pfd.revents;
	return NULL;
}

/* Wait until the thread sleeps in system call @nr. */
static inline bool waits_in(struct waiter *w, long nr)
{
	return wait_for(__atomic_load_n(&w->tid, __ATOMIC_ACQUIRE)) &&
	       wait_for(blocked_in(w->tid, nr));
}

#endif /* _TWHEEL_WAITER_H */
