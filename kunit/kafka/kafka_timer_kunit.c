// SPDX-License-Identifier: GPL-2.0
/*
 * The test cases of Kafka's TimerTest, TimingWheelTest, TimerTaskListTest and
 * SystemTimerReaperTest, with the same names. Documentation/cases.rst has the mapping.
 */
#include <linux/ktime.h>
#include <linux/list.h>
#include <linux/math64.h>
#include <linux/sched.h>
#include <linux/sched/task.h>
#include <linux/time64.h>

#include "../queue.h"
#include "../core/timer_probe.h"
#include "../vtime.h"

/* TimerTest and SystemTimerReaperTest, on a wheel with ticks of 1 ms and 3 slots */

static int kafka_timer_init(struct kunit *test)
{
	const struct twheel_config config = {
		.name = "kafka", .tick_ns = NSEC_PER_MSEC, .slots = 3,
	};

	return timer_suite_start(test, &config);
}

static void add_at(struct kunit *test, struct timer_probe *probe, u64 deadline)
{
	timer_probe_init(probe);
	KUNIT_EXPECT_EQ(test, timer_probe_add_at(probe, deadline), 0);
}

/* Due 5 to 1 ms ago, so they fire without waiting for a tick. */
static void already_expired_task(struct kunit *test)
{
	static struct timer_probe probes[5];
	u64 now = ktime_get_ns();
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(probes); i++)
		add_at(test, &probes[i], now - (5 - i) * NSEC_PER_MSEC);
	vtime_sleep_until(now + VTIME_SLOP_NS);
	for (i = 0; i < ARRAY_SIZE(probes); i++)
		KUNIT_EXPECT_EQ(test, probes[i].nr_fired, 1);
}

/* The delays of TimerTest in ms, in order: 0 to 4, 10 to 99 twice, 100 to 499. */
#define NR_TASKS	(5 + 2 * 90 + 400)

static u64 task_delay(unsigned int i)
{
	if (i < 5)
		return i;
	if (i < 5 + 2 * 90)
		return 10 + (i - 5) / 2;
	return 100 + i - (5 + 2 * 90);
}

static void task_expiration(struct kunit *test)
{
	struct timer_probe *probes;
	unsigned int i, j;
	u64 start;

	probes = kunit_kcalloc(test, NR_TASKS, sizeof(*probes), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, probes);
	/* One tick of margin, since the adds take time. */
	start = ktime_get_ns() + NSEC_PER_MSEC;
	for (i = 0; i < NR_TASKS; i++) {
		j = i * 7 % NR_TASKS;
		add_at(test, &probes[j], start + task_delay(j) * NSEC_PER_MSEC);
	}
	vtime_sleep_until(start + 2000 * NSEC_PER_MSEC);

	for (i = 0; i < NR_TASKS; i++) {
		expect_on_time(test, &probes[i]);
		if (i && probes[i - 1].deadline < probes[i].deadline)
			KUNIT_EXPECT_LT(test, probes[i - 1].fired, probes[i].fired);
	}
}

static struct kunit_case timer_cases[] = {
	KUNIT_CASE(already_expired_task),
	KUNIT_CASE(task_expiration),
	{}
};

static struct kunit_suite timer_suite = {
	.name		= "kafka_timer_test",
	.init		= kafka_timer_init,
	.exit		= timer_suite_exit,
	.test_cases	= timer_cases,
};

/* TimingWheelTest, on the queue of a wheel: 10 ms, 5 slots, a clock that starts at 1000 ms */

static struct twheel_queue queue;

static void put(struct kunit *test, struct twheel_node *node, u64 expires)
{
	node->expires = expires;
	while (!twheel_wheel_reaches(&queue.wheel, expires))
		KUNIT_ASSERT_EQ(test, wheel_add_level(&queue.wheel, GFP_KERNEL), 0);
	twheel_queue_add(&queue, node, expires);
}

static void queue_exit(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, queue_nodes(&queue), 0);
	twheel_queue_destroy(&queue);
}

#define TICK_MS		10
#define SLOTS		5
#define START_MS	1000
#define TURN_MS		(TICK_MS * SLOTS)

static int timing_wheel_init(struct kunit *test)
{
	twheel_queue_init(&queue, SLOTS, 1, START_MS / TICK_MS);
	return wheel_add_level(&queue.wheel, GFP_KERNEL);
}

/* Round deadlines up to a tick, as timer adds do. The clock is rounded down. */
static u64 tick_of(u64 deadline_ms)
{
	return DIV_ROUND_UP_ULL(deadline_ms, TICK_MS);
}

static void put_ms(struct kunit *test, struct twheel_node *node, u64 deadline_ms)
{
	put(test, node, tick_of(deadline_ms));
}

/* Returns true if a node is due. */
static bool advance(u64 now_ms)
{
	return queue_advance(&queue, div_u64(now_ms, TICK_MS), 64);
}

static void add_valid_task(struct kunit *test)
{
	struct twheel_node node;

	put_ms(test, &node, START_MS + 2 * TICK_MS);
	KUNIT_EXPECT_EQ(test, queue_nodes(&queue), 1);
	KUNIT_EXPECT_EQ(test, queue_next(&queue), tick_of(START_MS + 2 * TICK_MS));
	KUNIT_EXPECT_FALSE(test, advance(START_MS + 2 * TICK_MS - 1));
	KUNIT_EXPECT_TRUE(test, advance(START_MS + 2 * TICK_MS));
	KUNIT_EXPECT_PTR_EQ(test, twheel_due_pop(&queue.due), &node);
}

/* The node is due at once and is not put into a bucket. */
static void add_expired_task(struct kunit *test)
{
	struct twheel_node node;

	put_ms(test, &node, START_MS - 1);
	KUNIT_EXPECT_EQ(test, queue_next(&queue), START_MS / TICK_MS);
	KUNIT_EXPECT_TRUE(test, advance(START_MS));
	KUNIT_EXPECT_PTR_EQ(test, twheel_due_pop(&queue.due), &node);
}

static void add_cancelled_task(struct kunit *test)
{
	struct twheel_node node;

	put_ms(test, &node, START_MS + 2 * TICK_MS);
	twheel_node_del(&node);
	KUNIT_EXPECT_EQ(test, queue_nodes(&queue), 0);
	KUNIT_EXPECT_TRUE(test, hlist_unhashed(&node.entry));
	KUNIT_EXPECT_FALSE(test, advance(START_MS + TURN_MS));
	KUNIT_EXPECT_NULL(test, twheel_due_pop(&queue.due));
}

/* Kafka's task is due at once, up to a tick early. Here it is due at the end of the tick. */
static void add_task_in_current_bucket(struct kunit *test)
{
	struct twheel_node node;

	put_ms(test, &node, START_MS + 5);
	KUNIT_EXPECT_FALSE(test, advance(START_MS));
	KUNIT_EXPECT_FALSE(test, advance(START_MS + TICK_MS - 1));
	KUNIT_EXPECT_TRUE(test, advance(START_MS + TICK_MS));
	KUNIT_EXPECT_PTR_EQ(test, twheel_due_pop(&queue.due), &node);
}

static void advance_clock_within_tick(struct kunit *test)
{
	KUNIT_EXPECT_FALSE(test, advance(START_MS + 5));
	KUNIT_EXPECT_EQ(test, queue.wheel.now, START_MS / TICK_MS);
}

static void advance_clock_to_next_tick(struct kunit *test)
{
	KUNIT_EXPECT_FALSE(test, advance(START_MS + TICK_MS));
	KUNIT_EXPECT_EQ(test, queue.wheel.now, START_MS / TICK_MS + 1);
}

static void overflow_wheel_creation(struct kunit *test)
{
	struct twheel_node within, first, second;
	struct twheel_bucket *overflow;

	put_ms(test, &within, START_MS + TURN_MS - TICK_MS);
	KUNIT_EXPECT_EQ(test, queue.wheel.nr_levels, 1);

	put_ms(test, &first, START_MS + TURN_MS + TICK_MS);
	KUNIT_ASSERT_EQ(test, queue.wheel.nr_levels, 2);
	overflow = queue.wheel.level[1];

	put_ms(test, &second, START_MS + TURN_MS + TICK_MS + 1);
	KUNIT_EXPECT_EQ(test, queue.wheel.nr_levels, 2);
	KUNIT_EXPECT_PTR_EQ(test, queue.wheel.level[1], overflow);

	twheel_node_del(&within);
	twheel_node_del(&first);
	twheel_node_del(&second);
}

/* All levels use one clock, so the second level reaches one slot further, too. */
static void advance_clock_with_overflow_wheel(struct kunit *test)
{
	u64 far = tick_of(START_MS + TURN_MS * SLOTS);
	struct twheel_node node;

	put_ms(test, &node, START_MS + TURN_MS + TICK_MS);
	KUNIT_EXPECT_EQ(test, queue_next(&queue), tick_of(START_MS + TURN_MS));
	KUNIT_EXPECT_TRUE(test, twheel_wheel_reaches(&queue.wheel, far - 1));
	KUNIT_EXPECT_FALSE(test, twheel_wheel_reaches(&queue.wheel, far));

	KUNIT_EXPECT_TRUE(test, advance(START_MS + TURN_MS + TICK_MS));
	KUNIT_EXPECT_EQ(test, queue.wheel.now, tick_of(START_MS + TURN_MS + TICK_MS));
	KUNIT_EXPECT_PTR_EQ(test, twheel_due_pop(&queue.due), &node);
	KUNIT_EXPECT_TRUE(test, twheel_wheel_reaches(&queue.wheel, far + SLOTS - 1));
	KUNIT_EXPECT_FALSE(test, twheel_wheel_reaches(&queue.wheel, far + SLOTS));
}

static struct kunit_case timing_wheel_cases[] = {
	KUNIT_CASE(add_valid_task),
	KUNIT_CASE(add_expired_task),
	KUNIT_CASE(add_cancelled_task),
	KUNIT_CASE(add_task_in_current_bucket),
	KUNIT_CASE(advance_clock_within_tick),
	KUNIT_CASE(advance_clock_to_next_tick),
	KUNIT_CASE(overflow_wheel_creation),
	KUNIT_CASE(advance_clock_with_overflow_wheel),
	{}
};

static struct kunit_suite timing_wheel_suite = {
	.name		= "kafka_timing_wheel_test",
	.init		= timing_wheel_init,
	.exit		= queue_exit,
	.test_cases	= timing_wheel_cases,
};

/* TimerTaskListTest: Kafka's lists are buckets here, its shared counter is @nr_nodes. */

#define NR_NODES	10
#define LIST_SLOTS	64
#define START		1000

static int task_list_init(struct kunit *test)
{
	twheel_queue_init(&queue, LIST_SLOTS, 1, START);
	return wheel_add_level(&queue.wheel, GFP_KERNEL);
}

static size_t nodes_of(const struct hlist_head *list)
{
	struct hlist_node *pos;
	size_t nr = 0;

	hlist_for_each(pos, list)
		nr++;
	return nr;
}

static void expect_sizes(struct kunit *test, size_t first, size_t second, size_t third)
{
	struct twheel_bucket *bucket = queue.wheel.level[0];

	KUNIT_EXPECT_EQ(test, nodes_of(&bucket[(START + 10) % LIST_SLOTS].nodes[0]), first);
	KUNIT_EXPECT_EQ(test, nodes_of(&bucket[(START + 20) % LIST_SLOTS].nodes[0]), second);
	KUNIT_EXPECT_EQ(test, nodes_of(&bucket[(START + 30) % LIST_SLOTS].nodes[0]), third);
	KUNIT_EXPECT_EQ(test, queue_nodes(&queue), first + second + third);
}

static void all(struct kunit *test)
{
	struct twheel_node nodes[NR_NODES];
	unsigned int i;

	for (i = 0; i < NR_NODES; i++) {
		put(test, &nodes[i], START + 10);
		expect_sizes(test, i + 1, 0, 0);
	}
	for (i = 0; i < NR_NODES; i++) {
		twheel_node_del(&nodes[i]);
		put(test, &nodes[i], START + (i < 4 ? 20 : 30));
		KUNIT_EXPECT_EQ(test, queue_nodes(&queue), NR_NODES);
		if (i == 3)
			expect_sizes(test, 6, 4, 0);
	}
	expect_sizes(test, 0, 4, 6);

	for (i = 0; i < 4; i++)
		twheel_node_del(&nodes[i]);
	expect_sizes(test, 0, 0, 6);
	for (; i < NR_NODES; i++)
		twheel_node_del(&nodes[i]);
	expect_sizes(test, 0, 0, 0);
}

/* With ticks of one second, 5 of 10 have passed. */
static void get_delay(struct kunit *test)
{
	struct twheel_node node;

	put(test, &node, START + 10);
	KUNIT_EXPECT_EQ(test, queue_next(&queue), START + 10);
	KUNIT_EXPECT_FALSE(test, queue_advance(&queue, START + 5, NR_NODES));
	KUNIT_EXPECT_EQ(test, queue_next(&queue) - queue.wheel.now, 5);
	twheel_node_del(&node);
}

static struct kunit_case task_list_cases[] = {
	KUNIT_CASE(all),
	KUNIT_CASE(get_delay),
	{}
};

static struct kunit_suite task_list_suite = {
	.name		= "kafka_timer_task_list_test",
	.init		= task_list_init,
	.exit		= queue_exit,
	.test_cases	= task_list_cases,
};

/* SystemTimerReaperTest */

/* Only the reaper advances the timers. */
static void reaper(struct kunit *test)
{
	static struct timer_probe probes[3];
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(probes); i++)
		add_at(test, &probes[i], twheel_deadline((i + 1) * 100 * NSEC_PER_MSEC));
	vtime_sleep(400 * NSEC_PER_MSEC);
	for (i = 0; i < ARRAY_SIZE(probes); i++)
		expect_on_time(test, &probes[i]);
}

static struct task_struct *reaper_task;

/* The reaper calls the timer function, which saves a reference to it. */
static void save_reaper(struct twheel_timer *timer)
{
	reaper_task = get_task_struct(current);
}

static void reaper_close(struct kunit *test)
{
	static struct timer_probe first, probe;

	reaper_task = NULL;
	timer_probe_init(&first);
	twheel_timer_init(&first.timer, timer_wheel, save_reaper);
	timer_probe_add(&first, 0);
	timer_probe_init(&probe);
	timer_probe_add(&probe, 100 * NSEC_PER_MSEC);
	vtime_sleep(10 * NSEC_PER_MSEC);
	KUNIT_ASSERT_NOT_NULL(test, reaper_task);
	KUNIT_EXPECT_FALSE(test, reaper_task->flags & PF_EXITING);

	KUNIT_EXPECT_EQ(test, twheel_stop(timer_wheel, NULL, NULL), 1);
	twheel_destroy(timer_wheel);
	KUNIT_EXPECT_TRUE(test, reaper_task->flags & PF_EXITING);
	vtime_sleep(200 * NSEC_PER_MSEC);
	KUNIT_EXPECT_EQ(test, probe.nr_fired, 0);
	put_task_struct(reaper_task);
	/* Create a wheel for the exit of the suite. */
	kafka_timer_init(test);
}

/* Ending the first consumer does not affect the second. */
static void shared_timer_between_consumers(struct kunit *test)
{
	static struct timer_probe first[2], second[2];

	add_at(test, &first[0], twheel_deadline(100 * NSEC_PER_MSEC));
	add_at(test, &second[0], twheel_deadline(200 * NSEC_PER_MSEC));
	add_at(test, &first[1], second[0].deadline);
	vtime_sleep(150 * NSEC_PER_MSEC);
	KUNIT_EXPECT_EQ(test, first[0].nr_fired, 1);
	KUNIT_EXPECT_EQ(test, second[0].nr_fired, 0);

	KUNIT_EXPECT_EQ(test, twheel_timer_cancel_sync(&first[0].timer), -EALREADY);
	KUNIT_EXPECT_EQ(test, twheel_timer_cancel_sync(&first[1].timer), 0);
	add_at(test, &second[1], twheel_deadline(100 * NSEC_PER_MSEC));
	vtime_sleep(200 * NSEC_PER_MSEC);
	KUNIT_EXPECT_EQ(test, first[1].nr_fired, 0);
	expect_on_time(test, &first[0]);
	expect_on_time(test, &second[0]);
	expect_on_time(test, &second[1]);
}

static struct kunit_case reaper_cases[] = {
	KUNIT_CASE(reaper),
	KUNIT_CASE(reaper_close),
	KUNIT_CASE(shared_timer_between_consumers),
	{}
};

static struct kunit_suite reaper_suite = {
	.name		= "kafka_system_timer_reaper_test",
	.init		= kafka_timer_init,
	.exit		= timer_suite_exit,
	.test_cases	= reaper_cases,
};

kunit_test_suites(&timer_suite, &timing_wheel_suite, &task_list_suite, &reaper_suite);
