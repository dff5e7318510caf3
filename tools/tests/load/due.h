/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Priority queue of the requests of the workload, ordered by completion time.
 *
 * One thread adds requests, another waits for the next due request.
 */
#ifndef TWHEEL_LOAD_DUE_H
#define TWHEEL_LOAD_DUE_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <linux/types.h>

/**
 * struct due - a request and its completion time
 * @time: completion time, in ns
 * @request: index of the request
 * @id: ID of its operation
 */
struct due {
	__u64 time;
	size_t request;
	__u64 id;
};

/**
 * struct due_queue - a heap of requests, the earliest first
 * @lock: protects all fields
 * @changed: signalled when a request becomes the earliest, and when the queue is closed or
 *	emptied
 * @heap: the requests
 * @nr: number of requests in @heap
 * @capacity: allocated entries of @heap
 * @closed: no more requests will be added
 */
struct due_queue {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	struct due *heap;
	size_t nr;
	size_t capacity;
	bool closed;
};

void init_due(struct due_queue *q);
void free_due(struct due_queue *q);

void put_due(struct due_queue *q, struct due due);

/* No requests may be added afterwards. */
void close_due(struct due_queue *q);

/* Removes all requests. */
void drop_due(struct due_queue *q);

/**
 * wait_due() - wait until the earliest request is due and remove it from the queue
 * @q: the queue
 * @due: set to the request
 *
 * Return: false once the queue is closed and empty.
 */
bool wait_due(struct due_queue *q, struct due *due);

#endif /* TWHEEL_LOAD_DUE_H */
