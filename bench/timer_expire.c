// SPDX-License-Identifier: GPL-2.0
/*
 * Suite timer: cost of calling the functions of timers that are due.
 *
 * The given number of timers is added with deadlines in a time window, but the contender
 * is held, so that no function is called before the window is over. Then it is released,
 * and the time to the call of the last function is measured. The suite sleeps while it
 * waits for this call, so that on a single CPU all of the time is spent on expiry.
 *
 *	burst	deadlines within 100 ms
 *	spread	within 5 s: the same work for contenders that only act at the deadline;
 *		twheel moves timers over more levels, which is included
 *
 * The number of moves per timer is a separate figure. Timers with longer delays than this
 * suite can wait for move three times at the default tick, instead of once or twice.
 *
 * timer_list and hrtimer are held by disabling softirqs, starting shortly before the window.
 */
#include <linux/bits.h>
#include <linux/jiffies.h>
#include <linux/math64.h>
#include <linux/minmax.h>
#include <linux/sched.h>
#include <linux/time64.h>
#include <linux/timekeeping.h>

#include "bench.h"
#include "timer.h"

/* Time from the adds to the start of the window. */
#define LEAD_NS		(100 * NSEC_PER_MSEC)
#define LEAD_EACH_NS	2500

/*
 * The contender is held from EARLY_NS before the window until AFTER_NS and 1 /
 * AFTER_SHARE of the longest delay after it. A timer_list may be late by an eighth of its
 * delay or a jiffy, so all contenders wait for that long.
 */
#define EARLY_NS	(40 * NSEC_PER_MSEC)
#define AFTER_NS	(30 * NSEC_PER_MSEC)
#define AFTER_SHARE	8

/*
 * Slot of level 2 of the default wheel. With an exact clock each window begins with one, since the
 * number of moves depends on its phase.
 */
#define SLOT_NS		BIT_ULL(32)

/* Functions that have not been called after this time never will be. */
#define STUCK		(60 * HZ)

/*
 * The case spread is slow: it is limited to some repetitions, and to many timers. With an exact
 * clock, only a contender that can be held for seconds without spinning is measured.
 */
#define SPREAD_REPS	3
#define SPREAD_MIN	100000

struct window {
	const char	*name;
	u64		length_ns;
	u64		begin_ns;
	u64		release_ns;
};

/* With softirqs disabled, sleeping is not possible. */
static void spin_until(u64 ns)
{
	while (ktime_get_ns() < ns)
		cpu_relax();
}

/*
 * Hold the contender until all timers are due. Returns false if this started too late, so
 * that some timers were already due.
 */
static bool hold_over(const struct timer_set *set, const struct window *window)
{
	bench_sleep_until(window->begin_ns - EARLY_NS);
	set->contender->hold();
	if (ktime_get_ns() >= window->begin_ns)
		return false;
	if (set->contender->sleeps)
		bench_sleep_until(window->release_ns);
	else
		spin_until(window->release_ns);
	timer_fired.awaited = set->nr;
	return true;
}

static int expire_check(const struct timer_set *set, u64 early)
{
	u64 sum = 0;
	u32 i;

	for (i = 0; i < set->nr; i++)
		sum += (unsigned long)set->item[i];
	if (!early && timer_fired.nr == set->nr && timer_fired.sum == sum)
		return 0;
	return bench_failure("%s: %llu of %u called, %llu early, or some called twice",
			     set->contender->name, timer_fired.nr, set->nr, early);
}

static void expire_skip(const struct timer_set *set, const struct window *window,
			const char *reason)
{
	bench_skip(window->name, set->contender->name, "expire", set->nr, reason);
}

/* Measure the expiry of all timers. They have been added. */
static int expire_go(struct timer_set *set, const struct window *window)
{
	const char *of = set->contender->name;
	u64 early, begin, moves = set->contender->moves ? set->contender->moves() : 0;

	if (!hold_over(set, window)) {
		set->contender->release();
		expire_skip(set, window, "held-too-late");
		return 0;
	}
	early = timer_fired.nr;
	begin = ktime_get_ns();
	set->contender->release();
	wait_for_completion_timeout(&timer_fired.all, STUCK);
	if (expire_check(set, early))
		return -EIO;
	bench_sample_ns(window->name, of, "expire", set->nr, timer_fired.end_ns - begin, set->nr);
	if (set->contender->moves)
		bench_sample(window->name, of, "moves", set->nr, "ratio",
			     div_u64((set->contender->moves() - moves) * 1000, set->nr));
	return 0;
}

static int window_run(struct timer_set *set, struct window *window, bool exact)
{
	u64 lead = LEAD_NS + (u64)set->nr * LEAD_EACH_NS, longest, now;
	int err = 0;

	if (!bench_wanted(set->contender->name, window->name))
		return 0;
	timer_set_init(set, true);
	longest = lead + window->length_ns;
	timer_set_delays(set, set->nr, lead, longest);
	if (exact) {
		now = round_up(ktime_get_ns() + NSEC_PER_MSEC + lead, SLOT_NS) - lead;
		bench_sleep_until(now - NSEC_PER_MSEC);
		spin_until(now);
	}
	now = ktime_get_ns();
	window->begin_ns = now + lead;
	window->release_ns = now + longest + longest / AFTER_SHARE + AFTER_NS;
	timer_set_add(set, 0, set->nr);
	if (ktime_get_ns() < window->begin_ns - EARLY_NS)
		err = expire_go(set, window);
	else
		expire_skip(set, window, "adding-took-too-long");
	timer_set_cancel(set, 0, set->nr);
	return err;
}

int timer_expire(const struct timer_contender *contender, const struct bench_config *config,
		 unsigned int rep)
{
	struct window burst = { .name = "burst", .length_ns = 100 * NSEC_PER_MSEC };
	struct window spread = { .name = "spread", .length_ns = 5 * NSEC_PER_SEC };
	bool spread_wanted = config->exact ? contender->sleeps :
			     !config->quick && rep < SPREAD_REPS && config->nr >= SPREAD_MIN;
	struct timer_set set;
	int err;

	err = timer_set_make(&set, contender, config->nr, 0, config->seed + rep);
	if (err)
		return err;
	err = window_run(&set, &burst, config->exact);
	if (!err && spread_wanted)
		err = window_run(&set, &spread, config->exact);
	timer_set_free(&set);
	return err;
}
