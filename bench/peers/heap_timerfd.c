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

/**
 * struct heap - a binary heap in which no entry is earlier than its parent
 * @fd: the timerfd
 * @armed: the expiry time of @fd, or 0 if disarmed
 * @nr: number of entries
 * @entries: the entries; the handle of each operation is its index
 */
struct heap {
	int		fd;
	uint64_t	armed;
	unsigned int	nr;
	struct entry	entries[];
};

static int open_heap(struct session *session)
{
	struct heap *heap = malloc(sizeof(*heap) + session->nr * sizeof(heap->entries[0]));
	int error;

	if (!heap)
		return -ENOMEM;
	heap->armed = 0;
	heap->nr = 0;
	heap->fd = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
	if (heap->fd < 0) {
		error = -errno;
		free(heap);
		return error;
	}
	session->data = heap;
	return 0;
}

static void close_heap(struct session *session)
{
	struct heap *heap = session->data;

	close(heap->fd);
	free(heap);
}

static void place(struct session *session, unsigned int i, struct entry entry)
{
	struct heap *heap = session->data;

	heap->entries[i] = entry;
	session->ops[entry.number].handle = i;
}

/* Move @entry up from index @i until its parent is not later. */
static void sift_up(struct session *session, unsigned int i, struct entry entry)
{
	struct heap *heap = session->data;

	while (i && heap->entries[(i - 1) / 2].deadline > entry.deadline) {
		place(session, i, heap->entries[(i - 1) / 2]);
		i = (i - 1) / 2;
	}
	place(session, i, entry);
}

static void sift_down(struct session *session, unsigned int i, struct entry entry)
{
	struct heap *heap = session->data;

	for (;;) {
		unsigned int child = 2 * i + 1;

		if (child + 1 < heap->nr &&
		    heap->entries[child + 1].deadline < heap->entries[child].deadline)
			child++;
		if (child >= heap->nr || heap->entries[child].deadline >= entry.deadline)
			break;
		place(session, i, heap->entries[child]);
		i = child;
	}
	place(session, i, entry);
}

/* Insert @entry at the free index @i, and move it up or down. */
static void sift(struct session *session, unsigned int i, struct entry entry)
{
	struct heap *heap = session->data;

	if (i && heap->entries[(i - 1) / 2].deadline > entry.deadline)
		sift_up(session, i, entry);
	else
		sift_down(session, i, entry);
}

static void take_out(struct session *session, unsigned int i)
{
	struct heap *heap = session->data;

	heap->nr--;
	if (i < heap->nr)
		sift(session, i, heap->entries[heap->nr]);
}

/* Avoid the system call if the top has not changed. */
static int arm(struct heap *heap)
{
	uint64_t top = heap->nr ? heap->entries[0].deadline : 0;
	struct itimerspec to = { .it_value = to_timespec(top) };

	if (top == heap->armed)
		return 0;
	heap->armed = top;
	return timerfd_settime(heap->fd, TFD_TIMER_ABSTIME, &to, NULL) ? -errno : 0;
}

static int add(struct session *session, const uint32_t *numbers, unsigned int nr)
{
	struct heap *heap = session->data;
	int error = 0;

	for (unsigned int i = 0; i < nr && !error; i++) {
		struct entry entry = { session->ops[numbers[i]].deadline, numbers[i] };

		sift_up(session, heap->nr++, entry);
		error = arm(heap);
	}
	return error;
}

static int cancel(struct session *session, const uint32_t *numbers, unsigned int nr)
{
	int error = 0;

	for (unsigned int i = 0; i < nr && !error; i++) {
		take_out(session, session->ops[numbers[i]].handle);
		error = arm(session->data);
		if (!error)
			error = ended(session, numbers[i]);
	}
	return error;
}

static int rearm(struct session *session, const uint32_t *numbers, unsigned int nr)
{
	int error = 0;

	for (unsigned int i = 0; i < nr && !error; i++) {
		const struct op *op = &session->ops[numbers[i]];
		struct entry entry = { op->deadline, numbers[i] };

		sift(session, op->handle, entry);
		error = arm(session->data);
	}
	return error;
}

static int take(struct session *session, unsigned int timeout_ms)
{
	struct heap *heap = session->data;
	struct pollfd pollfd = { .fd = heap->fd, .events = POLLIN };
	uint64_t expirations, now;
	int error = 0;

	if (poll(&pollfd, 1, timeout_ms) < 0)
		return -errno;
	if (read(heap->fd, &expirations, sizeof(expirations)) < 0)
		return errno == EAGAIN ? 0 : -errno;
	now = now_ns();
	while (heap->nr && heap->entries[0].deadline <= now && !error) {
		uint32_t number = heap->entries[0].number;

		take_out(session, 0);
		error = expired(session, number, now);
	}
	return error ? error : arm(heap);
}

const struct contender peer = {
	.name = "heap_timerfd",
	.batch = BATCH,
	.open = open_heap,
	.add = add,
	.cancel = cancel,
	.rearm = rearm,
	.take = take,
	.close = close_heap,
};

PEER_WITHOUT_KEYS(false);
