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

	waiting_submit();
	poll(&fd, 1, 60000);
	waiting_events();
}

static int timer;

static void waits_expire_in_order_and_not_early(void)
{
	uint64_t now = now_ns();

	reset();
	for (int i = 0; i < NR_WAITS; i++) {
		deadlines[i] = now + (i * 7919 % NR_WAITS) * 50000;
		wait_add(&waits[i], NULL, 0, 0, deadlines[i]);
	}
	while (nr_ended < NR_WAITS)
		read_events(timer);
	CHECK(nr_ended == NR_WAITS && in_order && last_end == WAIT_EXPIRED);
}

static void wait_completes_at_its_sum(void)
{
	struct wait_key keys[] = { { WAIT_READ, 0 }, { WAIT_READ, 1 } };

	reset();
	wait_add(&waits[0], keys, 2, 10, now_ns() + HOUR_NS);
	wait_signal(WAIT_READ, 0, 4);
	wait_signal(WAIT_READ, 1, 5);
	wait_signal(WAIT_COPY, 0, 100);
	waiting_events();
	CHECK(!nr_ended);
	wait_signal(WAIT_READ, 0, 1);
	read_events(timer);
	CHECK(nr_ended == 1 && last_end == WAIT_COMPLETED);
	wait_signal(WAIT_READ, 1, 10);
	waiting_events();
	CHECK(nr_ended == 1);
}

static void signal_completes_all_watchers(void)
{
	struct wait_key key = { WAIT_ACKS, 63 };

	reset();
	for (int i = 0; i < NR_WAITS; i++)
		wait_add(&waits[i], &key, 1, 1 + i % 2, now_ns() + HOUR_NS);
	wait_signal(WAIT_ACKS, 63, 1);
	read_events(timer);
	CHECK(nr_ended == NR_WAITS / 2);
	wait_signal(WAIT_ACKS, 63, 1);
	read_events(timer);
	CHECK(nr_ended == NR_WAITS);
}

static void complete_ends_a_wait_once(void)
{
	struct wait_key key = { WAIT_ACKS, 0 };

	reset();
	wait_add(&waits[0], &key, 1, 1, now_ns() + HOUR_NS);
	wait_complete(&waits[0]);
	wait_complete(&waits[0]);
	wait_signal(WAIT_ACKS, 0, 1);
	read_events(timer);
	CHECK(nr_ended == 1 && last_end == WAIT_COMPLETED);
}

static void rearm_moves_a_deadline_in_both_directions(void)
{
	uint64_t now = now_ns();

	reset();
	for (int i = 0; i < NR_WAITS; i++) {
		deadlines[i] = now + (i * 7919 % NR_WAITS) * 50000;
		wait_add(&waits[i], NULL, 0, 0, i % 2 ? now : now + HOUR_NS);
	}
	for (int i = 0; i < NR_WAITS; i++)
		wait_alarm(&waits[i], deadlines[i]);
	while (nr_ended < NR_WAITS)
		read_events(timer);
	CHECK(nr_ended == NR_WAITS && in_order);
	/* It has ended: set it again. */
	wait_alarm(&waits[0], now);
	waiting_events();
	CHECK(nr_ended == NR_WAITS + 1);
}

static void stop_ends_all_waits(void)
{
	struct wait_key key = { WAIT_ACKS, 0 };

	reset();
	for (int i = 0; i < NR_WAITS; i++) {
		waits[i].deadline = 0;
		wait_add(&waits[i], &key, 1, 1, now_ns() + HOUR_NS);
	}
	waiting_stop();
	read_events(timer);
	CHECK(nr_ended == NR_WAITS && last_end == WAIT_COMPLETED);
}

int main(void)
{
	static const struct tap_case cases[] = {
		CASE(waits_expire_in_order_and_not_early),
		CASE(wait_completes_at_its_sum),
		CASE(signal_completes_all_watchers),
		CASE(complete_ends_a_wait_once),
		CASE(rearm_moves_a_deadline_in_both_directions),
		CASE(stop_ends_all_waits),
		{ }
	};

	for (int i = 0; i < NR_WAITS; i++)
		waits[i].fn = ended;
	timer = waiting_open(false);
	return timer < 0 || tap_run(cases);
}
