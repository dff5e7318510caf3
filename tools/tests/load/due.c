// SPDX-License-Identifier: GPL-2.0
/*
 * Priority queue of requests. See due.h.
 */
#include <stdlib.h>
#include <time.h>

#include "due.h"
#include "outcome.h"
#include "units.h"

void init_due(struct due_queue *q)
{
	pthread_condattr_t attr;

	*q = (struct due_queue){ 0 };
	pthread_mutex_init(&q->lock, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&q->changed, &attr);
	pthread_condattr_destroy(&attr);
}

void free_due(struct due_queue *q)
{
	pthread_cond_destroy(&q->changed);
	pthread_mutex_destroy(&q->lock);
	free(q->heap);
}

void put_due(struct due_queue *q, struct due due)
{
	size_t at;

	pthread_mutex_lock(&q->lock);
	if (q->nr == q->capacity) {
		q->capacity = q->capacity ? q->capacity * 2 : 1024;
		q->heap = must_realloc(q->heap, q->capacity, sizeof(due));
	}

	/* Sift up: move later parents down. */
	for (at = q->nr++; at; at = (at - 1) / 2) {
		size_t parent = (at - 1) / 2;

		if (q->heap[parent].time <= due.time)
			break;
		q->heap[at] = q->heap[parent];
	}
	q->heap[at] = due;

	if (!at)
		pthread_cond_signal(&q->changed);
	pthread_mutex_unlock(&q->lock);
}

void close_due(struct due_queue *q)
{
	pthread_mutex_lock(&q->lock);
	q->closed = true;
	pthread_cond_signal(&q->changed);
	pthread_mutex_unlock(&q->lock);
}

void drop_due(struct due_queue *q)
{
	pthread_mutex_lock(&q->lock);
	q->nr = 0;
	pthread_cond_signal(&q->changed);
	pthread_mutex_unlock(&q->lock);
}

static struct due take_first(struct due_queue *q)
{
	struct due first = q->heap[0];
	struct due last = q->heap[--q->nr];
	size_t at = 0;

	/* Sift the last entry down from the root: move earlier children up. */
	for (;;) {
		size_t child = 2 * at + 1;

		if (child + 1 < q->nr && q->heap[child + 1].time < q->heap[child].time)
			child++;
		if (child >= q->nr || q->heap[child].time >= last.time)
			break;
		q->heap[at] = q->heap[child];
		at = child;
	}
	q->heap[at] = last;
	return first;
}

bool wait_due(struct due_queue *q, struct due *due)
{
	bool found = false;

	pthread_mutex_lock(&q->lock);
	while (!found) {
		if (!q->nr) {
			if (q->closed)
				break;
			pthread_cond_wait(&q->changed, &q->lock);
		} else if (q->heap[0].time > now_ns()) {
			struct timespec until = to_timespec(q->heap[0].time);

			pthread_cond_timedwait(&q->changed, &q->lock, &until);
		} else {
			*due = take_first(q);
			found = true;
		}
	}
	pthread_mutex_unlock(&q->lock);
	return found;
}
