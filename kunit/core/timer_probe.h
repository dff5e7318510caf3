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
	struct twheel_wall_part	part;		/* as in struct twheel_wall_timer */
	struct twheel_timer	timer;
	u64			deadline;	/* by the clock of the wheel, as is @fired */
	u64			fired;
	unsigned int		nr_fired;
	int			error;		/* return value of twheel_timer_error() */
	unsigned int		again;		/* how often the callback re-arms the timer */
	u64			after_ns;	/* delay when re-armed; 0 for a past deadline */
	u64			takes_ns;	/* duration of the callback */
	bool			running;
};

/* Init and exit functions of a suite. The exit function expects that no timer is pending. */
int timer_suite_init(struct kunit *test);
void timer_suite_exit(struct kunit *test);

/* Create the wheel of a suite with a configuration, or replace it. */
int timer_suite_start(struct kunit *test, const struct twheel_config *config);
void timer_suite_restart(struct kunit *test, const struct twheel_config *config);

void timer_probe_init(struct timer_probe *probe);
void timer_probe_init_flags(struct timer_probe *probe, unsigned int flags);
int timer_probe_add_at(struct timer_probe *probe, u64 deadline);
int timer_probe_add(struct timer_probe *probe, u64 delay);
int timer_probe_rearm(struct timer_probe *probe, u64 delay, enum twheel_rearm mode);

/* Expect that a timer fired once, without an error, and late by a tick at most. */
void expect_on_time(struct kunit *test, const struct timer_probe *probe);

#endif /* _KUNIT_TIMER_PROBE_H */
