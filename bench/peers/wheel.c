// SPDX-License-Identifier: GPL-2.0
/*
 * Contender: a hashed wheel in user space, of a single thread without a lock. Its tick is 1 ms.
 *
 * With LAZY, a later deadline and a cancel only change the entry, and the tick at which it is
 * linked moves it, as in many event loops.
 */
#include <errno.h>
#include <poll.h>
#include <stdlib.h>

#include "peers.h"

#ifndef LAZY
#define LAZY	0
#endif

#define TICK		NSEC_PER_MSEC
#define BUCKETS		65536
#define NONE		(~0U)
#define NEVER		(~0ULL)

/**
 * struct entry - an operation
 * @deadline: in ns; NEVER if it was cancelled, but is linked still
 * @tick: at which it is linked; 0 if it is not
 * @next: the next one of its bucket, or NONE
 * @prev: the previous one; that of the first one is BUCKETS or NONE
 */
struct entry {
	uint64_t	deadline;
	uint64_t	tick;
	uint32_t	next;
	uint32_t	prev;
};

static struct entry *entries;
static uint32_t buckets[BUCKETS];
static uint64_t passed;

static void link_entry(uint32_t number)
{
	struct entry *entry = &entries[number];
	uint32_t *first;

	entry->tick = (entry->deadline + TICK - 1) / TICK;
	first = &buckets[entry->tick % BUCKETS];
	entry->next = *first;
	entry->prev = NONE;
	if (*first != NONE)
		entries[*first].prev = number;
	*first = number;
}

static void unlink_entry(uint32_t number)
{
	struct entry *entry = &entries[number];

	if (entry->prev == NONE)
		buckets[entry->tick % BUCKETS] = entry->next;
	else
		entries[entry->prev].next = entry->next;
	if (entry->next != NONE)
		entries[entry->next].prev = entry->prev;
	entry->tick = 0;
}

static void put(const struct session *session, uint32_t number)
{
	struct entry *entry = &entries[number];

	entry->deadline = session->ops[number].deadline;
	if (LAZY && entry->tick && entry->tick * TICK <= entry->deadline)
		return;
	if (entry->tick)
		unlink_entry(number);
	link_entry(number);
}

static int open_wheel(struct session *session)
{
	entries = calloc(session->nr, sizeof(*entries));
	for (unsigned int i = 0; i < BUCKETS; i++)
		buckets[i] = NONE;
	passed = now_ns() / TICK;
	return entries ? 0 : -ENOMEM;
}

static int add(struct session *session, const uint32_t *numbers, unsigned int nr)
{
	for (unsigned int i = 0; i < nr; i++)
		put(session, numbers[i]);
	return 0;
}

static int cancel(struct session *session, const uint32_t *numbers, unsigned int nr)
{
	for (unsigned int i = 0; i < nr; i++) {
		if (LAZY)
			entries[numbers[i]].deadline = NEVER;
		else
			unlink_entry(numbers[i]);
		ended(session, numbers[i]);
	}
	return 0;
}

static void run_tick(struct session *session, uint64_t now)
{
	uint32_t number = buckets[passed % BUCKETS], next;

	for (; number != NONE; number = next) {
		struct entry *entry = &entries[number];

		next = entry->next;
		if (entry->tick > passed)
			continue;
		unlink_entry(number);
		if (entry->deadline <= now)
			expired(session, number, now);
		else if (entry->deadline != NEVER)
			link_entry(number);
	}
}

static int take(struct session *session, unsigned int timeout_ms)
{
	uint64_t now = now_ns(), tick = passed + 1;

	while (timeout_ms && buckets[tick % BUCKETS] == NONE && tick < now / TICK + timeout_ms)
		tick++;
	if (timeout_ms && tick > now / TICK) {
		poll(NULL, 0, tick - now / TICK);
		now = now_ns();
	}
	while (passed < now / TICK) {
		passed++;
		run_tick(session, now);
	}
	return 0;
}

static void close_wheel(struct session *session)
{
	free(entries);
}

const struct contender peer = {
	.name = LAZY ? "wheel_lazy" : "wheel_eager",
	.batch = 1,
	.open = open_wheel,
	.add = add,
	.cancel = cancel,
	.rearm = add,
	.take = take,
	.close = close_wheel,
};

const struct peer_traits peer_traits;
