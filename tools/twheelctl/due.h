/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Requests of the workload in the order in which they are to be completed.
 *
 * One thread puts them in, another waits for the next that is due.
 */
#ifndef TWHEELCTL_DUE_H
#define TWHEELCTL_DUE_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <linux/types.h>

/**
 * struct due - a request and the time of its completion
 * @time: in ns
 * @request: its number
 * @id: its operation
 */
struct due {
	__u64 time;
	size_t request;
	__u64 id;
};

/**
 * struct due_queue - a heap of requests, the earliest first
 * @lock: protects all below
 * @changed: a request became the earliest, or the queue was closed
 * @heap: the requests
 * @nr: number of requests in @heap
 * @room: size of @heap
 * @closed: no more will come
 */
struct due_queue {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	struct due *heap;
	size_t nr;
	size_t room;
	bool closed;
};

void init_due(struct due_queue *q);
void free_due(struct due_queue *q);

void put_due(struct due_queue *q, struct due due);

/* Says that no more will come. */
void close_due(struct due_queue *q);

/**
 * wait_due() - wait until the earliest request is due and take it out
 * @q: the queue
 * @due: set to it
 *
 * Return: false once the queue is closed and empty.
 */
bool wait_due(struct due_queue *q, struct due *due);

#endif /* TWHEELCTL_DUE_H */
