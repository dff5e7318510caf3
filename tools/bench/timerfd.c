// SPDX-License-Identifier: GPL-2.0
/*
 * Contender: timerfd, one per operation, all of them in one epoll instance. Adding arms a
 * timer and cancelling disarms it: the descriptors are created in advance and kept.
 */
#include <errno.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "bench.h"

/**
 * struct descriptors - state of a session
 * @epoll: the epoll instance; the data of an event is the number of the operation
 * @nr: number of timers, which are the handles of the first operations
 */
struct descriptors {
	int		epoll;
	unsigned int	nr;
};

static int open_epoll(struct session *session)
{
	struct descriptors *descriptors = session->data;

	descriptors->epoll = epoll_create1(EPOLL_CLOEXEC);
	return descriptors->epoll < 0 ? -errno : 0;
}

static int create(struct session *session, const uint32_t *numbers, unsigned int nr)
{
	struct descriptors *descriptors = session->data;

	for (unsigned int i = 0; i < nr; i++) {
		struct epoll_event event = { .events = EPOLLIN, .data.u32 = numbers[i] };
		int fd = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);

		if (fd < 0)
			return -errno;
		session->ops[numbers[i]].handle = fd;
		descriptors->nr++;
		if (epoll_ctl(descriptors->epoll, EPOLL_CTL_ADD, fd, &event))
			return -errno;
	}
	return 0;
}

static int arm(struct session *session, const uint32_t *numbers, unsigned int nr)
{
	for (unsigned int i = 0; i < nr; i++) {
		const struct op *op = &session->ops[numbers[i]];
		struct itimerspec to = { .it_value = to_timespec(op->deadline) };

		if (timerfd_settime(op->handle, TFD_TIMER_ABSTIME, &to, NULL))
			return -errno;
	}
	return 0;
}

static int disarm(struct session *session, const uint32_t *numbers, unsigned int nr)
{
	static const struct itimerspec never;
	int error = 0;

	for (unsigned int i = 0; i < nr && !error; i++) {
		if (timerfd_settime(session->ops[numbers[i]].handle, 0, &never, NULL))
			return -errno;
		error = ended(session, numbers[i]);
	}
	return error;
}

static int take(struct session *session, unsigned int timeout_ms)
{
	struct descriptors *descriptors = session->data;
	struct epoll_event events[BATCH];
	int nr = epoll_wait(descriptors->epoll, events, BATCH, timeout_ms);
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

static void close_all(struct session *session)
{
	struct descriptors *descriptors = session->data;

	for (unsigned int i = 0; i < descriptors->nr; i++)
		close(session->ops[i].handle);
	close(descriptors->epoll);
}

const struct contender timerfd_single = {
	.name = "timerfd",
	.case_name = "single",
	.batch = BATCH,
	.data_size = sizeof(struct descriptors),
	.open = open_epoll,
	.create = create,
	.add = arm,
	.cancel = disarm,
	.rearm = arm,
	.take = take,
	.close = close_all,
};
