// SPDX-License-Identifier: GPL-2.0
/*
 * Layer 4, timers that repeat.
 *
 * The timer is armed again by the reaper, after the function has returned: a
 * function never overlaps itself, and one that is slow delays its next run
 * instead of piling up runs.  A timer that was cancelled while its function ran,
 * be it by that, is not touched any more, and may be gone.
 */
#include <linux/bug.h>
#include <linux/export.h>
#include <linux/math64.h>
#include <linux/overflow.h>

#include "shard.h"
#include "timer.h"

static u64 deadline_plus(u64 deadline, u64 ns)
{
	u64 sum;

	return check_add_overflow(deadline, ns, &sum) || sum > KTIME_MAX ? TWHEEL_NEVER : sum;
}

/*
 * Count the deadlines of a fixed rate that have passed besides the one that is
 * served now, and find the first that has not.
 */
static void step_over(struct twheel_periodic *periodic, u64 now)
{
	u64 periods;

	periodic->overrun = 0;
	if (now > periodic->deadline)
		periodic->overrun = div64_u64(now - periodic->deadline, periodic->period);
	if (check_mul_overflow(periodic->overrun + 1, periodic->period, &periods))
		periodic->deadline = TWHEEL_NEVER;
	else
		periodic->deadline = deadline_plus(periodic->deadline, periods);
}

/* A run. Once the function has been called, the timer may be gone. */
void twheel_periodic_fire(struct twheel_timer *timer)
{
	struct twheel_periodic *periodic = container_of(timer, struct twheel_periodic, timer);
	struct twheel_shard *shard = twheel_timer_shard(timer);
	enum twheel_repeat repeat = periodic->repeat;
	u64 deadline, period = periodic->period;
	u32 generation = periodic->generation;
	bool last;

	if (repeat == TWHEEL_FIXED_RATE)
		step_over(periodic, twheel_clock_ns(shard->clock));
	else
		periodic->overrun = 0;
	deadline = periodic->deadline;
	last = twheel_timer_error(timer) || periodic->left == 1;
	if (periodic->left != U64_MAX)
		periodic->left--;

	periodic->fn(periodic);

	if (last)
		return;
	if (repeat == TWHEEL_FIXED_DELAY)
		deadline = deadline_plus(twheel_clock_ns(shard->clock), period);
	twheel_timer_repeat(shard, timer, deadline, generation);
}

/**
 * twheel_periodic_init - make a timer ready that repeats
 * @periodic: the timer, neither pending nor running
 * @wheel: where it will wait
 * @fn: called at each run, by the reaper, with no lock held. It may start or
 *	cancel any timer, and its own, too; it may free its own after it has
 *	cancelled it, or in the last run.
 * @flags: TWHEEL_TIMER_CANCEL_ON_SET, which makes for a last run when the clock
 *	is set; or 0
 *
 * Context: any.
 */
void twheel_periodic_init(struct twheel_periodic *periodic, struct twheel *wheel,
			  void (*fn)(struct twheel_periodic *periodic), unsigned int flags)
{
	WARN_ON_ONCE(flags & ~TWHEEL_TIMER_CANCEL_ON_SET);
	twheel_timer_init_flags(&periodic->timer, wheel, twheel_periodic_fire,
				flags & TWHEEL_TIMER_CANCEL_ON_SET);
	periodic->fn = fn;
	periodic->left = 0;
	periodic->overrun = 0;
}
EXPORT_SYMBOL_GPL(twheel_periodic_init);

/**
 * twheel_periodic_start - let a timer run again and again
 * @periodic: the timer, initialised; neither pending nor running, unless it is
 *	its own function that starts it anew
 * @deadline: of the first run, as in twheel_timer_add()
 * @period_ns: from run to run; 1 to 2^63 - 1
 * @runs: how many runs there are to be, 0 for any number
 * @repeat: from when a period counts
 *
 * The limit on what is pending on a wheel holds for the start; a timer that
 * repeats does not lose its place to others.
 *
 * Context: as twheel_timer_add().
 * Return: as twheel_timer_add(); -EINVAL also for a period out of its range, or no way to
 * repeat.
 */
int twheel_periodic_start(struct twheel_periodic *periodic, u64 deadline, u64 period_ns,
			  u64 runs, enum twheel_repeat repeat)
{
	struct twheel_periodic before;
	int err;

	if (!period_ns || period_ns > KTIME_MAX)
		return -EINVAL;
	if (repeat != TWHEEL_FIXED_RATE && repeat != TWHEEL_FIXED_DELAY)
		return -EINVAL;
	if (twheel_timer_pending(&periodic->timer))
		return -EBUSY;
	before = *periodic;
	periodic->generation = twheel_clock_generation();
	periodic->deadline = deadline;
	periodic->period = period_ns;
	periodic->left = runs ?: U64_MAX;
	periodic->repeat = repeat;
	err = twheel_timer_add(&periodic->timer, deadline);
	if (err) {
		/* If it is its function that starts it, it goes on as before. */
		periodic->generation = before.generation;
		periodic->deadline = before.deadline;
		periodic->period = before.period;
		periodic->left = before.left;
		periodic->repeat = before.repeat;
	}
	return err;
}
EXPORT_SYMBOL_GPL(twheel_periodic_start);

/**
 * twheel_periodic_overrun - how many runs there should have been since the last
 * @periodic: the timer, whose function asks
 *
 * With a fixed rate, deadlines that had passed when this run began are served
 * by it, however many.
 *
 * Context: the function of the timer.
 * Return: their number, without this run's own.
 */
u64 twheel_periodic_overrun(const struct twheel_periodic *periodic)
{
	return periodic->overrun;
}
EXPORT_SYMBOL_GPL(twheel_periodic_overrun);
