// SPDX-License-Identifier: GPL-2.0
/*
 * Tests of layer 4, clocks: exact however the wall clock is set.  Wheels that go
 * by it hold many timers while it is set forwards and backwards, by little and
 * by much, and after each step it is seen what fired since, and what did not.
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
/* Where the wall clock begins: far from both its ends. */
#define START_NS	(50 * 365 * DAY_NS)

#define SIZE		600
#define LARGE		2000
#define STEPS		120

/**
 * struct walk - what a wheel looks like, and which timers are on it
 * @config: of the wheel
 * @on_set: one timer of so many wants to know that the clock is set; 0 for none
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
	snprintf(desc, KUNIT_PARAM_DESC_SIZE, "tick %llu ns slots %u, told of steps: 1 of %u",
		 walk->config.tick_ns, walk->config.slots, walk->on_set);
}

KUNIT_ARRAY_PARAM(walk, walks, walk_desc);

/* What lies between two steps: the clock runs as any other. */
struct stretch {
	unsigned int	number;
	u64		before;		/* the wall clock before it began */
	u64		wall;		/* when it began, by the wall clock */
	unsigned int	nr_fired;	/* how many had fired until then */
};

static struct timer_set timer_set;
static struct rnd_state random;
static struct stretch stretch;
/* Of each timer: the stretch in which it was added; 0 before that. */
static unsigned int added_in[LARGE];
/* That it has fired, and been looked at: it may be added again. */
static bool vacant[LARGE];
/* That its deadline tells the tick at which it is due. */
static bool plain[LARGE];
/* Those that have fired in a stretch, in that order. */
static const struct member *order[LARGE];
static s64 offset;

static int walk_init(struct kunit *test)
{
	offset = wall_offset();
	wall_set(START_NS);
	stretch = (struct stretch){};
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
 * Mostly ahead, at any distance, but some in the past; some with slack. Those that
 * are told of the next step may also be due never.
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
	added_in[i] = stretch.number;
	plain[i] = !slack && !flags_of(walk, i);
	KUNIT_ASSERT_EQ(test, timer_set_add(&timer_set.member[i], deadline, slack, flags_of(walk, i)), 0);
}

/* Let one in @of begin to wait of those that don't, and some others anew. */
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

/* To anywhere, but not where it can't be set to. */
static void set_anywhere(void)
{
	u64 size = random_magnitude(&random, 54);
	u64 now = ktime_get_real_ns();

	wall_set(random_below(&random, 2) ? now + size : max(now - size, START_NS / 2));
}

/*
 * A step, and at times two at once, unless they come to nothing. Nothing becomes due in
 * between: to which stretch would it belong?
 */
static void step(void)
{
	s64 before = wall_offset();

	local_irq_disable();
	stretch.nr_fired = atomic_read(&timer_set.nr_fired);
	stretch.before = ktime_get_real_ns();
	if (!random_below(&random, 4))
		set_anywhere();
	do {
		set_anywhere();
	} while (wall_offset() == before);
	stretch.number++;
	stretch.wall = ktime_get_real_ns();
	local_irq_enable();
}

/* One that has not fired should not have. */
static void expect_waits(struct kunit *test, const struct walk *walk, unsigned int i)
{
	const struct member *member = &timer_set.member[i];

	KUNIT_ASSERT_TRUE_MSG(test, twheel_timer_pending(&member->timer), "timer %u", i);
	KUNIT_ASSERT_GT_MSG(test, member->latest + timer_set_slop(&timer_set), ktime_get_real_ns(),
			    "timer %u", i);
	/* It would have been told. */
	if (flags_of(walk, i))
		KUNIT_ASSERT_EQ_MSG(test, added_in[i], stretch.number, "timer %u", i);
}

/* Timers that were due before the step fire after it, before all others. */
static bool was_due(const struct member *member)
{
	return member->deadline <= stretch.before;
}

/* One that has fired was neither early nor late, or it was told of the step. */
static void expect_right(struct kunit *test, const struct walk *walk, unsigned int i)
{
	const struct member *member = &timer_set.member[i];
	u64 noticed = stretch.wall + NOTICE_NS;

	KUNIT_ASSERT_EQ_MSG(test, member->nr_fired, 1, "timer %u", i);
	if (member->error) {
		KUNIT_ASSERT_EQ_MSG(test, member->error, -ECANCELED, "timer %u", i);
		KUNIT_ASSERT_TRUE_MSG(test, flags_of(walk, i), "timer %u", i);
		KUNIT_ASSERT_LT_MSG(test, added_in[i], stretch.number, "timer %u", i);
		KUNIT_ASSERT_LE_MSG(test, member->fired, noticed + timer_set_slop(&timer_set),
				    "timer %u", i);
	} else {
		if (!was_due(member))
			KUNIT_ASSERT_GE_MSG(test, member->fired, member->deadline, "timer %u", i);
		KUNIT_ASSERT_LE_MSG(test, member->fired,
				    max(member->latest, noticed) + timer_set_slop(&timer_set),
				    "timer %u", i);
	}
	vacant[i] = true;
}

/* What was pending when the stretch began has fired in the order of its ticks. */
static void expect_ordered(struct kunit *test, unsigned int nr)
{
	u64 tick, last = 0;
	unsigned int i;

	for (i = 0; i < nr; i++) {
		unsigned int m = order[i] - timer_set.member;

		KUNIT_ASSERT_NOT_NULL(test, order[i]);
		if (!plain[m] || added_in[m] == stretch.number || was_due(order[i]))
			continue;
		tick = div64_u64(order[i]->deadline - 1, twheel_tick_ns(timer_set.wheel));
		KUNIT_ASSERT_GE_MSG(test, tick, last, "timer %u", m);
		last = tick;
	}
}

static void expect_stretch(struct kunit *test, const struct walk *walk)
{
	unsigned int i, nr = atomic_read(&timer_set.nr_fired) - stretch.nr_fired;
	const struct member *member;

	KUNIT_ASSERT_LE(test, nr, timer_set.size);
	memset(order, 0, sizeof(order));
	for (i = 0; i < timer_set.size; i++) {
		member = &timer_set.member[i];
		if (vacant[i]) {
			continue;
		} else if (!member->nr_fired) {
			expect_waits(test, walk, i);
		} else if (member->rank > stretch.nr_fired) {
			order[member->rank - stretch.nr_fired - 1] = member;
			expect_right(test, walk, i);
		} else {
			/* In the last moments of the stretch before this. */
			expect_exact(test, member, timer_set_slop(&timer_set));
			vacant[i] = true;
		}
	}
	expect_ordered(test, nr);
}

static void exact_whatever_the_clock_is_set_to(struct kunit *test)
{
	const struct walk *walk = test->param_value;

	random_start(test, &random);
	KUNIT_ASSERT_EQ(test, timer_set_start(&timer_set, &walk->config, SIZE), 0);
	while (stretch.number < STEPS) {
		step();
		/* Who adds a timer may see the step before the reaper does. */
		if (random_below(&random, 2))
			refill(test, walk, 2);
		vtime_sleep(random_magnitude(&random, 26));
		refill(test, walk, 1);
		vtime_sleep(NOTICE_NS + timer_set_slop(&timer_set) + random_magnitude(&random, 29));
		expect_stretch(test, walk);
	}
}

/* All at once, and yet one after the other. */
static void a_large_step_keeps_the_order(struct kunit *test)
{
	const struct walk *walk = test->param_value;
	unsigned int i;

	random_start(test, &random);
	KUNIT_ASSERT_EQ(test, timer_set_start(&timer_set, &walk->config, LARGE), 0);
	for (i = 0; i < LARGE; i++) {
		vacant[i] = false;
		plain[i] = !flags_of(walk, i);
		KUNIT_ASSERT_EQ(test, 0,
				timer_set_add(&timer_set.member[i],
					  START_NS + DAY_NS + random_within(&random, 30 * DAY_NS),
					  0, flags_of(walk, i)));
	}
	vtime_sleep(NSEC_PER_SEC);
	stretch.number++;
	stretch.before = ktime_get_real_ns();
	wall_set(START_NS + 40 * DAY_NS);
	stretch.wall = ktime_get_real_ns();
	vtime_sleep(NOTICE_NS + timer_set_slop(&timer_set));
	KUNIT_EXPECT_EQ(test, atomic_read(&timer_set.nr_fired), LARGE);
	expect_stretch(test, walk);
}

static struct kunit_case walk_cases[] = {
	KUNIT_CASE_PARAM(exact_whatever_the_clock_is_set_to, walk_gen_params),
	KUNIT_CASE_PARAM(a_large_step_keeps_the_order, walk_gen_params),
	{}
};

static struct kunit_suite walk_suite = {
	.name		= "twheel_timer_clock_walk",
	.init		= walk_init,
	.exit		= walk_exit,
	.test_cases	= walk_cases,
};

kunit_test_suite(walk_suite);
