// SPDX-License-Identifier: GPL-2.0
/*
 * A wheel with many timers, for the suites that test exact expiry. See timer_set.h.
 */
#include <linux/err.h>
#include <linux/ktime.h>
#include <linux/math64.h>
#include <linux/mm.h>
#include <linux/overflow.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/time64.h>

#include "../queue.h"
#include "../vtime.h"
#include "timer_set.h"

/* Duration of a callback in virtual time: four or five clock reads. */
#define CALL_NS		2000

static void member_fired(struct twheel_timer *timer)
{
	struct member *member = container_of(timer, struct member, timer);

	member->fired = twheel_now(member->timer_set->wheel);
	member->error = twheel_timer_error(timer);
	member->rank = atomic_inc_return(&member->timer_set->nr_fired);
	member->nr_fired++;
}

/**
 * timer_set_start - create a wheel and its timers
 * @timer_set: the set
 * @config: configuration of the wheel
 * @size: number of timers
 *
 * Return: 0 or an error. The caller must call timer_set_end() in either case.
 */
int timer_set_start(struct timer_set *timer_set, const struct twheel_config *config,
		    unsigned int size)
{
	unsigned int i;

	memset(timer_set, 0, sizeof(*timer_set));
	timer_set->wheel = twheel_create(config);
	if (IS_ERR(timer_set->wheel))
		return PTR_ERR(timer_set->wheel);
	timer_set->member = kvcalloc(size, sizeof(*timer_set->member), GFP_KERNEL);
	if (!timer_set->member)
		return -ENOMEM;
	timer_set->size = size;
	for (i = 0; i < size; i++)
		timer_set->member[i].timer_set = timer_set;
	return 0;
}

/**
 * timer_set_end - destroy a wheel and its timers, pending or not
 * @timer_set: the set, started or zeroed
 */
void timer_set_end(struct timer_set *timer_set)
{
	if (!IS_ERR_OR_NULL(timer_set->wheel)) {
		twheel_stop(timer_set->wheel, NULL, NULL);
		twheel_destroy(timer_set->wheel);
	}
	kvfree(timer_set->member);
	memset(timer_set, 0, sizeof(*timer_set));
}

/* No clock exceeds KTIME_MAX. */
static u64 sum(u64 a, u64 b)
{
	u64 s;

	return check_add_overflow(a, b, &s) || s > KTIME_MAX ? KTIME_MAX : s;
}

int timer_set_add(struct member *member, u64 deadline, u64 slack)
{
	struct timer_set *timer_set = member->timer_set;
	u64 allowed = slack;
	int err;

	twheel_wall_timer_init(container_of(&member->timer, struct twheel_wall_timer, timer),
			       timer_set->wheel, member_fired, 0);
	member->deadline = deadline;
	/*
	 * All fields are set before the add, since the timer may fire before the add
	 * returns.
	 */
	preempt_disable();
	member->added = twheel_now(timer_set->wheel);
	if (slack == TWHEEL_SLACK_COARSE)
		allowed = deadline > member->added ? (deadline - member->added) / 8 : 0;
	member->latest = sum(max(deadline, member->added), allowed);
	member->latest = sum(member->latest, twheel_tick_ns(timer_set->wheel));
	err = twheel_timer_add_slack(&member->timer, deadline, slack);
	preempt_enable();
	return err;
}

u64 timer_set_slop(const struct timer_set *timer_set)
{
	return VTIME_SLOP_NS + timer_set->size * CALL_NS;
}

void expect_exact(struct kunit *test, const struct member *member, u64 slop)
{
	unsigned int i = member - member->timer_set->member;

	KUNIT_EXPECT_EQ_MSG(test, member->nr_fired, 1, "timer %u, %llu ns ahead",
			    i, member->deadline - member->added);
	KUNIT_EXPECT_EQ_MSG(test, member->error, 0, "timer %u", i);
	KUNIT_EXPECT_GE_MSG(test, member->fired, member->deadline,
			    "timer %u, %llu ns ahead", i, member->deadline - member->added);
	KUNIT_EXPECT_LE_MSG(test, member->fired, member->latest + slop,
			    "timer %u, %llu ns ahead", i, member->deadline - member->added);
}

unsigned int level_of_delay(const struct twheel *wheel, unsigned int slots, u64 delay)
{
	return level_of(div64_u64(delay + 2 * TICK_NSEC, twheel_tick_ns(wheel)) + 2, slots);
}
