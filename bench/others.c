// SPDX-License-Identifier: GPL-2.0
/*
 * A thread that adds and cancels timers on a busy wheel.
 *
 * The thread iterates over an array of timers. For each one it first checks the result of
 * the previous iteration: the timer has fired, or is cancelled now, but never both. Then
 * it adds the timer far ahead and cancels it immediately, which is timed. Finally, it
 * adds the timer with a short delay.
 *
 * The thread has a higher priority than the reaper, so that it also runs on a single CPU.
 * The timed add and cancel run with preemption disabled, so that only the wheel can delay
 * them; on PREEMPT_RT this is not possible, since the wheel has sleeping locks there.
 */
#include <linux/delay.h>
#include <linux/err.h>
#include <linux/kthread.h>
#include <linux/minmax.h>
#include <linux/preempt.h>
#include <linux/random.h>
#include <linux/sched.h>
#include <linux/string.h>
#include <linux/time64.h>
#include <linux/timekeeping.h>
#include <linux/twheel.h>

#include "bench.h"

#define OTHERS		64U

/*
 * Accessed by the thread only, except for @fired and @early: they belong to the reaper
 * from the add until the function returns.
 */
struct other {
	struct twheel_timer	timer;
	u64			deadline;
	u64			added;
	u64			cancelled;
	u64			fired;
	u64			early;
};

static struct other other[OTHERS];
static struct twheel *others_wheel;
static struct task_struct *others_task;
static u64 others_turns, others_wrong, others_longest;

static void other_fire(struct twheel_timer *timer)
{
	struct other *o = container_of(timer, struct other, timer);

	o->fired++;
	o->early += twheel_now(others_wheel) < o->deadline;
}

/* After this, the function is not running, so all counters can be read. */
static void other_settle(struct other *o)
{
	o->cancelled += !twheel_timer_cancel(&o->timer);
	twheel_timer_cancel_sync(&o->timer);
	others_wrong += o->added != o->fired + o->cancelled;
	/* Count each error once. */
	o->added = o->fired + o->cancelled;
}

static int other_add(struct other *o, u64 delay_ns)
{
	o->deadline = twheel_deadline_on(others_wheel, delay_ns);
	return twheel_timer_add(&o->timer, o->deadline);
}

static void other_add_cancel(struct other *o)
{
	int added, cancelled;
	u64 begin, end;

	if (!IS_ENABLED(CONFIG_PREEMPT_RT))
		preempt_disable();
	begin = ktime_get_ns();
	added = other_add(o, 10 * NSEC_PER_SEC);
	cancelled = twheel_timer_cancel(&o->timer);
	end = ktime_get_ns();
	if (!IS_ENABLED(CONFIG_PREEMPT_RT))
		preempt_enable();

	others_wrong += added || cancelled;
	others_longest = max(others_longest, end - begin);
}

static int others_thread(void *unused)
{
	struct other *o;

	while (!kthread_should_stop()) {
		o = &other[others_turns++ % OTHERS];
		other_settle(o);
		other_add_cancel(o);
		others_wrong += !!other_add(o, get_random_u32_below(3 * NSEC_PER_MSEC));
		o->added++;
		usleep_range(20, 50);
	}
	return 0;
}

/**
 * others_start - start the thread
 * @wheel: wheel of its timers
 *
 * Return: 0 or a negative error number.
 */
int others_start(struct twheel *wheel)
{
	unsigned int i;

	others_wheel = wheel;
	others_turns = 0;
	others_wrong = 0;
	others_longest = 0;
	memset(other, 0, sizeof(other));
	for (i = 0; i < OTHERS; i++)
		twheel_timer_init(&other[i].timer, wheel, other_fire);
	others_task = kthread_create(others_thread, NULL, "twheel_others");
	if (IS_ERR(others_task))
		return PTR_ERR(others_task);
	sched_set_fifo_low(others_task);
	wake_up_process(others_task);
	return 0;
}

/**
 * others_stop - stop the thread
 * @report: results of its timers, none of which is pending any more
 */
void others_stop(struct others_report *report)
{
	unsigned int i;

	kthread_stop(others_task);
	*report = (struct others_report){
		.turns		= others_turns,
		.longest_ns	= others_longest,
	};
	for (i = 0; i < OTHERS; i++) {
		other_settle(&other[i]);
		report->fired += other[i].fired;
		report->cancelled += other[i].cancelled;
		report->wrong += other[i].early;
	}
	report->wrong += others_wrong;
}
