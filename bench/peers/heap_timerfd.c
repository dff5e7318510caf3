// SPDX-License-Identifier: GPL-2.0
/*
 * Contender: a binary heap in user space and one timerfd, armed for the top of the heap.
 * This is how most programs manage timeouts today. A single thread uses it, without a
 * lock.
 */
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "peers.h"

struct entry {
	uint64_t	deadline;
	uint32_t	number;
};

/* No entry is earlier than its parent. The handle of each operation is the index of its entry. */
static struct entry *heap;
static unsigned int nr_entries;
static struct op *ops;

/* The timerfd, and its expiry time, or 0 if disarmed. */
static int fd;
static uint64_t armed;

static int open_heap(struct session *session)
{
	ops = session->ops;
	heap = malloc(session->nr * sizeof(*heap));
	if (!heap)
		return -ENOMEM;
	fd = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
	return fd < 0 ? -errno : 0;
}

static void close_heap(struct session *session)
{
	close(fd);
	free(heap);
}

static void place(unsigned int i, struct entry entry)
{
	heap[i] = entry;
	ops[entry.number].handle = i;
}

/* Move @entry up from index @i until its parent is not later. */
static void sift_up(unsigned int i, struct entry entry)
{
	while (i && heap[(i - 1) / 2].deadline > entry.deadline) {
		place(i, heap[(i - 1) / 2]);
		i = (i - 1) / 2;
	}
	place(i, entry);
}

static void sift_down(unsigned int i, struct entry entry)
{
	for (;;) {
		unsigned int child = 2 * i + 1;

		if (child + 1 < nr_entries && heap[child + 1].deadline < heap[child].deadline)
			child++;
		if (child >= nr_entries || heap[child].deadline >= entry.deadline)
			break;
		place(i, heap[child]);
		i = child;
	}
	place(i, entry);
}

/* Insert @entry at the free index @i, and move it up or down. */
static void sift(unsigned int i, struct entry entry)
{
	if (i && heap[(i - 1) / 2].deadline > entry.deadline)
		sift_up(i, entry);
	else
		sift_down(i, entry);
}

static void take_out(unsigned int i)
{
	nr_entries--;
	if (i < nr_entries)
		sift(i, heap[nr_entries]);
}

/* Avoid the system call if the top has not changed. */
static int arm(void)
{
	uint64_t top = nr_entries ? heap[0].deadline : 0;
	struct itimerspec to = { .it_value = to_timespec(top) };

	if (top == armed)
		return 0;
	armed = top;
	return timerfd_settime(fd, TFD_TIMER_ABSTIME, &to, NULL) ? -errno : 0;
}

static int add(struct session *session, const uint32_t *numbers, unsigned int nr)
{
	int error = 0;

	for (unsigned int i = 0; i < nr && !error; i++) {
		sift_up(nr_entries++, (struct entry){ ops[numbers[i]].deadline, numbers[i] });
		error = arm();
	}
	return error;
}

static int cancel(struct session *session, const uint32_t *numbers, unsigned int nr)
{
	int error = 0;

	for (unsigned int i = 0; i < nr && !error; i++) {
		take_out(ops[numbers[i]].handle);
		error = arm();
		ended(session, numbers[i]);
	}
	return error;
}

static int rearm(struct session *session, const uint32_t *numbers, unsigned int nr)
{
	int error = 0;

	for (unsigned int i = 0; i < nr && !error; i++) {
		const struct op *op = &ops[numbers[i]];

		sift(op->handle, (struct entry){ op->deadline, numbers[i] });
		error = arm();
	}
	return error;
}

static int take(struct session *session, unsigned int timeout_ms)
{
	struct pollfd pollfd = { .fd = fd, .events = POLLIN };
	uint64_t expirations, now;

	if (poll(&pollfd, 1, timeout_ms) < 0)
		return -errno;
	if (read(fd, &expirations, sizeof(expirations)) < 0)
		return errno == EAGAIN ? 0 : -errno;
	now = now_ns();
	while (nr_entries && heap[0].deadline <= now) {
		uint32_t number = heap[0].number;

		take_out(0);
		expired(session, number, now);
	}
	return arm();
}

const struct contender peer = {
	.name = "heap_timerfd",
	.batch = 1,
	.open = open_heap,
	.add = add,
	.cancel = cancel,
	.rearm = rearm,
	.take = take,
	.close = close_heap,
};

const struct peer_traits peer_traits;
