// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit tests for callbacks that run inline in the interrupt of the alarm.
 */
#include <linux/ktime.h>
#include <linux/mm.h>
#include <linux/preempt.h>
#include <linux/time64.h>

#include "../stats.h"
#include "../vtime.h"
#include "timer_probe.h"

static void inline_add(struct timer_probe *probe, u64 deadline)
{
	timer_probe_init_flags(probe, TWHEEL_TIMER_INLINE);
	timer_probe_add_at(probe, deadline);
}

static void expect_inline(struct kunit *test, const struct timer_probe *probe)
{
	expect_on_time(test, probe);
	KUNIT_EXPECT_TRUE(test, probe->in_interrupt);
}

/* Start the reaper and let it sleep again, so that its wakeups can be counted. */
static void settle(void)
{
	static struct timer_probe probe;

	timer_probe_init(&probe);
	timer_probe_add(&probe, 0);
	vtime_sleep(10 * NSEC_PER_MSEC);
}

static void inline_callback_wakes_no_reaper(struct kunit *test)
{
	static struct timer_probe probe;
	u64 wakeups;

	settle();
	wakeups = stats_of(timer_wheel).wakeups;
	inline_add(&probe, twheel_deadline(5 * NSEC_PER_MSEC));
	vtime_sleep(NSEC_PER_SEC);
	expect_inline(test, &probe);
	KUNIT_EXPECT_EQ(test, stats_of(timer_wheel).wakeups, wakeups);
	KUNIT_EXPECT_EQ(test, stats_of(timer_wheel).fired, 2);
}

/* One interrupt runs a limited number of callbacks. The next interrupt follows after a gap. */
static void many_inline_callbacks_take_several_interrupts(struct kunit *test)
{
	static struct timer_probe probes[100];
	unsigned int i, gaps = 0;
	u64 deadline, wakeups;

	settle();
	wakeups = stats_of(timer_wheel).wakeups;
	deadline = twheel_deadline(20 * NSEC_PER_MSEC);
	for (i = 0; i < ARRAY_SIZE(probes); i++)
		inline_add(&probes[i], deadline);
	vtime_sleep(NSEC_PER_SEC);
	for (i = 0; i < ARRAY_SIZE(probes); i++) {
		KUNIT_EXPECT_EQ(test, probes[i].nr_fired, 1);
		KUNIT_EXPECT_TRUE(test, probes[i].in_interrupt);
		KUNIT_EXPECT_GE(test, probes[i].fired, deadline);
		KUNIT_EXPECT_LE(test, probes[i].fired,
				deadline + twheel_tick_ns(timer_wheel) + NSEC_PER_MSEC);
		if (i)
			gaps += probes[i].fired - probes[i - 1].fired > 20 * NSEC_PER_USEC;
	}
	KUNIT_EXPECT_EQ(test, gaps, ARRAY_SIZE(probes) / 16);
	KUNIT_EXPECT_EQ(test, stats_of(timer_wheel).wakeups, wakeups);
}

/*
 * Timers that are not due are in one bucket of 4.3 s, and one of them is due two ticks after its
 * beginning.
 */
static void expect_probe_on_time(struct kunit *test, unsigned int flags)
{
	u64 span = 4096 * twheel_tick_ns(timer_wheel), edge;
	struct timer_probe *probes;
	const unsigned int nr = 20000;
	unsigned int i;

	settle();
	probes = kvcalloc(nr + 1, sizeof(*probes), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, probes);
	edge = (ktime_get_ns() / span + 2) * span;
	for (i = 0; i <= nr; i++) {
		timer_probe_init_flags(&probes[i], flags);
		timer_probe_add_at(&probes[i], edge + (i < nr ? span / 2 + span / 4 / nr * i :
								2 * twheel_tick_ns(timer_wheel)));
	}
	vtime_sleep_until(edge + span);
	for (i = 0; i <= nr; i++)
		expect_on_time(test, &probes[i]);
	kvfree(probes);
}

static void other_inline_timers_of_bucket_delay_no_inline_timer(struct kunit *test)
{
	expect_probe_on_time(test, TWHEEL_TIMER_INLINE);
}

static void other_timers_of_bucket_delay_no_timer(struct kunit *test)
{
	expect_probe_on_time(test, 0);
}

/* The reaper is kept from running, so the alarm moves the timers of the bucket itself. */
static void alarm_moves_inline_timers_if_reaper_has_no_cpu(struct kunit *test)
{
	u64 span = 64 * twheel_tick_ns(timer_wheel), edge;
	static struct timer_probe probes[64];
	unsigned int i;

	settle();
	edge = (ktime_get_ns() / span + 2) * span;
	for (i = 0; i < ARRAY_SIZE(probes); i++)
		inline_add(&probes[i], edge + (2 + i / 4) * twheel_tick_ns(timer_wheel));
	vtime_sleep_until(edge - 2 * NSEC_PER_MSEC);
	preempt_disable();
	vtime_busy(edge + span / 2 - ktime_get_ns());
	for (i = 0; i < ARRAY_SIZE(probes); i++)
		expect_inline(test, &probes[i]);
	preempt_enable();
}

/* An ordinary timer is due first, and this thread keeps the reaper from running. */
static void reaper_without_cpu_does_not_delay_inline_timers(struct kunit *test)
{
	static struct timer_probe ordinary, probe;

	settle();
	timer_probe_init(&ordinary);
	timer_probe_add(&ordinary, 10 * NSEC_PER_MSEC);
	inline_add(&probe, twheel_deadline(20 * NSEC_PER_MSEC));
	preempt_disable();
	vtime_busy(40 * NSEC_PER_MSEC);
	KUNIT_EXPECT_EQ(test, ordinary.nr_fired, 0);
	preempt_enable();
	expect_inline(test, &probe);
	vtime_sleep(10 * NSEC_PER_MSEC);
	KUNIT_EXPECT_EQ(test, ordinary.nr_fired, 1);
}

static struct kunit_case inline_cases[] = {
	KUNIT_CASE(inline_callback_wakes_no_reaper),
	KUNIT_CASE(many_inline_callbacks_take_several_interrupts),
	KUNIT_CASE(other_inline_timers_of_bucket_delay_no_inline_timer),
	KUNIT_CASE(other_timers_of_bucket_delay_no_timer),
	KUNIT_CASE(alarm_moves_inline_timers_if_reaper_has_no_cpu),
	KUNIT_CASE(reaper_without_cpu_does_not_delay_inline_timers),
	{}
};

static struct kunit_suite inline_suite = {
	.name		= "twheel_timer_inline",
	.init		= timer_suite_init,
	.exit		= timer_suite_exit,
	.test_cases	= inline_cases,
};

kunit_test_suite(inline_suite);
