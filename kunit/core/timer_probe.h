/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the suites of layer 4 share: a wheel, and timers that remember what
 * became of them.
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
	unsigned int		again;		/* how often its function re-arms it */
	u64			after_ns;	/* and how far ahead; 0 for the past */
	u64			takes_ns;	/* how long its function runs */
	bool			running;
	int			cancelled;	/* what cancel says from within */
};

/* Init and exit of a suite: exit finds that nothing is pending. */
int timer_suite_init(struct kunit *test);
void timer_suite_exit(struct kunit *test);

void timer_probe_init(struct timer_probe *probe);
int timer_probe_add(struct timer_probe *probe, u64 delay);
int timer_probe_rearm(struct timer_probe *probe, u64 delay, enum twheel_rearm mode);
void expect_on_time(struct kunit *test, const struct timer_probe *probe);

#endif /* _KUNIT_TIMER_PROBE_H */
