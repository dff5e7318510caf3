// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit tests for timers: each fires once, not early, and on time, on wheels of various shapes, on
 * every level that they have and for every decade of nanoseconds. The suites differ in what happens
 * meanwhile:
 *
 *	years_ahead		the time advances by two years
 *	busy_for_an_hour	a callback blocks each reaper
 *	paused_for_an_hour	the machine stands still
 *
 * After a stall, due timers fire tick by tick, all other timers are exact, and the work is
 * proportional to the number of timers, not to the time that has passed.
 *
 * A case may take only 300 s of virtual time, so the time passes while a suite is
 * initialised, for all wheels at once, and the cases check the result. The test advances
 * the time from one wakeup of a wheel to the next, so that no reaper is delayed and the
 * run time depends on the number of wakeups, not on the length of the range.
 * queue_kunit.c tests ticks that no clock reaches.
 */
#include <kunit/test.h>
#include <linux/atomic.h>
#include <linux/err.h>
#include <linux/limits.h>
#include <linux/math64.h>
#include <linux/minmax.h>
#include <linux/mm.h>
#include <linux/overflow.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "../../twheel/core/shard.h"
#include "../random.h"
#include "../queue.h"
#include "../stats.h"
#include "leap.h"

/* One timer of a set */
struct member {
	struct twheel_wall_part	part;		/* as in &struct twheel_wall_timer */
	struct twheel_timer	timer;
	struct timer_set	*timer_set;	/* the set */
	/* by the clock of the wheel, as are @latest, @added and @fired */
	u64			deadline;
	/* latest expiry, without the overhead of the machine */
	u64			latest;
	u64			added;		/* when it was added */
	u64			fired;		/* when its callback was called */
	unsigned int		nr_fired;	/* number of calls of its callback */
	/* position in the order of all expirations of the set, from 1 */
	unsigned int		rank;
	int			error;		/* return value of twheel_timer_error() */
};

/* A wheel and its timers */
struct timer_set {
	struct twheel	*wheel;
	struct member	*member;
	unsigned int	size;		/* number of timers */
	atomic_t	nr_fired;	/* number of callbacks that have been called */
};

/* Duration of a callback in virtual time: four or five clock reads. */
#define CALL_NS		2000

static void member_fired(struct twheel_timer *timer)
{
	struct member *member = container_of(timer, struct member, timer);

	member->fired = twheel_now(member->timer_set->wheel);
	member->error = twheel_timer_error(timer);
	member->rank = atomic_inc_return(&member->timer_set->nr_fired);
	member->nr_fired++;
}

/* Create a wheel and its timers. The caller must call timer_set_end() in either case. */
static int timer_set_start(struct timer_set *timer_set, const struct twheel_config *config,
			   unsigned int size)
{
	unsigned int i;

	memset(timer_set, 0, sizeof(*timer_set));
	timer_set->wheel = twheel_create(config);
	if (IS_ERR(timer_set->wheel))
		return PTR_ERR(timer_set->wheel);
	timer_set->member = kvcalloc(size, sizeof(*timer_set->member), GFP_KERNEL);
	if (!timer_set->member)
		return -ENOMEM;
	timer_set->size = size;
	for (i = 0; i < size; i++)
		timer_set->member[i].timer_set = timer_set;
	return 0;
}

static void timer_set_end(struct timer_set *timer_set)
{
	if (!IS_ERR_OR_NULL(timer_set->wheel)) {
		twheel_stop(timer_set->wheel, NULL, NULL);
		twheel_destroy(timer_set->wheel);
	}
	kvfree(timer_set->member);
	memset(timer_set, 0, sizeof(*timer_set));
}

/* No clock exceeds KTIME_MAX. */
static u64 sum(u64 a, u64 b)
{
	u64 s;

	return check_add_overflow(a, b, &s) || s > KTIME_MAX ? KTIME_MAX : s;
}

static int timer_set_add(struct member *member, u64 deadline, u64 slack)
{
	struct timer_set *timer_set = member->timer_set;
	u64 allowed = slack;
	int err;

	twheel_wall_timer_init(container_of(&member->timer, struct twheel_wall_timer, timer),
			       timer_set->wheel, member_fired, 0);
	member->deadline = deadline;
	/*
	 * All fields are set before the add, since the timer may fire before the add
	 * returns.
	 */
	preempt_disable();
	member->added = twheel_now(timer_set->wheel);
	if (slack == TWHEEL_SLACK_COARSE)
		allowed = deadline > member->added ? (deadline - member->added) / 8 : 0;
	member->latest = sum(max(deadline, member->added), allowed);
	member->latest = sum(member->latest, twheel_tick_ns(timer_set->wheel));
	err = twheel_timer_add_slack(&member->timer, deadline, slack);
	preempt_enable();
	return err;
}

/* The overhead of the machine if all timers of a set are due at once. */
static u64 timer_set_slop(const struct timer_set *timer_set)
{
	return VTIME_SLOP_NS + timer_set->size * CALL_NS;
}

/* Expect that a timer fired once, not early, and at most @slop after @latest. */
static void expect_exact(struct kunit *test, const struct member *member, u64 slop)
{
	unsigned int i = member - member->timer_set->member;

	KUNIT_EXPECT_EQ_MSG(test, member->nr_fired, 1, "timer %u, %llu ns ahead",
			    i, member->deadline - member->added);
	KUNIT_EXPECT_EQ_MSG(test, member->error, 0, "timer %u", i);
	KUNIT_EXPECT_GE_MSG(test, member->fired, member->deadline,
			    "timer %u, %llu ns ahead", i, member->deadline - member->added);
	KUNIT_EXPECT_LE_MSG(test, member->fired, member->latest + slop,
			    "timer %u, %llu ns ahead", i, member->deadline - member->added);
}

#define HOUR_NS		(3600 * NSEC_PER_SEC)
#define YEAR_NS		(365ULL * 24 * 3600 * NSEC_PER_SEC)
/* The tick and the slots of the system wheel. */
#define TICK_NS		BIT_ULL(20)
#define SLOTS		64

/* A wheel and its timers */
struct shape {
	u64			tick_ns;	/* see &struct twheel_config */
	unsigned int		slots;		/* see &struct twheel_config */
	unsigned int		each;		/* number of timers for each horizon */
	unsigned int		shards;		/* see &struct twheel_config */
	enum twheel_clock	clock;		/* see &struct twheel_config */
	/* maximum of the random slack of each timer, or TWHEEL_SLACK_COARSE */
	u64			slack;
};

static const struct shape shapes[] = {
	{ TICK_NS, SLOTS, 12 },
	{ TICK_NS, SLOTS, 12, .slack = TWHEEL_SLACK_COARSE },
	{ TICK_NS, SLOTS, 12, .slack = 1000000 * NSEC_PER_SEC },
	{ TICK_NS, SLOTS, 6, .clock = TWHEEL_CLOCK_BOOTTIME },
	{ TICK_NS, SLOTS, 6, .clock = TWHEEL_CLOCK_REALTIME },
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

/* Deadlines of the first timers of each set, past the end of the test. */
static const u64 beyond[] = { TWHEEL_NEVER, KTIME_MAX + 1ULL, KTIME_MAX };

#define NR_BEYOND	3U
static_assert(ARRAY_SIZE(beyond) == NR_BEYOND);

/* Maximum delays of timers: one per level, of which there are up to 64, and per decade. */
struct horizons {
	unsigned int	nr;
	u64		ns[96];
};

/* A wheel with its timers and results */
struct wheel_run {
	struct timer_set	timer_set;
	struct horizons		horizons;	/* maximum delays */
	unsigned int		next;		/* index of the next member to add */
	/* the timer with the callback that blocks the reaper */
	struct twheel_wall_timer busy;
	/* start of the stall, by the clock of the wheel; KTIME_MAX without one */
	u64			begin;
	u64			end;		/* end of the stall */
	struct twheel_stats	stats;		/* counters at the end */
};

static struct wheel_run runs[NR_SHAPES];
static struct rnd_state random;
/* When the last timers are due, by CLOCK_MONOTONIC. */
static u64 end_time;

static u64 time_until(u64 end)
{
	u64 now = ktime_get_ns();

	return end > now ? end - now : 1;
}

/* Add horizons from @tick to @end, each of them @factor times the previous one. */
static void horizons_by(struct horizons *horizons, u64 tick, u64 factor, u64 end)
{
	u64 ns = tick;

	while (ns < end && horizons->nr < ARRAY_SIZE(horizons->ns)) {
		horizons->ns[horizons->nr++] = ns;
		if (check_mul_overflow(ns, factor, &ns))
			break;
	}
}

static int wheel_run_start(struct wheel_run *run, const struct shape *shape)
{
	struct horizons *horizons = &run->horizons;
	const struct twheel_config config = {
		.name = "range", .tick_ns = shape->tick_ns, .slots = shape->slots,
		.shards = shape->shards, .clock = shape->clock,
	};
	u64 end = time_until(end_time);

	run->begin = KTIME_MAX;
	horizons_by(horizons, config.tick_ns, config.slots, end);
	horizons_by(horizons, config.tick_ns, 10, end);
	horizons_by(horizons, end - 1, 2, end);
	return timer_set_start(&run->timer_set, &config, NR_BEYOND + shape->each * horizons->nr);
}

/* Return a delay within a horizon, sometimes near its end or slightly past it. */
static u64 random_delay(u64 horizon, u64 tick)
{
	u64 delay;

	if (random_below(&random, 4))
		return random_within(&random, horizon);
	delay = horizon - min(horizon, tick) + random_within(&random, 2 * tick);
	return random_below(&random, 2) ? div64_u64(delay, tick) * tick : delay;
}

/* Return a slack that does not move a timer past the end, and subtract it from @left. */
static u64 random_slack(const struct shape *shape, u64 *left)
{
	u64 slack = shape->slack;

	if (slack == TWHEEL_SLACK_COARSE) {
		*left -= *left / 8;
	} else if (slack) {
		slack = random_magnitude(&random, 50) % min(slack, *left);
		*left -= slack;
	}
	return slack;
}

/* Add the next member of a set. Return false if all members have been added. */
static bool wheel_run_add(struct wheel_run *run)
{
	const struct shape *shape = &shapes[run - runs];
	unsigned int i = run->next++;
	struct timer_set *timer_set = &run->timer_set;
	u64 left, slack, delay;

	if (i >= timer_set->size)
		return false;
	if (i < NR_BEYOND) {
		timer_set_add(&timer_set->member[i], beyond[i], 0);
		return true;
	}
	left = time_until(end_time);
	slack = random_slack(shape, &left);
	delay = random_delay(run->horizons.ns[i % run->horizons.nr],
			     shape->tick_ns);
	delay = min(delay, left);
	timer_set_add(&timer_set->member[i], twheel_deadline_on(timer_set->wheel, delay), slack);
	return true;
}

/* Return the time until the next wakeup of a wheel, or U64_MAX if there is none. */
static u64 next_wakeup(void)
{
	u64 next, now, ahead = U64_MAX;
	unsigned int i;

	for (i = 0; i < NR_SHAPES; i++) {
		next = wheel_next(runs[i].timer_set.wheel);
		now = twheel_now(runs[i].timer_set.wheel);
		if (next != TWHEEL_NEVER)
			ahead = min(ahead, next > now ? next - now : 0);
	}
	return ahead;
}

/* Margin before a wakeup, for the effects of a leap to settle. */
#define MARGIN_NS	NSEC_PER_MSEC
/* Margin after a wakeup, for the wheel to process due timers. */
#define SETTLE_NS	50000

static void advance_time(u64 ahead)
{
	u64 when = ktime_get_ns() + ahead;

	if (ahead > 2 * MARGIN_NS)
		vtime_leap_until(when - MARGIN_NS);
	vtime_sleep_until(when + SETTLE_NS);
}

static bool add_to_each(void)
{
	bool added = false;
	unsigned int i;

	for (i = 0; i < NR_SHAPES; i++)
		added |= wheel_run_add(&runs[i]);
	return added;
}

/* Add the timers past the end first, which start the reapers, and then half of the others. */
static void add_first_half(void)
{
	unsigned int i;

	for (i = 0; i < NR_BEYOND; i++)
		add_to_each();
	vtime_sleep(NOTICE_NS);
	for (i = 0; i < NR_SHAPES; i++) {
		while (runs[i].next < runs[i].timer_set.size / 2) {
			wheel_run_add(&runs[i]);
			vtime_sleep(1);
		}
	}
}

/* Half of the timers are added at the start, the others while time advances. */
static int run_all(void (*stall)(void))
{
	unsigned int stops = 0;
	u64 ahead;

	add_first_half();
	if (stall)
		stall();
	while (stops++ < 50000) {
		ahead = next_wakeup();
		/* The last deadlines are at the end, rounded up to a tick. */
		if (ahead < time_until(end_time + 2 * TWHEEL_TICK_NS_MAX))
			advance_time(ahead);
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
		timer_set_end(&runs[i].timer_set);
}

static int range_run(struct kunit_suite *suite, u64 end, void (*stall)(void))
{
	unsigned int i;
	int err = 0;

	random_start_suite(suite, &random);
	end_time = end;
	memset(runs, 0, sizeof(runs));
	for (i = 0; i < NR_SHAPES && !err; i++)
		err = wheel_run_start(&runs[i], &shapes[i]);
	if (!err)
		err = run_all(stall);
	if (err) {
		range_exit(suite);
		return err;
	}
	for (i = 0; i < NR_SHAPES; i++)
		runs[i].stats = stats_of(runs[i].timer_set.wheel);
	return 0;
}

/* Advance CLOCK_MONOTONIC by two years. */
static int years_init(struct kunit_suite *suite)
{
	int err;

	leaps_begin();
	err = range_run(suite, ktime_get_ns() + 2 * YEAR_NS, NULL);
	leaps_end();
	return err;
}

/* A timer that is due soon shows the whole length of the stall. */
static void add_soon(void)
{
	struct wheel_run *run;

	for (run = runs; run < runs + NR_SHAPES; run++)
		timer_set_add(&run->timer_set.member[run->next++],
			      twheel_deadline_on(run->timer_set.wheel, NSEC_PER_SEC), 0);
}

static void block_reaper(struct twheel_timer *timer)
{
	struct wheel_run *run = container_of(timer, struct wheel_run, busy.timer);

	run->begin = twheel_now(run->timer_set.wheel);
	vtime_sleep(HOUR_NS);
	run->end = twheel_now(run->timer_set.wheel);
}

/* Some timers are added while the reapers are busy. */
static void be_busy(void)
{
	struct wheel_run *run;
	unsigned int i;

	vtime_sleep(60 * NSEC_PER_SEC);
	for (run = runs; run < runs + NR_SHAPES; run++) {
		twheel_wall_timer_init(&run->busy, run->timer_set.wheel, block_reaper, 0);
		twheel_timer_add(&run->busy.timer, twheel_deadline_on(run->timer_set.wheel, 0));
	}
	vtime_sleep(2 * TWHEEL_TICK_NS_MAX);
	add_soon();
	for (i = 0; i < 50; i++) {
		add_to_each();
		vtime_sleep(HOUR_NS / 100);
	}
	for (run = runs; run < runs + NR_SHAPES; run++)
		twheel_flush(run->timer_set.wheel);
}

static void pause_machine(void)
{
	struct wheel_run *run;

	vtime_sleep(60 * NSEC_PER_SEC);
	add_soon();
	for (run = runs; run < runs + NR_SHAPES; run++)
		run->begin = twheel_now(run->timer_set.wheel);
	vtime_leap_until(ktime_get_ns() + HOUR_NS);
	for (run = runs; run < runs + NR_SHAPES; run++)
		run->end = twheel_now(run->timer_set.wheel);
}

static int stall_init(struct kunit_suite *suite, void (*stall)(void))
{
	int err;

	leaps_begin();
	err = range_run(suite, ktime_get_ns() + 3 * HOUR_NS, stall);
	leaps_end();
	return err;
}

static int busy_init(struct kunit_suite *suite)
{
	return stall_init(suite, be_busy);
}

static int paused_init(struct kunit_suite *suite)
{
	return stall_init(suite, pause_machine);
}

static const struct wheel_run *wheel_run_of(struct kunit *test)
{
	const struct shape *shape = test->param_value;

	return &runs[shape - shapes];
}

/* After a stall, the timers of all wheels are due at once. */
static u64 slop_of_all(void)
{
	u64 slop = 0;
	unsigned int i;

	for (i = 0; i < NR_SHAPES; i++)
		slop += timer_set_slop(&runs[i].timer_set);
	return slop;
}

static bool was_delayed(const struct wheel_run *run, const struct member *member)
{
	return member->latest > run->begin && member->deadline <= run->end + slop_of_all();
}

static void timers_fire_once_and_on_time(struct kunit *test)
{
	const struct wheel_run *run = wheel_run_of(test);
	const struct timer_set *timer_set = &run->timer_set;
	/* Only timers of the same tick delay each other. */
	u64 slop = VTIME_SLOP_NS + min(timer_set_slop(timer_set), twheel_tick_ns(timer_set->wheel));
	unsigned int i, delayed = 0;

	for (i = NR_BEYOND; i < timer_set->size; i++) {
		struct member member = timer_set->member[i];

		if (was_delayed(run, &member)) {
			member.latest = max(member.latest, run->end) + slop_of_all();
			delayed++;
		}
		expect_exact(test, &member, slop);
	}
	KUNIT_EXPECT_EQ(test, run->stats.fired + NR_BEYOND, timer_set->size + !!run->busy.timer.fn);
	KUNIT_EXPECT_EQ(test, run->stats.pending, NR_BEYOND);
	/* A stall must affect many timers. */
	if (run->end)
		KUNIT_EXPECT_GT(test, delayed, timer_set->size / 20);
}

/* Timers with slack are due at any tick up to its end. */
static void due_timers_fire_tick_by_tick(struct kunit *test)
{
	const struct wheel_run *run = wheel_run_of(test);
	const struct shape *shape = test->param_value;
	const struct member *member, **order;
	u64 tick, last = 0;
	unsigned int i;

	order = kunit_kcalloc(test, run->timer_set.size, sizeof(*order), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, order);
	for (i = NR_BEYOND; i < run->timer_set.size && !shape->slack; i++) {
		member = &run->timer_set.member[i];
		KUNIT_ASSERT_EQ(test, member->nr_fired, 1);
		order[member->rank - 1] = member;
	}
	for (i = 0; i < run->timer_set.size; i++) {
		member = order[i];
		if (!member || !was_delayed(run, member) || member->added > run->end)
			continue;
		tick = div64_u64(member->deadline - 1, shape->tick_ns);
		KUNIT_ASSERT_GE_MSG(test, tick, last, "expiry %u", i);
		last = tick;
	}
}

static void lateness_is_reported(struct kunit *test)
{
	const struct wheel_run *run = wheel_run_of(test);
	const struct shape *shape = test->param_value;
	u64 hour = div64_u64(HOUR_NS, shape->tick_ns);
	unsigned int i, late = 0;

	KUNIT_EXPECT_LE(test, run->stats.latest_ticks,
			hour + 1 + div64_u64(slop_of_all(), shape->tick_ns));
	KUNIT_EXPECT_GE(test, run->stats.latest_ticks, hour - hour / 20);
	/*
	 * The last bucket has no limit. Timers that the reaper has taken together with the busy one
	 * do not count as late.
	 */
	for (i = NR_BEYOND; i < run->timer_set.size; i++)
		late += run->timer_set.member[i].fired >
			run->timer_set.member[i].latest + HOUR_NS / 4;
	KUNIT_EXPECT_GE(test, run->stats.late[TWHEEL_LATE_BUCKETS - 1], late / 2);
}

static void timers_past_the_end_stay_pending(struct kunit *test)
{
	const struct timer_set *timer_set = &wheel_run_of(test)->timer_set;
	unsigned int i;

	for (i = 0; i < NR_BEYOND; i++) {
		KUNIT_EXPECT_EQ(test, timer_set->member[i].nr_fired, 0);
		KUNIT_EXPECT_EQ(test, twheel_timer_cancel(&timer_set->member[i].timer), 0);
	}
}

static void timers_move_at_most_once_per_level(struct kunit *test)
{
	const struct wheel_run *run = wheel_run_of(test);
	const struct shape *shape = test->param_value;
	const struct timer_set *timer_set = &run->timer_set;
	const struct member *member;
	u64 most = 0, placed;
	unsigned int i;

	for (i = 0; i < timer_set->size; i++) {
		member = &timer_set->member[i];
		/* The time of a wheel stands still while its reaper is blocked. */
		placed = member->added <= run->end ? min(member->added, run->begin) : member->added;
		if (member->deadline <= KTIME_MAX)
			most += level_of_delay(timer_set->wheel, shape->slots,
					       member->latest - placed);
	}
	KUNIT_EXPECT_LE(test, run->stats.cascaded, most);
}

/* In addition, each reaper may wake up once without work when it starts. */
static void each_wakeup_has_work(struct kunit *test)
{
	const struct wheel_run *run = wheel_run_of(test);
	const struct shape *shape = test->param_value;
	const struct twheel_stats *stats = &run->stats;

	KUNIT_EXPECT_LE(test, stats->wakeups,
			stats->fired + stats->cascaded + (shape->shards ?: 1));
}

/* The first three shapes differ in slack only: a bucket of a higher level suits its timers. */
static void slack_reduces_moves(struct kunit *test)
{
	KUNIT_EXPECT_LT(test, 3 * runs[1].stats.cascaded, runs[0].stats.cascaded);
	KUNIT_EXPECT_LT(test, runs[2].stats.cascaded, runs[0].stats.cascaded);
}

static struct kunit_case years_cases[] = {
	KUNIT_CASE_PARAM(timers_fire_once_and_on_time, shape_gen_params),
	KUNIT_CASE_PARAM(timers_past_the_end_stay_pending, shape_gen_params),
	KUNIT_CASE_PARAM(timers_move_at_most_once_per_level, shape_gen_params),
	KUNIT_CASE_PARAM(each_wakeup_has_work, shape_gen_params),
	KUNIT_CASE(slack_reduces_moves),
	{}
};

static struct kunit_suite years_suite = {
	.name		= "twheel_timer_years_ahead",
	.suite_init	= years_init,
	.suite_exit	= range_exit,
	.test_cases	= years_cases,
};

static struct kunit_case busy_cases[] = {
	KUNIT_CASE_PARAM(timers_fire_once_and_on_time, shape_gen_params),
	KUNIT_CASE_PARAM(timers_past_the_end_stay_pending, shape_gen_params),
	KUNIT_CASE_PARAM(due_timers_fire_tick_by_tick, shape_gen_params),
	KUNIT_CASE_PARAM(timers_move_at_most_once_per_level, shape_gen_params),
	KUNIT_CASE_PARAM(each_wakeup_has_work, shape_gen_params),
	KUNIT_CASE_PARAM(lateness_is_reported, shape_gen_params),
	{}
};

static struct kunit_suite busy_suite = {
	.name		= "twheel_timer_busy_for_an_hour",
	.suite_init	= busy_init,
	.suite_exit	= range_exit,
	.test_cases	= busy_cases,
};

static struct kunit_case paused_cases[] = {
	KUNIT_CASE_PARAM(timers_fire_once_and_on_time, shape_gen_params),
	KUNIT_CASE_PARAM(timers_past_the_end_stay_pending, shape_gen_params),
	KUNIT_CASE_PARAM(due_timers_fire_tick_by_tick, shape_gen_params),
	KUNIT_CASE_PARAM(timers_move_at_most_once_per_level, shape_gen_params),
	KUNIT_CASE_PARAM(each_wakeup_has_work, shape_gen_params),
	KUNIT_CASE_PARAM(lateness_is_reported, shape_gen_params),
	{}
};

static struct kunit_suite paused_suite = {
	.name		= "twheel_timer_paused_for_an_hour",
	.suite_init	= paused_init,
	.suite_exit	= range_exit,
	.test_cases	= paused_cases,
};

kunit_test_suites(&years_suite, &busy_suite, &paused_suite);
