// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit tests for clocks: exact expiry when the wall clock is set. Wheels that use
 * CLOCK_REALTIME hold many timers while the clock is set forward and back, by small and
 * large steps. After each step the test checks every timer, fired or pending.
 */
#include <kunit/test.h>
#include <linux/irqflags.h>
#include <linux/math64.h>
#include <linux/minmax.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "../random.h"
#include "timer_set.h"
#include "leap.h"

#define DAY_NS		(24 * 3600 * NSEC_PER_SEC)
/* Initial time of the wall clock, far from both limits. */
#define START_NS	(50 * 365 * DAY_NS)

#define SIZE		600
#define STEPS		120

/**
 * struct walk - a random walk of the wall clock
 * @config: configuration of the wheel
 * @on_set: one in @on_set timers has TWHEEL_TIMER_CANCEL_ON_SET; 0 for none
 */
struct walk {
	struct twheel_config	config;
	unsigned int		on_set;
};

#define WALK(_tick_ns, _slots, _on_set) {					\
	.config = { .name = "walk", .tick_ns = _tick_ns, .slots = _slots,	\
		    .clock = TWHEEL_CLOCK_REALTIME },				\
	.on_set = _on_set,							\
}

static const struct walk walks[] = {
	WALK(0, 0, 0), WALK(0, 0, 7), WALK(1000, 2, 0), WALK(1000, 1024, 5), WALK(333333, 7, 3),
	WALK(100000000, 512, 2), WALK(10000000000, 3, 9),
};

static void walk_desc(const struct walk *walk, char *desc)
{
	snprintf(desc, KUNIT_PARAM_DESC_SIZE, "tick %llu ns slots %u, cancel on set: 1 of %u",
		 walk->config.tick_ns, walk->config.slots, walk->on_set);
}

KUNIT_ARRAY_PARAM(walk, walks, walk_desc);

/* The interval between two steps of the wall clock. */
struct interval {
	unsigned int	number;
	u64		before;		/* wall clock just before the first step */
	u64		wall;		/* wall clock just after the first step */
	unsigned int	nr_fired;	/* timers that had fired before the interval */
};

static struct timer_set timer_set;
static struct rnd_state random;
static struct interval interval;
/* For each timer, the interval in which it was added; 0 before the first. */
static unsigned int added_in[SIZE];
/* The timer has fired and was checked, so it may be added again. */
static bool vacant[SIZE];
/* The timer has neither slack nor flags. */
static bool plain[SIZE];
/* The timers that fired in an interval, in this order. */
static const struct member *order[SIZE];
static s64 offset;

static int walk_init(struct kunit *test)
{
	offset = wall_offset();
	wall_set(START_NS);
	interval = (struct interval){};
	memset(vacant, true, sizeof(vacant));
	memset(added_in, 0, sizeof(added_in));
	return 0;
}

static void walk_exit(struct kunit *test)
{
	timer_set_end(&timer_set);
	wall_restore(offset);
}

static unsigned int flags_of(const struct walk *walk, unsigned int i)
{
	return walk->on_set && i % walk->on_set == 0 ? TWHEEL_TIMER_CANCEL_ON_SET : 0;
}

/*
 * Most deadlines are in the future, at any distance, and some are in the past. Some
 * timers have slack. A cancel-on-set timer may also have no deadline.
 */
static void add(struct kunit *test, const struct walk *walk, unsigned int i)
{
	u64 deadline = ktime_get_real_ns(), slack = 0;

	switch (random_below(&random, 20)) {
	case 0:
		deadline -= random_magnitude(&random, 50);
		break;
	case 1:
		if (flags_of(walk, i)) {
			deadline = TWHEEL_NEVER;
			break;
		}
		fallthrough;
	default:
		deadline += random_magnitude(&random, 53);
	}
	if (!random_below(&random, 4))
		slack = random_magnitude(&random, 50);
	vacant[i] = false;
	added_in[i] = interval.number;
	plain[i] = !slack && !flags_of(walk, i);
	KUNIT_ASSERT_EQ(test, 0, timer_set_add(&timer_set.member[i], deadline, slack,
					       flags_of(walk, i)));
}

/* Cancel a few timers, and add one in @of of the timers that are not pending. */
static void refill(struct kunit *test, const struct walk *walk, unsigned int of)
{
	unsigned int i;

	for (i = 0; i < timer_set.size; i++) {
		if (!vacant[i] && !random_below(&random, 50))
			vacant[i] = !twheel_timer_cancel(&timer_set.member[i].timer);
		if (vacant[i] && !random_below(&random, of))
			add(test, walk, i);
	}
}

/* Set the wall clock to a random time that is far from its limits. */
static void set_anywhere(void)
{
	u64 size = random_magnitude(&random, 54);
	u64 now = ktime_get_real_ns();

	wall_set(random_below(&random, 2) ? now + size : max(now - size, START_NS / 2));
}

/*
 * Step the clock, sometimes by two calls, with a total that is not zero. Interrupts are
 * off so that no timer fires in between, which would belong to neither interval.
 */
static void step(void)
{
	s64 before = wall_offset();

	local_irq_disable();
	interval.nr_fired = atomic_read(&timer_set.nr_fired);
	interval.before = ktime_get_real_ns();
	if (!random_below(&random, 4))
		set_anywhere();
	do {
		set_anywhere();
	} while (wall_offset() == before);
	interval.number++;
	interval.wall = ktime_get_real_ns();
	local_irq_enable();
}

/* The timer may have been taken before the step. */
static bool was_due(unsigned int i)
{
	return added_in[i] != interval.number && timer_set.member[i].deadline <= interval.before;
}

/* Check a pending timer: it is not overdue, and the step should not have cancelled it. */
static void expect_pending(struct kunit *test, const struct walk *walk, unsigned int i)
{
	const struct member *member = &timer_set.member[i];

	KUNIT_ASSERT_TRUE_MSG(test, twheel_timer_pending(&member->timer), "timer %u", i);
	KUNIT_ASSERT_GT_MSG(test, member->latest + timer_set_slop(&timer_set), ktime_get_real_ns(),
			    "timer %u", i);
	/* The step would have cancelled an older timer. */
	if (flags_of(walk, i))
		KUNIT_ASSERT_EQ_MSG(test, added_in[i], interval.number, "timer %u", i);
}

/* Check a fired timer: it was neither early nor late, or the step cancelled it. */
static void expect_fired(struct kunit *test, const struct walk *walk, unsigned int i)
{
	const struct member *member = &timer_set.member[i];
	u64 noticed = interval.wall + NOTICE_NS;

	KUNIT_ASSERT_EQ_MSG(test, member->nr_fired, 1, "timer %u", i);
	if (member->error) {
		KUNIT_ASSERT_EQ_MSG(test, member->error, -ECANCELED, "timer %u", i);
		KUNIT_ASSERT_TRUE_MSG(test, flags_of(walk, i), "timer %u", i);
		KUNIT_ASSERT_LT_MSG(test, added_in[i], interval.number, "timer %u", i);
		KUNIT_ASSERT_LE_MSG(test, member->fired, noticed + timer_set_slop(&timer_set),
				    "timer %u", i);
	} else {
		if (!was_due(i))
			KUNIT_ASSERT_GE_MSG(test, member->fired, member->deadline, "timer %u", i);
		KUNIT_ASSERT_LE_MSG(test, member->fired,
				    max(member->latest, noticed) + timer_set_slop(&timer_set),
				    "timer %u", i);
	}
	vacant[i] = true;
}

/*
 * The timers that were pending at the start of the interval fired in the order of their
 * deadlines.
 */
static void expect_ordered(struct kunit *test, unsigned int nr)
{
	u64 last = 0;
	unsigned int i;

	for (i = 0; i < nr; i++) {
		unsigned int m = order[i] - timer_set.member;

		KUNIT_ASSERT_NOT_NULL(test, order[i]);
		if (!plain[m] || added_in[m] == interval.number || was_due(m))
			continue;
		KUNIT_ASSERT_GE_MSG(test, order[i]->deadline, last, "timer %u", m);
		last = order[i]->deadline;
	}
}

static void expect_interval(struct kunit *test, const struct walk *walk)
{
	unsigned int i, nr = atomic_read(&timer_set.nr_fired) - interval.nr_fired;
	const struct member *member;

	KUNIT_ASSERT_LE(test, nr, timer_set.size);
	memset(order, 0, sizeof(order));
	for (i = 0; i < timer_set.size; i++) {
		member = &timer_set.member[i];
		if (vacant[i]) {
			continue;
		} else if (!member->nr_fired) {
			expect_pending(test, walk, i);
		} else if (member->rank > interval.nr_fired) {
			order[member->rank - interval.nr_fired - 1] = member;
			expect_fired(test, walk, i);
		} else {
			/* The timer fired at the very end of the previous interval. */
			expect_exact(test, member, timer_set_slop(&timer_set));
			vacant[i] = true;
		}
	}
	expect_ordered(test, nr);
}

static void expiry_is_exact_when_clock_is_set(struct kunit *test)
{
	const struct walk *walk = test->param_value;

	random_start(test, &random);
	KUNIT_ASSERT_EQ(test, timer_set_start(&timer_set, &walk->config, SIZE), 0);
	while (interval.number < STEPS) {
		step();
		/* An add may notice the step before the reaper does. */
		if (random_below(&random, 2))
			refill(test, walk, 2);
		vtime_sleep(random_magnitude(&random, 26));
		refill(test, walk, 1);
		vtime_sleep(NOTICE_NS + timer_set_slop(&timer_set) + random_magnitude(&random, 29));
		expect_interval(test, walk);
	}
}

static struct kunit_case walk_cases[] = {
	KUNIT_CASE_PARAM(expiry_is_exact_when_clock_is_set, walk_gen_params),
	{}
};

static struct kunit_suite walk_suite = {
	.name		= "twheel_timer_clock_walk",
	.init		= walk_init,
	.exit		= walk_exit,
	.test_cases	= walk_cases,
};

kunit_test_suite(walk_suite);
