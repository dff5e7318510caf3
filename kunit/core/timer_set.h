/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the suites about exactness share: a wheel with many timers that remember
 * when they were to fire, and when they did.
 */
#ifndef _KUNIT_TIMER_SET_H
#define _KUNIT_TIMER_SET_H

#include <kunit/test.h>
#include <linux/atomic.h>
#include <linux/twheel.h>

/**
 * struct member - one timer of a crowd
 * @timer: the timer
 * @timer_set: whose it is
 * @flags: the timer's
 * @ready: it has been initialised, with these
 * @deadline: by the clock of the wheel, as are @latest, @added and @fired
 * @latest: when it has to have fired, but for the machine's own time
 * @added: when it was added
 * @fired: when its function was called
 * @at: the same by CLOCK_MONOTONIC
 * @nr_fired: how often it was called
 * @rank: the how many-th of the crowd's it was
 * @error: what twheel_timer_error() said
 */
struct member {
	struct twheel_timer	timer;
	struct timer_set		*timer_set;
	unsigned int		flags;
	bool			ready;
	u64			deadline;
	u64			latest;
	u64			added;
	u64			fired;
	u64			at;
	unsigned int		nr_fired;
	unsigned int		rank;
	int			error;
};

/**
 * struct crowd - a wheel and its timers
 * @wheel: the wheel
 * @member: the timers
 * @size: how many there are
 * @nr_fired: how many functions have been called
 */
struct timer_set {
	struct twheel	*wheel;
	struct member	*member;
	unsigned int	size;
	atomic_t	nr_fired;
};

int timer_set_start(struct timer_set *timer_set, const struct twheel_config *config, unsigned int size);
void timer_set_wake(struct timer_set *timer_set);
void timer_set_end(struct timer_set *timer_set);

/* Let a member wait, for the first time or anew; errors as twheel_timer_add(). */
int timer_set_add(struct member *member, u64 deadline, u64 slack, unsigned int flags);

/* The machine's own time, when all of a crowd are due at once. */
u64 timer_set_slop(const struct timer_set *timer_set);

/* It has fired once: not early, and no later than it may, but for the machine's own time. */
void expect_exact(struct kunit *test, const struct member *member, u64 slop);

/* On how high a level what lies so many ticks ahead may be put; the lowest is 0. */
unsigned int level_of(u64 ticks, unsigned int slots);

/*
 * The same for a timer of a wheel: the time by which it is placed may be as old as
 * the kernel's last tick.
 */
unsigned int level_of_delay(const struct twheel *wheel, unsigned int slots, u64 delay);

#endif /* _KUNIT_TIMER_SET_H */
