// SPDX-License-Identifier: GPL-2.0
/*
 * Contenders: timerfd, one per operation, all of them in one epoll instance; and POSIX timers,
 * which queue a signal each, of which up to 64 are read from a signalfd at a time. Adding arms a
 * timer and cancelling disarms it: the timers are created in advance and kept.
 */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "bench.h"

/**
 * struct timers - state of a session
 * @events: the epoll instance, in which the data of an event is the number of the operation, or
 *	the signalfd
 * @nr: number of timers, which are the handles of the first operations
 */
struct timers {
	int		events;
	unsigned int	nr;
};

static bool is_posix(const struct session *session)
{
	return session->contender == &posix_single;
}

static timer_t timer_of(const struct op *op)
{
	return (timer_t)(uintptr_t)op->handle;
}

static int open_events(struct session *session)
{
	struct timers *timers = session->data;
	sigset_t set;

	if (is_posix(session)) {
		sigemptyset(&set);
		sigaddset(&set, SIGRTMIN);
		sigprocmask(SIG_BLOCK, &set, NULL);
		timers->events = signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);
	} else {
		timers->events = epoll_create1(EPOLL_CLOEXEC);
	}
	return timers->events < 0 ? -errno : 0;
}

static int create_one(struct session *session, uint32_t number)
{
	struct epoll_event event = { .events = EPOLLIN, .data.u32 = number };
	struct sigevent signal = {
		.sigev_notify = SIGEV_SIGNAL,
		.sigev_signo = SIGRTMIN,
		.sigev_value.sival_int = number,
	};
	struct timers *timers = session->data;
	timer_t timer;
	int fd;

	if (is_posix(session)) {
		if (timer_create(CLOCK_MONOTONIC, &signal, &timer))
			return -errno;
		session->ops[number].handle = (uintptr_t)timer;
		timers->nr++;
		return 0;
	}
	fd = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
	if (fd < 0)
		return -errno;
	session->ops[number].handle = fd;
	timers->nr++;
	return epoll_ctl(timers->events, EPOLL_CTL_ADD, fd, &event) ? -errno : 0;
}

static int create(struct session *session, const uint32_t *numbers, unsigned int nr)
{
	int error = 0;

	for (unsigned int i = 0; i < nr && !error; i++)
		error = create_one(session, numbers[i]);
	return error;
}

/* A @deadline of 0 disarms the timer. */
static int set(const struct session *session, const struct op *op, uint64_t deadline)
{
	struct itimerspec to = { .it_value = to_timespec(deadline) };

	if (is_posix(session) ? timer_settime(timer_of(op), TIMER_ABSTIME, &to, NULL) :
				timerfd_settime(op->handle, TFD_TIMER_ABSTIME, &to, NULL))
		return -errno;
	return 0;
}

static int arm(struct session *session, const uint32_t *numbers, unsigned int nr)
{
	int error = 0;

	for (unsigned int i = 0; i < nr && !error; i++)
		error = set(session, &session->ops[numbers[i]],
			    session->ops[numbers[i]].deadline);
	return error;
}

static int disarm(struct session *session, const uint32_t *numbers, unsigned int nr)
{
	int error = 0;

	for (unsigned int i = 0; i < nr && !error; i++) {
		error = set(session, &session->ops[numbers[i]], 0);
		if (!error)
			error = ended(session, numbers[i]);
	}
	return error;
}

static int take_timerfd(struct session *session, unsigned int timeout_ms)
{
	struct timers *timers = session->data;
	struct epoll_event events[BATCH];
	int nr = epoll_wait(timers->events, events, BATCH, timeout_ms);
	uint64_t expirations, now;
	int error = 0;

	if (nr < 0)
		return -errno;
	now = now_ns();
	for (int i = 0; i < nr && !error; i++) {
		uint32_t number = events[i].data.u32;

		if (read(session->ops[number].handle, &expirations, sizeof(expirations)) < 0)
			return -errno;
		error = expired(session, number, now);
	}
	return error;
}

static int take_posix(struct session *session, unsigned int timeout_ms)
{
	struct timers *timers = session->data;
	struct pollfd pollfd = { .fd = timers->events, .events = POLLIN };
	struct signalfd_siginfo infos[BATCH];
	ssize_t bytes = read(timers->events, infos, sizeof(infos));
	uint64_t now;
	int error = 0;

	if (bytes < 0 && errno == EAGAIN) {
		if (poll(&pollfd, 1, timeout_ms) < 0)
			return -errno;
		bytes = read(timers->events, infos, sizeof(infos));
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

	for (unsigned int i = 0; i < timers->nr; i++) {
		if (is_posix(session))
			timer_delete(timer_of(&session->ops[i]));
		else
			close(session->ops[i].handle);
	}
	while (is_posix(session) && read(timers->events, infos, sizeof(infos)) > 0)
		;
	close(timers->events);
}

#define TIMERS(kind, take_function) {		\
	.name = kind,				\
	.case_name = "single",			\
	.batch = BATCH,				\
	.data_size = sizeof(struct timers),	\
	.open = open_events,			\
	.create = create,			\
	.add = arm,				\
	.cancel = disarm,			\
	.rearm = arm,				\
	.take = take_function,			\
	.close = close_all,			\
}

const struct contender timerfd_single = TIMERS("timerfd", take_timerfd);
const struct contender posix_single = TIMERS("posix_timer", take_posix);
