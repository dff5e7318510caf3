// SPDX-License-Identifier: GPL-2.0
/*
 * Periodic timers.
 *
 * The reaper arms the timer again after the callback has returned: a callback never overlaps
 * with itself, and a slow one delays the next run. A timer that was cancelled during its
 * callback is not accessed any more, since it may have been freed.
 */
#include <linux/bug.h>
#include <linux/build_bug.h>
#include <linux/export.h>
#include <linux/math64.h>
#include <linux/overflow.h>
#include <linux/stddef.h>

#include "shard.h"
#include "timer.h"

/* See twheel_clock_timer(). */
static_assert(offsetof(struct twheel_periodic, generation) ==
	      offsetof(struct twheel_clock_timer, generation));

static u64 deadline_plus(u64 deadline, u64 ns)
{
	u64 sum;

	return check_add_overflow(deadline, ns, &sum) || sum > KTIME_MAX ? TWHEEL_NEVER : sum;
}

/* Count the passed deadlines of a fixed rate as overruns, and advance to the next one. */
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

/* A run. The callback may free the timer. */
void twheel_periodic_fire(struct twheel_timer *timer)
{
	struct twheel_periodic *periodic = container_of(timer, struct twheel_periodic, timer);
	struct twheel_shard *shard = twheel_timer_shard(timer);
	enum twheel_repeat repeat = periodic->repeat;
	u64 deadline, period = periodic->period;
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
	twheel_timer_repeat(shard, timer, deadline);
}

/**
 * twheel_periodic_init - initialise a periodic timer
 * @periodic: the timer, neither pending nor running
 * @wheel: its wheel
 * @fn: callback of each run, called by the reaper without locks. It may start or cancel any
 *	timer, including its own. It may free its own timer in the last run, or after
 *	cancelling it.
 * @flags: TWHEEL_TIMER_CANCEL_ON_SET, for a last run when the clock is set; or 0
 *
 * Context: any.
 */
void twheel_periodic_init(struct twheel_periodic *periodic, struct twheel *wheel,
			  void (*fn)(struct twheel_periodic *periodic), unsigned int flags)
{
	WARN_ON_ONCE(flags & ~TWHEEL_TIMER_CANCEL_ON_SET);
	__twheel_timer_init(&periodic->timer, wheel, twheel_periodic_fire,
			    flags & TWHEEL_TIMER_CANCEL_ON_SET);
	periodic->fn = fn;
	periodic->left = 0;
	periodic->overrun = 0;
}
EXPORT_SYMBOL_GPL(twheel_periodic_init);

/**
 * twheel_periodic_start - start a periodic timer
 * @periodic: the timer, initialised; neither pending nor running, except when its own
 *	callback starts it again
 * @deadline: deadline of the first run, as for twheel_timer_add()
 * @period_ns: period, 1 to 2^63 - 1
 * @runs: number of runs; 0 for no limit
 * @repeat: start of each period
 *
 * The limit on pending timers of the wheel applies to the start only.
 *
 * Context: as twheel_timer_add().
 * Return: as twheel_timer_add(); -EINVAL also for a bad @period_ns or @repeat.
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
	periodic->deadline = deadline;
	periodic->period = period_ns;
	periodic->left = runs ?: U64_MAX;
	periodic->repeat = repeat;
	err = twheel_timer_add(&periodic->timer, deadline);
	if (err) {
		/* If its own callback started it, it continues as before. */
		periodic->deadline = before.deadline;
		periodic->period = before.period;
		periodic->left = before.left;
		periodic->repeat = before.repeat;
	}
	return err;
}
EXPORT_SYMBOL_GPL(twheel_periodic_start);

/**
 * twheel_periodic_overrun - number of missed deadlines
 * @periodic: the timer
 *
 * Context: the callback of the timer.
 * Return: number of deadlines of a fixed rate that had passed when this run began, without the
 * deadline of the run itself.
 */
u64 twheel_periodic_overrun(const struct twheel_periodic *periodic)
{
	return periodic->overrun;
}
EXPORT_SYMBOL_GPL(twheel_periodic_overrun);
