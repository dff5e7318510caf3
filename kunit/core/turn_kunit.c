// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit tests for the turns of shards: owners share a reaper fairly, whatever work they have.
 */
#include <kunit/test.h>
#include <linux/completion.h>
#include <linux/jiffies.h>
#include <linux/preempt.h>
#include <linux/slab.h>

#include "../../twheel/core/twheel.h"
#include "../vtime.h"
#include "../wall_clock.h"

#define NR_WHEELS	3
#define NR_TIMERS	1000

/* Wheels of two owners: the first one has two. */
static const unsigned int owner_of[NR_WHEELS] = { 0, 0, 1 };

static struct twheel_reapers *reapers;
static struct twheel_share shares[2];
static struct twheel *wheels[NR_WHEELS];
static struct twheel_timer (*timers)[NR_TIMERS];
static unsigned int fired[NR_WHEELS];

/* What the other wheels had fired when the last one fired its last timer. */
static unsigned int others;

static void count(struct twheel_timer *timer)
{
	unsigned int wheel = (timer - timers[0]) / NR_TIMERS;

	fired[wheel]++;
	if (wheel == NR_WHEELS - 1)
		others = fired[0] + fired[1];
}

/* Make timers of a wheel due at once. */
static void make_due(struct kunit *test, unsigned int wheel, unsigned int nr)
{
	unsigned int i;

	for (i = 0; i < nr; i++)
		KUNIT_EXPECT_EQ(test, twheel_timer_add(&timers[wheel][i], 0), 0);
}

static int turn_init(struct kunit *test)
{
	const struct twheel_config config = { .name = "kunit" };
	unsigned int i, j;

	timers = kunit_kcalloc(test, NR_WHEELS, sizeof(*timers), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, timers);
	reapers = twheel_reapers_create("kunit", 1, false);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, reapers);
	twheel_share_init(&shares[0], &reapers->reaper[0]);
	twheel_share_init(&shares[1], &reapers->reaper[0]);
	for (i = 0; i < NR_WHEELS; i++) {
		fired[i] = 0;
		wheels[i] = twheel_make(&config, reapers, &shares[owner_of[i]]);
		KUNIT_ASSERT_NOT_ERR_OR_NULL(test, wheels[i]);
		for (j = 0; j < NR_TIMERS; j++)
			twheel_timer_init(&timers[i][j], wheels[i], count);
	}
	others = 0;
	return 0;
}

static void turn_exit(struct kunit *test)
{
	unsigned int i;

	for (i = 0; i < NR_WHEELS; i++)
		twheel_destroy(wheels[i]);
	twheel_reapers_destroy(reapers);
}

static void timer_waits_for_one_chunk_of_another_owner(struct kunit *test)
{
	preempt_disable();
	make_due(test, 0, NR_TIMERS);
	make_due(test, 2, 1);
	preempt_enable();
	vtime_sleep(NSEC_PER_SEC);
	KUNIT_EXPECT_EQ(test, fired[0], NR_TIMERS);
	KUNIT_EXPECT_EQ(test, fired[2], 1);
	KUNIT_EXPECT_LE(test, others, 2 * TWHEEL_CHUNK);
}

static void wheels_of_an_owner_share_its_turns(struct kunit *test)
{
	preempt_disable();
	make_due(test, 0, NR_TIMERS);
	make_due(test, 1, NR_TIMERS);
	make_due(test, 2, NR_TIMERS);
	preempt_enable();
	vtime_sleep(NSEC_PER_SEC);
	KUNIT_EXPECT_EQ(test, fired[0] + fired[1], 2 * NR_TIMERS);
	KUNIT_EXPECT_EQ(test, fired[2], NR_TIMERS);
	KUNIT_EXPECT_LE(test, others, NR_TIMERS + 2 * TWHEEL_CHUNK);
	KUNIT_EXPECT_GE(test, others, NR_TIMERS - 2 * TWHEEL_CHUNK);
}

static DECLARE_COMPLETION(began);
static DECLARE_COMPLETION(may_return);

static void wait_for_test(struct twheel_timer *timer)
{
	complete(&began);
	wait_for_completion_timeout(&may_return, 10 * HZ);
}

/* The callback is of another wheel with the same owner, and may wait for a lock of the caller. */
static void wheel_is_destroyed_during_a_callback_of_its_owner(struct kunit *test)
{
	struct twheel_timer timer;

	reinit_completion(&began);
	reinit_completion(&may_return);
	twheel_timer_init_onstack(&timer, wheels[0], wait_for_test);
	KUNIT_EXPECT_EQ(test, twheel_timer_add(&timer, 0), 0);
	wait_for_completion(&began);
	twheel_destroy(wheels[1]);
	wheels[1] = NULL;
	/* It has not given up. */
	KUNIT_EXPECT_EQ(test, twheel_timer_cancel(&timer), -EINPROGRESS);
	complete(&may_return);
	twheel_timer_cancel_sync(&timer);
	twheel_timer_destroy_onstack(&timer);
}

#define NR_IDS		2000

static unsigned int nr_noticed, noticed_before;

static void notice(struct twheel_timer *timer)
{
	nr_noticed++;
}

static void notice_of_other(struct twheel_timer *timer)
{
	noticed_before = nr_noticed;
}

/* The ids of a user namespace have one owner, but each has wheels of its own. */
static void change_of_clock_is_noticed_beside_many_ids_of_another_owner(struct kunit *test)
{
	const struct twheel_config config = { .name = "kunit", .clock = TWHEEL_CLOCK_REALTIME };
	struct twheel_wall_timer *timer;
	struct twheel **wheel;
	unsigned int i;

	timer = kunit_kcalloc(test, NR_IDS + 1, sizeof(*timer), GFP_KERNEL);
	wheel = kunit_kcalloc(test, NR_IDS + 1, sizeof(*wheel), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, timer);
	KUNIT_ASSERT_NOT_NULL(test, wheel);
	nr_noticed = 0;
	noticed_before = UINT_MAX;
	for (i = 0; i <= NR_IDS; i++) {
		wheel[i] = twheel_make(&config, reapers, &shares[i == NR_IDS]);
		KUNIT_ASSERT_NOT_ERR_OR_NULL(test, wheel[i]);
		twheel_wall_timer_init(&timer[i], wheel[i], i < NR_IDS ? notice : notice_of_other,
				       TWHEEL_TIMER_CANCEL_ON_SET);
		KUNIT_EXPECT_EQ(test, twheel_timer_add(&timer[i].timer, TWHEEL_NEVER), 0);
	}
	wall_clock_step(test, NSEC_PER_SEC);
	vtime_sleep(NSEC_PER_SEC);
	wall_clock_step(test, -(s64)NSEC_PER_SEC);
	KUNIT_EXPECT_EQ(test, nr_noticed, NR_IDS);
	/* A turn of each owner, and one that was under way. */
	KUNIT_EXPECT_LE(test, noticed_before, 3);
	for (i = 0; i <= NR_IDS; i++)
		twheel_destroy(wheel[i]);
}

static struct kunit_case turn_cases[] = {
	KUNIT_CASE(timer_waits_for_one_chunk_of_another_owner),
	KUNIT_CASE(wheels_of_an_owner_share_its_turns),
	KUNIT_CASE(wheel_is_destroyed_during_a_callback_of_its_owner),
	KUNIT_CASE(change_of_clock_is_noticed_beside_many_ids_of_another_owner),
	{}
};

static struct kunit_suite turn_suite = {
	.name		= "twheel_turn",
	.init		= turn_init,
	.exit		= turn_exit,
	.test_cases	= turn_cases,
};

kunit_test_suite(turn_suite);
