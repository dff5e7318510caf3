/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Shared by the suites of timers: a wheel, and timers that record their expiry.
 */
#ifndef _KUNIT_TIMER_PROBE_H
#define _KUNIT_TIMER_PROBE_H

#include <kunit/test.h>
#include <linux/twheel.h>

extern struct twheel *timer_wheel;

struct timer_probe {
	struct twheel_timer	timer;
	u64			deadline;
	u64			fired;
	unsigned int		nr_fired;
	unsigned int		again;		/* how often the callback re-arms the timer */
	u64			after_ns;	/* delay when re-armed; 0 for a past deadline */
	u64			takes_ns;	/* duration of the callback */
	bool			running;
	int			cancelled;	/* result of a cancel in the callback */
};

/* Init and exit functions of a suite. The exit function expects that no timer is pending. */
int timer_suite_init(struct kunit *test);
void timer_suite_exit(struct kunit *test);

/* Replace the wheel of the suite. */
void timer_suite_restart(struct kunit *test, const struct twheel_config *config);

void timer_probe_init(struct timer_probe *probe);
int timer_probe_add(struct timer_probe *probe, u64 delay);
int timer_probe_rearm(struct timer_probe *probe, u64 delay, enum twheel_rearm mode);
void expect_on_time(struct kunit *test, const struct timer_probe *probe);

#endif /* _KUNIT_TIMER_PROBE_H */
