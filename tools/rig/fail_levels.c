// SPDX-License-Identifier: GPL-2.0
/*
 * Fails the allocation of each level of a wheel.
 *
 * A wheel keeps its levels. So each attempt has a new wheel, whose levels do not reach the
 * deadline. The call must succeed without further levels, and the timer must fire, and not early.
 */
#include <linux/twheel.h>
#include <rig/time.h>
#include <rig/work.h>

#include "fail.h"

/* With levels of two slots, even half of this delay needs four more levels. */
#define TICK		NSEC_PER_MSEC
#define DELAY		(40 * TICK)
#define MIN_LEVELS	4
#define MAX_ATTEMPTS	100
#define PATIENCE_MS	20000

static struct twheel *wheel;
static struct twheel_purgatory *purgatory;
static struct workqueue_struct *queue;
static struct twheel_timer timer;
static struct twheel_work work;
static struct twheel_op op;
static u64 due;		/* by the clock of @wheel */
static u64 fired_at;	/* likewise; 0: not yet */

static void fire(void)
{
	__atomic_store_n(&fired_at, twheel_now(wheel), __ATOMIC_RELEASE);
}

static void timer_fires(struct twheel_timer *unused)
{
	fire();
}

static void work_fires(struct work_struct *unused)
{
	fire();
}

static void op_ended(struct twheel_op *unused)
{
	fire();
}

static void op_released(struct twheel_op *unused)
{
}

static const struct twheel_op_ops ops = { .ended = op_ended, .release = op_released };

static int rearm_with(int expected)
{
	int ret = twheel_timer_rearm(&timer, due, TWHEEL_REARM_ALWAYS);

	if (ret < 0)
		return ret;
	return ret == expected ? 0 : -EBUSY;
}

static int op_add_until(u64 deadline)
{
	struct twheel_op_args args = { .deadline = deadline };

	return twheel_op_add(purgatory, &op, &args);
}

/* Calls, and what precedes them */
CALL(nothing_before, 0)
CALL(timer_add, twheel_timer_add(&timer, due))
/* A timer without a deadline needs no level. */
CALL(timer_add_never, twheel_timer_add(&timer, TWHEEL_NEVER))
CALL(timer_rearm, rearm_with(2))
/* If it fails, the timer stays pending. */
CALL(timer_rearm_pending, rearm_with(1))
CALL(work_add, twheel_work_add(&work, due))
CALL(op_add, op_add_until(due))
CALL(op_add_never, op_add_until(TWHEEL_NEVER))
CALL(op_rearm, min(twheel_op_rearm(&op, due, TWHEEL_REARM_ALWAYS), 0))

/* Wheels */

static void begin(void)
{
	struct twheel_config config = {
		.name = "levels", .tick_ns = TICK, .slots = 2, .shards = 1,
	};
	struct twheel_purgatory_config purgatory_config = { .name = "levels", .max_pending = 1 };

	wheel = twheel_create(&config);
	purgatory_config.wheel = wheel;
	purgatory = twheel_purgatory_create(&purgatory_config);
	twheel_timer_init(&timer, wheel, timer_fires);
	twheel_work_init(&work, wheel, queue, work_fires);
	twheel_op_init(&op, &ops);
	fired_at = 0;
}

static void end(void)
{
	twheel_timer_shutdown_sync(&timer);
	twheel_work_cancel_sync(&work);
	twheel_purgatory_destroy(purgatory);
	twheel_op_put(&op);
	twheel_destroy(wheel);
}

static const char *wait_for_fire(void)
{
	unsigned int ms;
	u64 at = 0;

	for (ms = 0; ms < PATIENCE_MS && !at; ms++) {
		msleep(1);
		at = __atomic_load_n(&fired_at, __ATOMIC_ACQUIRE);
	}
	if (!at)
		return "does not fire";
	return at < due ? "fires early" : NULL;
}

/* One attempt, with the @nth allocation failing. Return: an error, or NULL. */
static const char *attempt(unsigned int nth, int (*before)(void), int (*call)(void),
			   bool *was_made, bool *in_time)
{
	const char *wrong = NULL;
	int err;

	begin();
	WARN_ON(before());
	due = twheel_now(wheel) + DELAY;
	*was_made = fail_nth(nth, call, &err);
	*in_time = twheel_now(wheel) < due - DELAY / 2;
	if (*in_time)
		wrong = err ? "fails" : wait_for_fire();
	end();
	return wrong;
}

static void test_level(const char *name, int (*before)(void), int (*call)(void))
{
	s64 allocated = allocated_at_rest();
	bool was_made = true, in_time;
	unsigned int nth = 0, tries;
	const char *wrong = NULL;

	for (tries = 0; tries < MAX_ATTEMPTS && was_made && !wrong; tries++) {
		wrong = attempt(nth + 1, before, call, &was_made, &in_time);
		/* On a busy machine the deadline may be too near in the end. */
		if (in_time)
			nth += was_made;
		else
			was_made = true;
		if (!wrong && !settles_at(allocated))
			wrong = "objects are left";
	}
	if (!wrong && (was_made || nth < MIN_LEVELS))
		wrong = "the wheel has other levels than expected";
	verdict(name, wrong, nth);
}

#define TEST_LEVEL(before, call)	test_level(#call, do_##before, do_##call)

void test_levels(void)
{
	queue = alloc_workqueue("levels", 0, 0);
	TEST_LEVEL(nothing_before, timer_add);
	TEST_LEVEL(nothing_before, timer_rearm);
	TEST_LEVEL(timer_add_never, timer_rearm_pending);
	TEST_LEVEL(nothing_before, op_add);
	TEST_LEVEL(op_add_never, op_rearm);
	TEST_LEVEL(nothing_before, work_add);
	destroy_workqueue(queue);
}
