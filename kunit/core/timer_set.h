/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Shared by the suites that test exact expiry: a wheel with many timers that record their
 * deadlines and their expiry.
 */
#ifndef _KUNIT_TIMER_SET_H
#define _KUNIT_TIMER_SET_H

#include <kunit/test.h>
#include <linux/atomic.h>
#include <linux/twheel.h>

/**
 * struct member - one timer of a set
 * @part: as in &struct twheel_wall_timer
 * @timer: the timer
 * @timer_set: the set
 * @deadline: by the clock of the wheel, as are @latest, @added and @fired
 * @latest: latest expiry, without the overhead of the machine
 * @added: when it was added
 * @fired: when its callback was called
 * @nr_fired: number of calls of its callback
 * @rank: position in the order of all expirations of the set, from 1
 * @error: return value of twheel_timer_error()
 */
struct member {
	struct twheel_wall_part	part;
	struct twheel_timer	timer;
	struct timer_set	*timer_set;
	u64			deadline;
	u64			latest;
	u64			added;
	u64			fired;
	unsigned int		nr_fired;
	unsigned int		rank;
	int			error;
};

/**
 * struct timer_set - a wheel and its timers
 * @wheel: the wheel
 * @member: the timers
 * @size: number of timers
 * @nr_fired: number of callbacks that have been called
 */
struct timer_set {
	struct twheel	*wheel;
	struct member	*member;
	unsigned int	size;
	atomic_t	nr_fired;
};

int timer_set_start(struct timer_set *timer_set, const struct twheel_config *config,
		    unsigned int size);
void timer_set_end(struct timer_set *timer_set);

/* Add a member. Return: see twheel_timer_add(). */
int timer_set_add(struct member *member, u64 deadline, u64 slack);

/* Return the overhead of the machine if all timers of a set are due at once. */
u64 timer_set_slop(const struct timer_set *timer_set);

/* Expect that a timer fired once, not early, and at most @slop after @latest. */
void expect_exact(struct kunit *test, const struct member *member, u64 slop);

/* level_of() for a timer of a wheel, which may place it by a time that is a jiffy old. */
unsigned int level_of_delay(const struct twheel *wheel, unsigned int slots, u64 delay);

#endif /* _KUNIT_TIMER_SET_H */
