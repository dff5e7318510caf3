// SPDX-License-Identifier: GPL-2.0
/*
 * Requests that wait in a heap.
 */
#include "kit.h"

#define NR_WAITS	1000
#define HOUR_NS		3600000000000ULL

static struct wait waits[NR_WAITS];
static uint64_t deadlines[NR_WAITS];
static int nr_ended;
static enum wait_end last_end;
static uint64_t last_deadline;
static bool in_order;

static void ended(struct wait *wait, enum wait_end end)
{
	uint64_t deadline = deadlines[wait - waits];

	in_order &= deadline >= last_deadline && now_ns() >= deadline;
	last_deadline = deadline;
	last_end = end;
	nr_ended++;
}

static void reset(void)
{
	nr_ended = 0;
	last_deadline = 0;
	in_order = true;
}

static void read_events(int timer)
{
	struct pollfd fd = { .fd = timer, .events = POLLIN };

	waiting_heap.submit();
	poll(&fd, 1, 60000);
	waiting_heap.events();
}

static int timer;

static void waits_expire_in_order_and_not_early(void)
{
	uint64_t now = now_ns();

	reset();
	for (int i = 0; i < NR_WAITS; i++) {
		deadlines[i] = now + (i * 7919 % NR_WAITS) * 50000;
		waiting_heap.add(&waits[i], NULL, 0, 0, deadlines[i]);
	}
	while (nr_ended < NR_WAITS)
		read_events(timer);
	CHECK(nr_ended == NR_WAITS && in_order && last_end == WAIT_EXPIRED);
}

static void wait_completes_at_its_sum(void)
{
	struct wait_key keys[] = { { WAIT_READ, 0 }, { WAIT_READ, 1 } };
	struct wait_key other = { WAIT_COPY, 0 };

	reset();
	waiting_heap.add(&waits[0], keys, 2, 10, now_ns() + HOUR_NS);
	waiting_heap.signal(keys[0], 4);
	waiting_heap.signal(keys[1], 5);
	waiting_heap.signal(other, 100);
	waiting_heap.events();
	CHECK(!nr_ended);
	waiting_heap.signal(keys[0], 1);
	read_events(timer);
	CHECK(nr_ended == 1 && last_end == WAIT_COMPLETED);
	waiting_heap.signal(keys[1], 10);
	waiting_heap.events();
	CHECK(nr_ended == 1);
}

static void signal_completes_all_watchers(void)
{
	struct wait_key key = { WAIT_ACKS, 63 };

	reset();
	for (int i = 0; i < NR_WAITS; i++)
		waiting_heap.add(&waits[i], &key, 1, 1 + i % 2, now_ns() + HOUR_NS);
	waiting_heap.signal(key, 1);
	read_events(timer);
	CHECK(nr_ended == NR_WAITS / 2);
	waiting_heap.signal(key, 1);
	read_events(timer);
	CHECK(nr_ended == NR_WAITS);
}

static void complete_ends_a_wait_once(void)
{
	struct wait_key key = { WAIT_ACKS, 0 };

	reset();
	waiting_heap.add(&waits[0], &key, 1, 1, now_ns() + HOUR_NS);
	waiting_heap.complete(&waits[0]);
	waiting_heap.complete(&waits[0]);
	waiting_heap.signal(key, 1);
	read_events(timer);
	CHECK(nr_ended == 1 && last_end == WAIT_COMPLETED);
}

static void rearm_moves_a_deadline_in_both_directions(void)
{
	uint64_t now = now_ns();

	reset();
	for (int i = 0; i < NR_WAITS; i++) {
		deadlines[i] = now + (i * 7919 % NR_WAITS) * 50000;
		waiting_heap.add(&waits[i], NULL, 0, 0, i % 2 ? now : now + HOUR_NS);
	}
	for (int i = 0; i < NR_WAITS; i++)
		waiting_heap.rearm(&waits[i], deadlines[i]);
	while (nr_ended < NR_WAITS)
		read_events(timer);
	CHECK(nr_ended == NR_WAITS && in_order);
	/* Too late. */
	waiting_heap.rearm(&waits[0], now);
	waiting_heap.events();
	CHECK(nr_ended == NR_WAITS);
}

static void stop_ends_all_waits(void)
{
	struct wait_key key = { WAIT_ACKS, 0 };

	reset();
	for (int i = 0; i < NR_WAITS; i++)
		waiting_heap.add(&waits[i], &key, 1, 1, now_ns() + HOUR_NS);
	waiting_heap.stop();
	read_events(timer);
	CHECK(nr_ended == NR_WAITS && last_end == WAIT_STOPPED);
}

int main(void)
{
	static const struct tap_case cases[] = {
		{ "waits_expire_in_order_and_not_early", waits_expire_in_order_and_not_early },
		{ "wait_completes_at_its_sum", wait_completes_at_its_sum },
		{ "signal_completes_all_watchers", signal_completes_all_watchers },
		{ "complete_ends_a_wait_once", complete_ends_a_wait_once },
		{ "rearm_moves_a_deadline_in_both_directions",
		  rearm_moves_a_deadline_in_both_directions },
		{ "stop_ends_all_waits", stop_ends_all_waits },
		{ }
	};

	for (int i = 0; i < NR_WAITS; i++)
		waits[i].fn = ended;
	timer = waiting_heap.open();
	return timer < 0 || tap_run(cases);
}
