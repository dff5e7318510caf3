// SPDX-License-Identifier: GPL-2.0
/*
 * Tests of layer 4, timers: exact over the whole range, in wheels of any shape,
 * for every level that they have and every decade of nanoseconds.
 *
 * All wheels go their way at the same time, while a suite is set up, since a case
 * may take 300 seconds of virtual time only; the cases look at what has come of
 * it.  Time is driven from one moment at which a wheel wants to wake up to the
 * next, so that nobody is ever held up, and years take no longer than there are
 * such moments: by leaps of the machine, which get us two years ahead, and for
 * wheels that go by the wall clock by setting that, which gets us to the last
 * second that it can be set to.  For ticks that no clock comes to see
 * queue_range_kunit.c.
 */
#include <linux/limits.h>
#include <linux/math64.h>
#include <linux/minmax.h>
#include <linux/overflow.h>
#include <linux/string.h>

#include "../../twheel/core/shard.h"
#include "../random.h"
#include "../stats.h"
#include "timer_set.h"
#include "leap.h"

#define YEAR_NS		(365ULL * 24 * 3600 * NSEC_PER_SEC)
/* Those of the system's wheel. */
#define TICK_NS		BIT_ULL(20)
#define SLOTS		64

/**
 * struct shape - what a wheel looks like, and what waits on it
 * @tick_ns: as in &struct twheel_config, as are @slots, @shards and @clock
 * @slots: see there
 * @each: how many timers there are for each horizon
 * @shards: see there
 * @clock: where not all go by the wall clock
 * @slack: of all timers; any slack up to this, unless it is TWHEEL_SLACK_COARSE
 */
struct shape {
	u64			tick_ns;
	unsigned int		slots;
	unsigned int		each;
	unsigned int		shards;
	enum twheel_clock	clock;
	u64			slack;
};

static const struct shape shapes[] = {
	{ TICK_NS, SLOTS, 12 },
	{ TICK_NS, SLOTS, 6, .clock = TWHEEL_CLOCK_BOOTTIME },
	{ TICK_NS, SLOTS, 12, .slack = TWHEEL_SLACK_COARSE },
	{ TICK_NS, SLOTS, 12, .slack = 1000000 * NSEC_PER_SEC },
	{ 1000, 2, 2 },
	{ 1000, 3, 4, .slack = 1000000 * NSEC_PER_SEC },
	{ 1000, 1024, 6 },
	{ 4096, 16, 6 },
	{ 65537, 3, 3 },
	{ 333333, 7, 6, .shards = 3 },
	{ 1000000, 20, 8 },
	{ 1000000, 20, 8, .slack = TWHEEL_SLACK_COARSE },
	{ 100000000, 512, 8 },
	{ 1000000000, 10, 8 },
	{ TWHEEL_TICK_NS_MAX, 2, 4 },
	{ TWHEEL_TICK_NS_MAX, 1024, 8 },
};

#define NR_SHAPES	ARRAY_SIZE(shapes)

static void shape_desc(const struct shape *shape, char *desc)
{
	snprintf(desc, KUNIT_PARAM_DESC_SIZE, "tick %llu ns slots %u shards %u clock %u slack %llu",
		 shape->tick_ns, shape->slots, shape->shards, shape->clock, shape->slack);
}

KUNIT_ARRAY_PARAM(shape, shapes, shape_desc);

/* The first timers of each crowd lie past all that we get to see. */
static const u64 beyond[] = { TWHEEL_NEVER, KTIME_MAX + 1ULL, KTIME_MAX, WALL_END_NS };

#define NR_BEYOND	4U
static_assert(ARRAY_SIZE(beyond) == NR_BEYOND);

/* How far ahead timers may lie: levels, at most 64 of them, and decades. */
struct horizons {
	unsigned int	nr;
	u64		ns[96];
};

/* A wheel, and how it has fared. */
struct traveller {
	struct timer_set		timer_set;
	struct horizons		horizons;
	unsigned int		next;	/* the member that is added next */
	struct twheel_stats	stats;	/* in the end */
};

static struct traveller travellers[NR_SHAPES];
static struct rnd_state passage_random;
/* When the last timers are due, by the clock that is driven. */
static u64 passage_end;
/* That is the wall clock. */
static bool by_wall;

static u64 time_until(u64 end)
{
	u64 now = by_wall ? ktime_get_real_ns() : ktime_get_ns();

	return end > now ? end - now : 1;
}

/* One tick, and on by a factor to the end of the way. */
static void horizons_by(struct horizons *horizons, u64 tick, u64 factor, u64 end)
{
	u64 ns = tick;

	while (ns < end && horizons->nr < ARRAY_SIZE(horizons->ns)) {
		horizons->ns[horizons->nr++] = ns;
		if (check_mul_overflow(ns, factor, &ns))
			break;
	}
}

static int traveller_start(struct traveller *traveller, const struct shape *shape)
{
	struct horizons *horizons = &traveller->horizons;
	const struct twheel_config config = {
		.name = "range", .tick_ns = shape->tick_ns, .slots = shape->slots,
		.shards = shape->shards,
		.clock = by_wall ? TWHEEL_CLOCK_REALTIME : shape->clock,
	};
	u64 end = time_until(passage_end);

	horizons_by(horizons, config.tick_ns, config.slots, end);
	horizons_by(horizons, config.tick_ns, 10, end);
	horizons_by(horizons, end - 1, 2, end);
	return timer_set_start(&traveller->timer_set, &config, NR_BEYOND + shape->each * horizons->nr);
}

/* Mostly anywhere within a horizon, and at times near its very end. */
static u64 random_delay(u64 horizon, u64 tick)
{
	u64 delay;

	if (random_below(&passage_random, 4))
		return random_within(&passage_random, horizon);
	delay = horizon - min(horizon, tick) + random_within(&passage_random, 2 * tick);
	return random_below(&passage_random, 2) ? div64_u64(delay, tick) * tick : delay;
}

/* A slack that does not take a timer past the end, and what it leaves. */
static u64 random_slack(const struct shape *shape, u64 *left)
{
	u64 slack = shape->slack;

	if (slack == TWHEEL_SLACK_COARSE) {
		*left -= *left / 8;
	} else if (slack) {
		slack = random_magnitude(&passage_random, 50) % min(slack, *left);
		*left -= slack;
	}
	return slack;
}

/* Let the next member of a crowd wait; false if all have been. */
static bool traveller_add(struct traveller *traveller)
{
	const struct shape *shape = &shapes[traveller - travellers];
	unsigned int i = traveller->next++;
	struct timer_set *timer_set = &traveller->timer_set;
	u64 left, slack, delay;

	if (i >= timer_set->size)
		return false;
	if (i < NR_BEYOND) {
		timer_set_add(&timer_set->member[i], beyond[i], 0, 0);
		return true;
	}
	left = time_until(passage_end);
	slack = random_slack(shape, &left);
	delay = random_delay(traveller->horizons.ns[i % traveller->horizons.nr],
			     shape->tick_ns);
	delay = min(delay, left);
	timer_set_add(&timer_set->member[i], twheel_deadline_on(timer_set->wheel, delay), slack, 0);
	return true;
}

/* How long until a wheel wants to wake up; U64_MAX if none ever does. */
static u64 nearest(void)
{
	u64 next, now, ahead = U64_MAX;
	unsigned int i;

	for (i = 0; i < NR_SHAPES; i++) {
		next = twheel_next(travellers[i].timer_set.wheel);
		now = twheel_now(travellers[i].timer_set.wheel);
		if (next != TWHEEL_NEVER)
			ahead = min(ahead, next > now ? next - now : 0);
	}
	return ahead;
}

/* Before a wheel wakes up, so that what a leap stirs up has settled. */
#define MARGIN_NS	NSEC_PER_MSEC
/* After that, so that it has seen to what is due. */
#define SETTLE_NS	50000

static void pass(u64 ahead)
{
	u64 when = ktime_get_ns() + ahead;

	if (by_wall && ahead > 3 * NOTICE_NS) {
		wall_set(ktime_get_real_ns() + ahead - 2 * NOTICE_NS);
		when = ktime_get_ns() + 2 * NOTICE_NS;
	} else if (!by_wall && ahead > 2 * MARGIN_NS) {
		vtime_leap_until(when - MARGIN_NS);
	}
	vtime_sleep_until(when + SETTLE_NS);
}

static bool add_to_each(void)
{
	bool added = false;
	unsigned int i;

	for (i = 0; i < NR_SHAPES; i++)
		added |= traveller_add(&travellers[i]);
	return added;
}

/* Those that lie beyond first: they make the reapers start. Then every other one. */
static void depart(void)
{
	unsigned int i;

	for (i = 0; i < NR_BEYOND; i++)
		add_to_each();
	vtime_sleep(NOTICE_NS);
	for (i = 0; i < NR_SHAPES; i++) {
		while (travellers[i].next < travellers[i].timer_set.size / 2) {
			traveller_add(&travellers[i]);
			vtime_sleep(1);
		}
	}
}

/* Half of the timers are added at the start, the others on the way. */
static int travel(void)
{
	unsigned int stops = 0;
	u64 ahead;

	depart();
	while (stops++ < 50000) {
		ahead = nearest();
		/* The last are due at the end, rounded up to a tick. */
		if (ahead < time_until(passage_end + 2 * TWHEEL_TICK_NS_MAX))
			pass(ahead);
		else if (!add_to_each())
			return 0;
		if (stops % 32 == 0)
			add_to_each();
	}
	return -ETIME;
}

static void range_exit(struct kunit_suite *suite)
{
	unsigned int i;

	for (i = 0; i < NR_SHAPES; i++)
		timer_set_end(&travellers[i].timer_set);
}

static int range_run(struct kunit_suite *suite, u64 end)
{
	unsigned int i;
	int err = 0;

	random_start_suite(suite, &passage_random);
	passage_end = end;
	memset(travellers, 0, sizeof(travellers));
	for (i = 0; i < NR_SHAPES && !err; i++)
		err = traveller_start(&travellers[i], &shapes[i]);
	if (!err)
		err = travel();
	if (err) {
		range_exit(suite);
		return err;
	}
	for (i = 0; i < NR_SHAPES; i++)
		travellers[i].stats = stats_of(travellers[i].timer_set.wheel);
	return 0;
}

/* Two years ahead. */
static int years_init(struct kunit_suite *suite)
{
	int err;

	by_wall = false;
	leaps_begin();
	err = range_run(suite, ktime_get_ns() + 2 * YEAR_NS);
	leaps_end();
	return err;
}

/* From as early as the wall clock may be to almost as late as it may. */
static int centuries_init(struct kunit_suite *suite)
{
	s64 offset = wall_offset();
	int err;

	by_wall = true;
	wall_set(ktime_get_ns() + NSEC_PER_SEC);
	err = range_run(suite, WALL_END_NS - 60 * NSEC_PER_SEC);
	wall_restore(offset);
	return err;
}

static const struct traveller *traveller_of(struct kunit *test)
{
	const struct shape *shape = test->param_value;

	return &travellers[shape - shapes];
}

static void each_fires_once_and_on_time(struct kunit *test)
{
	const struct traveller *traveller = traveller_of(test);
	const struct timer_set *timer_set = &traveller->timer_set;
	/* Only those of one tick wait for each other. */
	u64 slop = VTIME_SLOP_NS + min(timer_set_slop(timer_set), twheel_tick_ns(timer_set->wheel));
	unsigned int i;

	for (i = NR_BEYOND; i < timer_set->size; i++)
		expect_exact(test, &timer_set->member[i], slop);
	KUNIT_EXPECT_EQ(test, traveller->stats.fired + NR_BEYOND, timer_set->size);
	KUNIT_EXPECT_EQ(test, traveller->stats.pending, NR_BEYOND);
}

static void what_lies_beyond_goes_on_waiting(struct kunit *test)
{
	const struct timer_set *timer_set = &traveller_of(test)->timer_set;
	unsigned int i;

	for (i = 0; i < NR_BEYOND; i++) {
		KUNIT_EXPECT_EQ(test, timer_set->member[i].nr_fired, 0);
		KUNIT_EXPECT_EQ(test, twheel_timer_cancel(&timer_set->member[i].timer), 0);
	}
}

static void none_moves_more_than_once_a_level(struct kunit *test)
{
	const struct traveller *traveller = traveller_of(test);
	const struct shape *shape = test->param_value;
	const struct timer_set *timer_set = &traveller->timer_set;
	const struct member *member;
	u64 most = 0;
	unsigned int i;

	for (i = 0; i < timer_set->size; i++) {
		member = &timer_set->member[i];
		if (member->deadline <= KTIME_MAX)
			most += level_of_delay(timer_set->wheel, shape->slots,
					 member->latest - member->added);
	}
	KUNIT_EXPECT_LE(test, traveller->stats.cascaded, most);
}

/* And for as long as its reaper has to start, once for nothing. */
static void it_wakes_up_only_to_do_something(struct kunit *test)
{
	const struct traveller *traveller = traveller_of(test);
	const struct shape *shape = test->param_value;
	const struct twheel_stats *stats = &traveller->stats;

	KUNIT_EXPECT_LE(test, stats->wakeups,
			stats->fired + stats->cascaded + (shape->shards ?: 1));
}

static struct kunit_case years_cases[] = {
	KUNIT_CASE_PARAM(each_fires_once_and_on_time, shape_gen_params),
	KUNIT_CASE_PARAM(what_lies_beyond_goes_on_waiting, shape_gen_params),
	KUNIT_CASE_PARAM(none_moves_more_than_once_a_level, shape_gen_params),
	KUNIT_CASE_PARAM(it_wakes_up_only_to_do_something, shape_gen_params),
	{}
};

static struct kunit_suite years_suite = {
	.name		= "twheel_timer_years_ahead",
	.suite_init	= years_init,
	.suite_exit	= range_exit,
	.test_cases	= years_cases,
};

/* Here reapers are also woken by the clock's being set. */
static struct kunit_case centuries_cases[] = {
	KUNIT_CASE_PARAM(each_fires_once_and_on_time, shape_gen_params),
	KUNIT_CASE_PARAM(what_lies_beyond_goes_on_waiting, shape_gen_params),
	KUNIT_CASE_PARAM(none_moves_more_than_once_a_level, shape_gen_params),
	{}
};

static struct kunit_suite centuries_suite = {
	.name		= "twheel_timer_centuries_ahead",
	.suite_init	= centuries_init,
	.suite_exit	= range_exit,
	.test_cases	= centuries_cases,
};

kunit_test_suites(&years_suite, &centuries_suite);
