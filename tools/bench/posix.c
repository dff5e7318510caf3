// SPDX-License-Identifier: GPL-2.0
/*
 * Contender: POSIX timers. Each one queues a signal, and up to 64 signals are read from a
 * signalfd at a time. Adding arms a timer and cancelling disarms it: the timers are
 * created in advance and kept.
 */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <time.h>
#include <unistd.h>

#include "bench.h"

/**
 * struct timers - state of a session
 * @signals: the signalfd
 * @nr: number of timers, which are the handles of the first operations
 */
struct timers {
	int		signals;
	unsigned int	nr;
};

static timer_t timer_of(const struct op *op)
{
	return (timer_t)(uintptr_t)op->handle;
}

static int open_signals(struct session *session)
{
	struct timers *timers = session->data;
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGRTMIN);
	sigprocmask(SIG_BLOCK, &set, NULL);
	timers->signals = signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);
	return timers->signals < 0 ? -errno : 0;
}

static int create(struct session *session, const uint32_t *numbers, unsigned int nr)
{
	struct timers *timers = session->data;

	for (unsigned int i = 0; i < nr; i++) {
		struct sigevent event = {
			.sigev_notify = SIGEV_SIGNAL,
			.sigev_signo = SIGRTMIN,
			.sigev_value.sival_int = numbers[i],
		};
		timer_t timer;

		if (timer_create(CLOCK_MONOTONIC, &event, &timer))
			return -errno;
		session->ops[numbers[i]].handle = (uintptr_t)timer;
		timers->nr++;
	}
	return 0;
}

static int arm(struct session *session, const uint32_t *numbers, unsigned int nr)
{
	for (unsigned int i = 0; i < nr; i++) {
		const struct op *op = &session->ops[numbers[i]];
		struct itimerspec to = { .it_value = to_timespec(op->deadline) };

		if (timer_settime(timer_of(op), TIMER_ABSTIME, &to, NULL))
			return -errno;
	}
	return 0;
}

static int disarm(struct session *session, const uint32_t *numbers, unsigned int nr)
{
	static const struct itimerspec never;
	int error = 0;

	for (unsigned int i = 0; i < nr && !error; i++) {
		if (timer_settime(timer_of(&session->ops[numbers[i]]), 0, &never, NULL))
			return -errno;
		error = ended(session, numbers[i]);
	}
	return error;
}

static int take(struct session *session, unsigned int timeout_ms)
{
	struct timers *timers = session->data;
	struct pollfd pollfd = { .fd = timers->signals, .events = POLLIN };
	struct signalfd_siginfo infos[BATCH];
	ssize_t bytes = read(timers->signals, infos, sizeof(infos));
	uint64_t now;
	int error = 0;

	if (bytes < 0 && errno == EAGAIN) {
		if (poll(&pollfd, 1, timeout_ms) < 0)
			return -errno;
		bytes = read(timers->signals, infos, sizeof(infos));
	}
	if (bytes < 0)
		return errno == EAGAIN ? 0 : -errno;
	now = now_ns();
	for (unsigned int i = 0; i < bytes / sizeof(infos[0]) && !error; i++)
		error = expired(session, infos[i].ssi_int, now);
	return error;
}

/* Queued signals outlive their timer, so discard them before the next session. */
static void close_all(struct session *session)
{
	struct timers *timers = session->data;
	struct signalfd_siginfo infos[BATCH];

	for (unsigned int i = 0; i < timers->nr; i++)
		timer_delete(timer_of(&session->ops[i]));
	while (read(timers->signals, infos, sizeof(infos)) > 0)
		;
	close(timers->signals);
}

const struct contender posix_single = {
	.name = "posix_timer",
	.case_name = "single",
	.batch = BATCH,
	.data_size = sizeof(struct timers),
	.open = open_signals,
	.create = create,
	.add = arm,
	.cancel = disarm,
	.rearm = arm,
	.take = take,
	.close = close_all,
};
