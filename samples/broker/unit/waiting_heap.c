// SPDX-License-Identifier: GPL-2.0
/*
 * Requests that wait in one process: a binary heap of deadlines with one timerfd, and a list of
 * watchers for each key. See waiting.h.
 *
 * This is for tests that have no device, and for the comparison of costs. There is one worker,
 * in which alarms end, and they end with it. No signal comes between an evaluation and the add, so
 * the add of a wait is not reported.
 */
#include <err.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "../waiting.h"

#define NS_PER_S	1000000000
#define MAX_NUMBERS	4096

struct watch {
	LIST_ENTRY(watch) link;		/* in watchers */
	struct heap_wait *owner;
};

struct heap_wait {
	struct wait *wait;
	uint64_t deadline;
	uint64_t missing;
	size_t slot;			/* in the heap */
	int nr_watches;
	struct watch watches[];
};

static int timer = -1;
static uint64_t self;			/* ID of this process */
static bool in_main;
static struct heap_wait **heap;
static size_t nr_heap, max_heap;
static uint64_t armed;			/* expiry of the timerfd, 0 if it is not armed */
static LIST_HEAD(, watch) watchers[NR_WAIT_KINDS][MAX_NUMBERS];
static TAILQ_HEAD(, wait) ended = TAILQ_HEAD_INITIALIZER(ended);

static void place(struct heap_wait *node, size_t slot)
{
	heap[slot] = node;
	node->slot = slot;
}

/* Move a node towards the root, or else towards the leaves. */
static void sift(struct heap_wait *node, size_t slot)
{
	size_t child;

	while (slot && heap[(slot - 1) / 2]->deadline > node->deadline) {
		place(heap[(slot - 1) / 2], slot);
		slot = (slot - 1) / 2;
	}
	while ((child = 2 * slot + 1) < nr_heap) {
		if (child + 1 < nr_heap && heap[child + 1]->deadline < heap[child]->deadline)
			child++;
		if (heap[child]->deadline >= node->deadline)
			break;
		place(heap[child], slot);
		slot = child;
	}
	place(node, slot);
}

static bool heap_push(struct heap_wait *node)
{
	if (nr_heap == max_heap) {
		size_t max = max_heap ? 2 * max_heap : 64;
		struct heap_wait **grown = realloc(heap, max * sizeof(*heap));

		if (!grown)
			return false;
		heap = grown;
		max_heap = max;
	}
	nr_heap++;
	sift(node, nr_heap - 1);
	return true;
}

static void end(struct wait *wait, enum wait_end how)
{
	wait->end = how;
	TAILQ_INSERT_TAIL(&ended, wait, queue);
}

static void finish(struct heap_wait *node, enum wait_end how)
{
	struct wait *wait = node->wait;
	struct heap_wait *last = heap[--nr_heap];

	if (last != node)
		sift(last, node->slot);
	for (int i = 0; i < node->nr_watches; i++)
		LIST_REMOVE(&node->watches[i], link);
	wait->heap = NULL;
	wait->id = 0;
	if (how != WAIT_COMPLETED || !wait->deadline)
		end(wait, how);
	free(node);
}

void waiting_create(void)
{
	if (config.workers > 1)
		errx(1, "a heap is for one worker only");
}

void waiting_remove(void)
{
}

int waiting_open(bool is_main)
{
	in_main = is_main;
	self = getpid();
	/* A new worker has inherited the state of the main process. */
	nr_heap = 0;
	memset(watchers, 0, sizeof(watchers));
	TAILQ_INIT(&ended);
	timer = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
	if (timer < 0)
		err(1, "timerfd");
	return timer;
}

void wait_add(struct wait *wait, const struct wait_key *keys, int nr, uint64_t threshold,
	      uint64_t deadline)
{
	struct heap_wait *node = malloc(sizeof(*node) + nr * sizeof(node->watches[0]));

	if (node)
		*node = (struct heap_wait){ wait, deadline, threshold, 0, nr };
	if (!node || !heap_push(node)) {
		free(node);
		end(wait, WAIT_REFUSED);
		return;
	}
	wait->heap = node;
	wait->id = self;
	for (int i = 0; i < nr; i++) {
		node->watches[i].owner = node;
		LIST_INSERT_HEAD(&watchers[keys[i].kind][keys[i].number], &node->watches[i],
				 link);
	}
}

/* The pending waits of a killed worker are not in this heap. */
static bool is_pending(const struct wait *wait)
{
	return wait->id == self;
}

void wait_alarm(struct wait *wait, uint64_t deadline)
{
	wait->deadline = deadline;
	/* Alarms are in the heap of the worker. */
	if (in_main)
		return;
	if (!is_pending(wait)) {
		wait_add(wait, &wait->key, 1, 1, deadline);
		return;
	}
	wait->heap->deadline = deadline;
	sift(wait->heap, wait->heap->slot);
}

void wait_repair(struct wait *wait)
{
	wait_alarm(wait, wait->deadline);
}

void wait_complete(struct wait *wait)
{
	if (is_pending(wait))
		finish(wait->heap, WAIT_COMPLETED);
}

/* A completed wait leaves all lists, so the next watch is read before. */
void wait_signal(enum wait_kind kind, int number, uint64_t amount)
{
	struct watch *watch = LIST_FIRST(&watchers[kind][number]);

	while (watch && amount) {
		struct heap_wait *node = watch->owner;

		watch = LIST_NEXT(watch, link);
		if (node->missing > amount)
			node->missing -= amount;
		else
			finish(node, WAIT_COMPLETED);
	}
}

/* Ended waits are reported at once, as if their deadline had passed. */
void waiting_submit(void)
{
	uint64_t next = nr_heap ? heap[0]->deadline : 0;
	struct itimerspec time = { };

	if (!TAILQ_EMPTY(&ended))
		next = 1;
	if (next == armed)
		return;
	time.it_value.tv_sec = next / NS_PER_S;
	time.it_value.tv_nsec = next % NS_PER_S;
	if (timerfd_settime(timer, TFD_TIMER_ABSTIME, &time, NULL))
		warn("timerfd");
	armed = next;
}

void waiting_stop(void)
{
	while (nr_heap)
		finish(heap[0], WAIT_COMPLETED);
}

bool waiting_events(void)
{
	uint64_t expirations, now = now_ns();
	struct wait *wait;

	if (read(timer, &expirations, sizeof(expirations)) == sizeof(expirations))
		armed = 0;
	while (nr_heap && heap[0]->deadline <= now)
		finish(heap[0], WAIT_EXPIRED);
	while ((wait = TAILQ_FIRST(&ended))) {
		TAILQ_REMOVE(&ended, wait, queue);
		wait->fn(wait, wait->end);
	}
	return true;
}
