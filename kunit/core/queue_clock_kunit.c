// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit tests for the expiry queue and the queues of a base when the clock is set. No node is
 * lost, early or late, no node is moved unnecessarily, and a step cancels exactly those
 * timers that were added before it and that were not due by the old time. The tests supply
 * the time.
 */
#include <kunit/test.h>
#include <linux/minmax.h>
#include <linux/slab.h>

#include "../../twheel/core/step.h"
#include "../queue.h"
#include "../random.h"

#define SLOTS		8
#define NR_TIMERS	400
#define TICK_NS		10
#define START		100000
#define BUDGET		5

/* Deadline at the start of a tick. */
#define NS(tick)	((u64)(tick) * TICK_NS)

static struct twheel_base *base;
static struct twheel_queue *queue;
static struct twheel_clock_timer *timers;

static void grow(struct kunit *test, struct twheel_wheel *wheel)
{
	do {
		KUNIT_ASSERT_EQ(test, twheel_wheel_add_level(wheel, GFP_KERNEL), 0);
	} while (!twheel_wheel_reaches(wheel, 2 * START));
}

static int clock_init(struct kunit *test)
{
	timers = kunit_kcalloc(test, NR_TIMERS, sizeof(*timers), GFP_KERNEL);
	base = kunit_kzalloc(test, sizeof(*base), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, timers);
	KUNIT_ASSERT_NOT_NULL(test, base);
	queue = &base->queue;
	twheel_queue_init(queue, SLOTS, TICK_NS, START);
	KUNIT_ASSERT_EQ(test, twheel_steps_init(base, GFP_KERNEL), 0);
	grow(test, &queue->wheel);
	grow(test, &base->steps->on_set.wheel);
	return 0;
}

static void clock_exit(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, queue->nr_nodes, 0);
	KUNIT_EXPECT_FALSE(test, twheel_queue_ready(queue));
	KUNIT_EXPECT_FALSE(test, twheel_steps_busy(base->steps));
	queue->nr_nodes = 0;
	twheel_steps_destroy(base);
	twheel_queue_destroy(queue);
}

/* Add a timer with a deadline in ns; with @flags of TWHEEL_TIMER_CANCEL_ON_SET a clock timer. */
static void add_ns(unsigned int i, u64 expires, unsigned long flags)
{
	struct twheel_timer *timer = &timers[i].timer;
	u64 tick = expires == TWHEEL_NEVER ? TWHEEL_TICK_NEVER :
					     twheel_wheel_tick(&queue->wheel, expires);

	timer->node.expires = expires;
	timer->shard_flags = flags;
	twheel_steps_add(base, timer, tick);
}

static void add(unsigned int i, u64 tick)
{
	add_ns(i, NS(tick), 0);
}

static void add_on_set(unsigned int i, u64 tick)
{
	add_ns(i, NS(tick), TWHEEL_TIMER_CANCEL_ON_SET);
}

/* Set the clock from @passed to @now, both in ns. */
static void set(u64 passed, u64 now)
{
	const struct twheel_passed time = {
		.first = passed, .latest = passed, .back = passed > now,
	};

	twheel_steps_begin(base, &time, now / TICK_NS);
}

/* Complete the work of a step. */
static unsigned int run(void)
{
	unsigned int budget, calls = 0;

	do {
		budget = BUDGET;
		calls++;
	} while (twheel_steps_run(base, &budget));
	return calls;
}

/* Remove the next due timer. Return its index, or -1. */
static int pop(bool *cancelled)
{
	struct twheel_node *node = twheel_queue_pop(queue);
	struct twheel_timer *timer;

	if (!node)
		return -1;
	timer = container_of(node, struct twheel_timer, node);
	*cancelled = timer->shard_flags & TWHEEL_TIMER_WAS_SET;
	return container_of(timer, struct twheel_clock_timer, timer) - timers;
}

static void expect_due(struct kunit *test, int i, bool cancelled)
{
	bool was_cancelled = !cancelled;

	KUNIT_EXPECT_EQ(test, pop(&was_cancelled), i);
	KUNIT_EXPECT_EQ(test, was_cancelled, cancelled);
}

static void expect_none_due(struct kunit *test)
{
	bool cancelled;

	KUNIT_EXPECT_EQ(test, pop(&cancelled), -1);
}

static bool advance(u64 tick)
{
	unsigned int budget = BUDGET;

	return twheel_steps_advance(base, tick, &budget);
}

/* Advance tick by tick. Each timer is due at its tick, or at @from if that tick has passed. */
static unsigned int drain(struct kunit *test, u64 from, u64 to)
{
	unsigned int nr = 0;
	bool cancelled;
	u64 now, tick;
	int i;

	for (now = from; now <= to; now++) {
		while (advance(now)) {
			while ((i = pop(&cancelled)) >= 0) {
				tick = twheel_wheel_tick(&queue->wheel,
							 timers[i].timer.node.expires);
				KUNIT_EXPECT_EQ(test, max(tick, from), now);
				KUNIT_EXPECT_FALSE(test, cancelled);
				nr++;
			}
		}
	}
	return nr;
}

static void delete(unsigned int i)
{
	twheel_queue_del(queue, &timers[i].timer.node);
}

static void step_back_moves_no_node(struct kunit *test)
{
	unsigned int i, due = 0, never = 0;
	struct rnd_state random;
	bool cancelled;
	u64 moves;

	random_start(test, &random);
	for (i = 0; i < NR_TIMERS; i++)
		add_ns(i, i % 50 ? NS(START + 3 * random_below(&random, 1666)) : TWHEEL_NEVER, 0);
	/* Some nodes become due and stay due, and some cascade. None is in tick START + 1001. */
	while (twheel_queue_first(queue) <= START + 1000)
		advance(START + 1000);

	moves = queue->nr_cascaded;
	set(NS(START + 1000), NS(START - 3000));
	KUNIT_EXPECT_EQ(test, queue->wheel.now, START - 3000);
	KUNIT_EXPECT_EQ(test, queue->nr_cascaded, moves);
	KUNIT_EXPECT_FALSE(test, twheel_steps_busy(base->steps));
	while (pop(&cancelled) >= 0)
		due++;
	KUNIT_EXPECT_GT(test, due, 0);
	KUNIT_EXPECT_EQ(test, queue->nr_nodes, NR_TIMERS - due);
	for (i = 0; i < NR_TIMERS; i += 50, never++)
		delete(i);
	KUNIT_EXPECT_EQ(test, drain(test, START - 3000, START + 5000), NR_TIMERS - due - never);
}

/* Nothing expired the buckets before the step. Earlier ticks become due first. */
static void passed_nodes_are_due_in_order_after_step_back(struct kunit *test)
{
	unsigned int i, before = 0, tick, last = 0;
	bool cancelled;
	int due;

	for (i = 0; i < NR_TIMERS / 2; i++) {
		tick = START + 1 + i * 37 % 300;
		add_ns(i, NS(tick), i % 3 ? 0 : TWHEEL_TIMER_CANCEL_ON_SET);
		before += i % 3 && tick > START + 150;
	}
	set(NS(START + 150), NS(START - 500));
	/* A deadline that is before the old time and after the new one has not passed. */
	add(NR_TIMERS - 1, START + 100);
	KUNIT_EXPECT_GE(test, run(), NR_TIMERS / 4 / BUDGET);
	for (i = 0; (due = pop(&cancelled)) >= 0; i++) {
		tick = timers[due].timer.node.expires / TICK_NS;
		KUNIT_EXPECT_EQ(test, cancelled, tick > START + 150);
		if (!cancelled)
			KUNIT_EXPECT_GE(test, tick, last);
		last = tick;
	}
	KUNIT_EXPECT_EQ(test, queue->nr_nodes, before + 1);
	KUNIT_EXPECT_EQ(test, drain(test, START - 500, START + 400), before + 1);
}

/* The bucket of the tick that the clock had reached, of a high level, has nodes of other ticks. */
#define REACHED		(START + 160)
#define IN_BUCKET	39

/* Set the clock back and then beyond all nodes of that bucket. */
static void step_back_and_beyond(void)
{
	const struct twheel_passed passed = {
		.first = NS(REACHED) - 1, .latest = NS(REACHED) - 1, .back = true,
	};
	unsigned int i;

	for (i = 0; i < IN_BUCKET; i++)
		add(i, REACHED + 1 + i * 37 % 60);
	twheel_steps_begin(base, &passed, REACHED + 1000);
}

/* The next due timers have the ticks from @last on in their order. Return: the last one. */
static u64 expect_in_order(struct kunit *test, u64 last)
{
	bool cancelled;
	u64 tick;
	int i;

	while ((i = pop(&cancelled)) >= 0) {
		tick = timers[i].timer.node.expires / TICK_NS;
		KUNIT_EXPECT_GE(test, tick, last);
		last = tick;
	}
	return last;
}

/*
 * The budget of a call may suffice for no node, or for a few of them. Between two calls there is
 * nothing, an add, or a further step.
 */
static void nodes_are_placed_before_the_wheel_advances(struct kunit *test)
{
	const struct twheel_passed passed = {
		.first = NS(REACHED + 500), .latest = NS(REACHED + 500), .back = true,
	};
	unsigned int budget, i;
	u64 last;

	for (i = 0; i < 3 * BUDGET; i++) {
		step_back_and_beyond();
		budget = IN_BUCKET + 1 + i / 3;
		last = 0;
		while (twheel_steps_advance(base, REACHED + 1000, &budget)) {
			last = expect_in_order(test, last);
			if (i % 3 == 1)
				twheel_steps_forward(base, REACHED + 1000);
			else if (i % 3 == 2)
				twheel_steps_begin(base, &passed, REACHED + 1000);
			budget = BUDGET;
		}
		KUNIT_EXPECT_EQ(test, queue->nr_nodes, 0);
		twheel_queue_rewind(queue, START);
		twheel_queue_rewind(&base->steps->on_set, START);
	}
}

/* Also if the clock passes their ticks before they have a bucket. */
static void timers_added_during_a_step_are_due_in_order(struct kunit *test)
{
	bool back, cancelled;
	unsigned int i, nr;
	int due[3];

	for (i = 0; i < 3; i++) {
		back = i > 0;
		add_ns(0, NS(START + 94), back ? 0 : TWHEEL_TIMER_CANCEL_ON_SET);
		set(NS(START + (back ? 95 : 15)), NS(START + 20));
		add(1, START + 80);
		add(2, START + 70);
		/* Another step, or as before another add. */
		if (i > 1)
			set(NS(START + 25), NS(START + 85));
		else
			twheel_steps_forward(base, START + 85);
		for (nr = 0; advance(START + 85); )
			while (nr < ARRAY_SIZE(due) && (due[nr] = pop(&cancelled)) >= 0)
				nr++;
		KUNIT_ASSERT_EQ(test, nr, ARRAY_SIZE(due));
		KUNIT_EXPECT_EQ(test, due[0], 0);
		KUNIT_EXPECT_EQ(test, due[1], 2);
		KUNIT_EXPECT_EQ(test, due[2], 1);
		twheel_queue_rewind(queue, START);
		twheel_queue_rewind(&base->steps->on_set, START);
	}
}

/* Of the timers that wait for a bucket, a step cancels those that were not due before it. */
static void timers_without_a_bucket_are_cancelled(struct kunit *test)
{
	unsigned int i, budget;

	add(0, START + 10);
	set(NS(START + 15), NS(START));
	for (i = 1; i < 4 * BUDGET; i++)
		add_on_set(i, START + 20 + i);
	while (base->steps->stepping) {
		/* Nothing of it is left when the step ends. */
		budget = 3;
		twheel_steps_run(base, &budget);
	}
	KUNIT_EXPECT_FALSE(test, list_empty(&base->steps->placing));
	set(NS(START + 20 + 2 * BUDGET), NS(START + 100));
	run();
	expect_due(test, 0, false);
	for (i = 1; i < 4 * BUDGET; i++)
		expect_due(test, i, i > 2 * BUDGET);
}

static void work_completes_despite_frequent_steps(struct kunit *test)
{
	unsigned int i, budget, nr = 0, steps = 0;
	struct rnd_state random;
	bool cancelled;

	random_start(test, &random);
	for (i = 0; i < NR_TIMERS; i++)
		add_on_set(i, START + 1 + random_below(&random, START));
	while (nr < NR_TIMERS && steps++ < NR_TIMERS) {
		set(NS(START), NS(START - steps % 2));
		budget = BUDGET;
		twheel_steps_run(base, &budget);
		while (pop(&cancelled) >= 0)
			nr++;
	}
	KUNIT_EXPECT_EQ(test, nr, NR_TIMERS);
	run();
}

/* An add to a wheel that lags behind would be placed on too high a level. */
static void wheel_without_levels_is_at_the_present(struct kunit *test)
{
	struct twheel_queue *on_set = &base->steps->on_set;

	twheel_queue_destroy(on_set);
	twheel_queue_init(on_set, SLOTS, TICK_NS, START);
	advance(START + 100);
	KUNIT_EXPECT_EQ(test, on_set->wheel.now, START + 100);
	add(0, START + 150);
	set(NS(START + 200), NS(START + 50));
	run();
	KUNIT_EXPECT_EQ(test, on_set->wheel.now, START + 50);
	expect_due(test, 0, false);
}

static void emptied_base_has_no_timers(struct kunit *test)
{
	struct twheel_node *node;
	unsigned int nr = 0;

	add(0, START + 10);
	add_ns(1, TWHEEL_NEVER, TWHEEL_TIMER_CANCEL_ON_SET);
	add_on_set(2, START + 10);
	add_on_set(3, START + 20);
	set(NS(START + 15), NS(START));
	add_on_set(4, START + 10);
	add(5, START + 10);
	while (twheel_queue_take(queue, &node) || twheel_steps_take(base, &node))
		nr += !!node;
	KUNIT_EXPECT_EQ(test, nr, 6);
	queue->nr_nodes = 0;
	run();
}

/* The reaper runs while twheel_stop() empties a base. */
static void emptying_a_base_cancels_nothing(struct kunit *test)
{
	struct twheel_node *node;

	add(0, START + 10);
	set(NS(START + 15), NS(START));
	add(1, START + 10);
	add(2, START + 10);
	KUNIT_EXPECT_TRUE(test, twheel_steps_take(base, &node));
	KUNIT_EXPECT_PTR_EQ(test, node, &timers[1].timer.node);
	queue->nr_nodes--;
	run();
	expect_due(test, 0, false);
	expect_none_due(test);
	advance(START + 10);
	expect_due(test, 2, false);
}

/*
 * The model. For each timer: whether it is pending, is a clock timer, was due when the clock was
 * set, when it was set back, and was cancelled by a step since it was added.
 */
static struct {
	bool	pending;
	bool	on_set;
	bool	due;
	bool	due_back;
	bool	cancelled;
} *model;

static void model_add(struct rnd_state *random, unsigned int i, u64 now)
{
	u64 range = 1ULL << random_below(random, 17), expires = TWHEEL_NEVER;

	if (model[i].pending) {
		delete(i);
		model[i].pending = false;
		return;
	}
	model[i].pending = true;
	model[i].on_set = random_below(random, 4) == 0;
	model[i].due = false;
	model[i].due_back = false;
	model[i].cancelled = false;
	if (random_below(random, 20))
		expires = now + 1 + random_below(random, range);
	twheel_steps_forward(base, now / TICK_NS);
	add_ns(i, expires, model[i].on_set ? TWHEEL_TIMER_CANCEL_ON_SET : 0);
}

static void model_set(u64 from, u64 now)
{
	unsigned int i;
	u64 expires;

	for (i = 0; i < NR_TIMERS; i++) {
		if (!model[i].pending)
			continue;
		expires = timers[i].timer.node.expires;
		model[i].due |= expires <= from && !model[i].cancelled;
		model[i].due_back |= model[i].due && now < from;
		model[i].cancelled |= model[i].on_set && !model[i].due;
	}
	set(from, now);
}

static void model_pop(struct kunit *test, u64 now)
{
	bool cancelled;
	int i;

	while ((i = pop(&cancelled)) >= 0) {
		KUNIT_EXPECT_TRUE(test, model[i].pending);
		KUNIT_EXPECT_EQ(test, model[i].cancelled, cancelled);
		if (!cancelled && !model[i].due)
			KUNIT_EXPECT_LE(test, timers[i].timer.node.expires, now);
		model[i].pending = false;
	}
}

/* Check that exactly the expired and the cancelled timers leave the queue. */
static void model_advance(struct kunit *test, u64 now)
{
	unsigned int i;

	while (advance(now / TICK_NS))
		model_pop(test, now);
	for (i = 0; i < NR_TIMERS; i++) {
		if (!model[i].pending)
			continue;
		/* A timer is late by less than a tick. */
		KUNIT_EXPECT_GT(test, timers[i].timer.node.expires, now - now % TICK_NS);
		KUNIT_EXPECT_FALSE(test, model[i].cancelled);
		KUNIT_EXPECT_FALSE(test, model[i].due_back);
		if (timers[i].timer.node.expires != TWHEEL_NEVER)
			KUNIT_ASSERT_LE(test, twheel_base_next(base),
					twheel_wheel_tick(&queue->wheel,
							  timers[i].timer.node.expires));
	}
}

static void random_steps_match_model(struct kunit *test)
{
	struct rnd_state random;
	unsigned int round, i;
	u64 now = NS(START), from;
	bool settled = true;

	random_start(test, &random);
	model = kunit_kcalloc(test, NR_TIMERS, sizeof(*model), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, model);
	for (round = 0; round < 3000; round++) {
		for (i = random_below(&random, 30); i; i--)
			model_add(&random, random_below(&random, NR_TIMERS), now);
		from = now;
		switch (random_below(&random, 8)) {
		case 0:
			now -= random_below(&random, 1ULL << random_below(&random, 19));
			break;
		case 1:
			now += random_below(&random, 1ULL << random_below(&random, 19));
			break;
		default:
			now += random_below(&random, 1ULL << random_below(&random, 12));
			from = 0;
			break;
		}
		/* Timers that were added during the work of a step are not examined by another. */
		if (from && !settled)
			run();
		if (from)
			model_set(from, now);
		/* Sometimes the clock is set while a bucket is partly emptied. */
		settled = random_below(&random, 2);
		if (settled)
			model_advance(test, now);
		else
			advance(now / TICK_NS);
		now = max_t(u64, now, NS(START));
	}
	for (i = 0; i < NR_TIMERS; i++)
		if (model[i].pending)
			delete(i);
	run();
}

static struct kunit_case clock_cases[] = {
	KUNIT_CASE(step_back_moves_no_node),
	KUNIT_CASE(passed_nodes_are_due_in_order_after_step_back),
	KUNIT_CASE(nodes_are_placed_before_the_wheel_advances),
	KUNIT_CASE(timers_added_during_a_step_are_due_in_order),
	KUNIT_CASE(timers_without_a_bucket_are_cancelled),
	KUNIT_CASE(work_completes_despite_frequent_steps),
	KUNIT_CASE(wheel_without_levels_is_at_the_present),
	KUNIT_CASE(emptied_base_has_no_timers),
	KUNIT_CASE(emptying_a_base_cancels_nothing),
	KUNIT_CASE(random_steps_match_model),
	{}
};

static struct kunit_suite clock_suite = {
	.name		= "twheel_queue_clock",
	.init		= clock_init,
	.exit		= clock_exit,
	.test_cases	= clock_cases,
};

kunit_test_suite(clock_suite);
