// SPDX-License-Identifier: GPL-2.0
/*
 * Tests of the parts of the workload that need no device: the random numbers, the queue
 * of due requests, and the accounting, which must find every error.
 */
#include <stdlib.h>

#include "../common/units.h"
#include "load/account.h"
#include "load/due.h"
#include "load/samples.h"
#include "tap.h"

#define NR_SAMPLES	100000

/* The seeds are fixed: a deviation of 2 % is an error, not chance. */
static bool near(double value, double target)
{
	return value > target * 0.98 && value < target * 1.02;
}

static void arrivals(void)
{
	struct samples s;
	double sum = 0;
	int long_ones = 0;

	init_samples(&s, 1, 1000, 20, 60);
	for (int i = 0; i < NR_SAMPLES; i++) {
		__u64 interval = next_interval(&s);

		sum += interval;
		long_ones += interval > NSEC_PER_MSEC;
	}
	CHECK(near(sum / NR_SAMPLES, NSEC_PER_MSEC));
	/* 1/e of the intervals of a Poisson process exceed the mean. */
	CHECK(near((double)long_ones / NR_SAMPLES, 0.367879));
}

static void latencies(void)
{
	int below_pct50 = 0, below_pct75 = 0;
	struct samples s;

	init_samples(&s, 2, 1000, 20, 60);
	for (int i = 0; i < NR_SAMPLES; i++) {
		__u64 latency = next_latency(&s);

		below_pct50 += latency < 20 * NSEC_PER_MSEC;
		below_pct75 += latency < 60 * NSEC_PER_MSEC;
	}
	CHECK(near(below_pct50, 0.50 * NR_SAMPLES));
	CHECK(near(below_pct75, 0.75 * NR_SAMPLES));
}

static void seeds(void)
{
	struct samples a, b, c;
	bool same = true, different = false;

	init_samples(&a, 3, 1000, 20, 60);
	init_samples(&b, 3, 1000, 20, 60);
	init_samples(&c, 4, 1000, 20, 60);
	for (int i = 0; i < 100; i++) {
		__u64 index = next_index(&a, 1000);

		CHECK(index < 1000);
		same = same && index == next_index(&b, 1000);
		different = different || index != next_index(&c, 1000);
	}
	CHECK(same && different);
}

static void due_requests_are_sorted(void)
{
	struct due_queue q;
	struct samples s;
	struct due due;
	__u64 last = 0;
	int nr = 0;

	init_samples(&s, 5, 1000, 20, 60);
	init_due(&q);
	for (size_t i = 0; i < 5000; i++)
		put_due(&q, (struct due){ .time = next_index(&s, 1000) });
	close_due(&q);
	for (; wait_due(&q, &due); nr++) {
		CHECK(due.time >= last);
		last = due.time;
	}
	CHECK(nr == 5000);
	free_due(&q);
}

static void no_request_is_due_early(void)
{
	__u64 time = now_ns() + 20 * NSEC_PER_MSEC;
	struct due_queue q;
	struct due due;

	init_due(&q);
	put_due(&q, (struct due){ .time = time, .request = 7, .id = 8 });
	CHECK(wait_due(&q, &due));
	CHECK(now_ns() >= time);
	CHECK(due.time == time && due.request == 7 && due.id == 8);
	free_due(&q);
}

/* Two requests with a deadline of 100: number 0 completes, number 1 expires. */
static const struct twheel_event completed = {
	.cookie = 0, .value = 1, .deadline = 100, .time = 50,
	.reason = TWHEEL_REASON_COMPLETED,
};

static const struct twheel_event expired = {
	.cookie = 1, .deadline = 100, .time = 103, .reason = TWHEEL_REASON_EXPIRED,
};

static void open_account(struct account *a)
{
	init_account(a, 2);
	a->requests[0] = (struct request){ .not_before = 100, .completed = true };
	a->requests[1] = (struct request){ .not_before = 100 };
}

static bool is_correct(struct account *a)
{
	close_account(a, 2);
	free_account(a);
	return account_holds(a);
}

static void account_accepts_correct_events(void)
{
	struct account a;

	open_account(&a);
	account_event(&a, &completed, 60);
	account_event(&a, &expired, 110);
	CHECK(is_correct(&a));
	CHECK(a.reported == 2 && a.ended[TWHEEL_REASON_COMPLETED] == 1);
	CHECK(a.ended[TWHEEL_REASON_EXPIRED] == 1);
}

static void account_finds_lost_event(void)
{
	struct account a;

	open_account(&a);
	account_event(&a, &completed, 60);
	CHECK(!is_correct(&a));
	CHECK(a.lost == 1 && !a.twice && !a.early && !a.wrong);
}

static void account_knows_interrupted_run(void)
{
	struct account a;

	open_account(&a);
	a.interrupted = true;
	account_event(&a, &completed, 60);
	CHECK(is_correct(&a));
	CHECK(a.unfinished == 1 && !a.lost);

	/* Number 0 was completed: its event is lost. */
	open_account(&a);
	a.interrupted = true;
	account_event(&a, &expired, 110);
	CHECK(!is_correct(&a));
	CHECK(!a.unfinished && a.lost == 1);
}

static void dropped_requests_are_not_due(void)
{
	struct due_queue q;
	struct due due;

	init_due(&q);
	put_due(&q, (struct due){ .time = now_ns() });
	put_due(&q, (struct due){ .time = UINT64_MAX });
	close_due(&q);
	drop_due(&q);
	CHECK(!wait_due(&q, &due));
	free_due(&q);
}

static void account_finds_duplicate_event(void)
{
	struct account a;

	open_account(&a);
	account_event(&a, &completed, 60);
	account_event(&a, &expired, 110);
	account_event(&a, &completed, 120);
	CHECK(!is_correct(&a));
	CHECK(!a.lost && a.twice == 1 && !a.early && !a.wrong);
}

static bool early(__u64 deadline, __u64 time, __u64 seen)
{
	struct twheel_event event = expired;
	struct account a;

	event.deadline = deadline;
	event.time = time;
	open_account(&a);
	account_event(&a, &completed, 60);
	account_event(&a, &event, seen);
	return !is_correct(&a) && a.early == 1 && !a.wrong && !a.twice;
}

static void account_finds_early_event(void)
{
	CHECK(!early(100, 100, 100));
	CHECK(early(100, 99, 110));	/* before the deadline of the event */
	CHECK(early(98, 99, 110));	/* wrong deadline in the event */
	CHECK(early(100, 105, 99));	/* wrong time in the event */
}

static bool wrong(const struct twheel_event *first, const struct twheel_event *second)
{
	struct account a;

	open_account(&a);
	account_event(&a, first, 110);
	account_event(&a, second, 110);
	return !is_correct(&a) && a.wrong;
}

static void account_finds_wrong_event(void)
{
	struct twheel_event event;

	event = completed;
	event.value = 2;
	CHECK(wrong(&event, &expired));
	event = expired;
	event.value = 1;
	CHECK(wrong(&completed, &event));
	event = expired;
	event.cookie = 2;
	CHECK(wrong(&completed, &event));
	event = expired;
	event.reason = TWHEEL_REASON_CANCELLED;
	CHECK(wrong(&completed, &event));

	/* The event contradicts the call that completes the request. */
	event = expired;
	event.cookie = 0;
	CHECK(wrong(&event, &expired));
	event = completed;
	event.cookie = 1;
	event.value = 2;
	CHECK(wrong(&completed, &event));
}

static void percentiles(void)
{
	struct account a;

	init_account(&a, 200);
	CHECK(lateness(&a, 50) == 0);
	for (int i = 0; i < 200; i++) {
		struct twheel_event event = expired;

		event.cookie = i;
		event.time = event.deadline + 200 - i;
		account_event(&a, &event, 1000);
	}
	close_account(&a, 200);
	CHECK(lateness(&a, 50) == 100);
	CHECK(lateness(&a, 99) == 198);
	CHECK(lateness(&a, 100) == 200);
	free_account(&a);
}

int main(void)
{
	static const struct tap_case cases[] = {
		{ "arrivals are a Poisson process", arrivals },
		{ "latencies have the requested percentiles", latencies },
		{ "a seed gives the same requests again", seeds },
		{ "due requests are sorted by time", due_requests_are_sorted },
		{ "no request is due before its time", no_request_is_due_early },
		{ "dropped requests are not due", dropped_requests_are_not_due },
		{ "accounting accepts correct events", account_accepts_correct_events },
		{ "requests that an interrupted run left pending are not lost",
		  account_knows_interrupted_run },
		{ "accounting finds a lost event", account_finds_lost_event },
		{ "accounting finds a duplicate event", account_finds_duplicate_event },
		{ "accounting finds an event that is early by a nanosecond",
		  account_finds_early_event },
		{ "accounting finds a wrong event", account_finds_wrong_event },
		{ "lateness is a percentile of the expired requests", percentiles },
		{ }
	};

	return tap_run(cases);
}
