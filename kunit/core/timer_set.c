// SPDX-License-Identifier: GPL-2.0
/*
 * A wheel with many timers, for the suites about exactness. See timer_set.h.
 */
#include <linux/err.h>
#include <linux/jiffies.h>
#include <linux/ktime.h>
#include <linux/math64.h>
#include <linux/mm.h>
#include <linux/overflow.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/time64.h>

#include "../vtime.h"
#include "timer_set.h"

/* Of one function call: looks at the clock, four or five of them. */
#define CALL_NS		2000

static void member_fired(struct twheel_timer *timer)
{
	struct member *member = container_of(timer, struct member, timer);

	member->fired = twheel_now(member->timer_set->wheel);
	member->at = ktime_get_ns();
	member->error = twheel_timer_error(timer);
	member->rank = atomic_inc_return(&member->timer_set->nr_fired);
	member->nr_fired++;
}

/**
 * timer_set_start - make a wheel, and its timers
 * @timer_set: the crowd
 * @config: of the wheel
 * @size: how many timers
 *
 * Return: 0 or an error; timer_set_end() is to be called in any case.
 */
int timer_set_start(struct timer_set *timer_set, const struct twheel_config *config, unsigned int size)
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
 * timer_set_wake - let the reaper start, as it would on a wheel that is in use
 * @timer_set: the crowd, started; its first timer fires once, for nothing
 */
void timer_set_wake(struct timer_set *timer_set)
{
	timer_set_add(&timer_set->member[0], 0, 0, 0);
	while (twheel_timer_pending(&timer_set->member[0].timer))
		vtime_sleep(NSEC_PER_USEC);
	twheel_flush(timer_set->wheel);
	atomic_set(&timer_set->nr_fired, 0);
}

/**
 * timer_set_end - end a wheel, whatever is pending, and forget its timers
 * @timer_set: the crowd; all zeroes, or started
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

/* No clock gets past KTIME_MAX. */
static u64 sum(u64 a, u64 b)
{
	u64 s;

	return check_add_overflow(a, b, &s) || s > KTIME_MAX ? KTIME_MAX : s;
}

/* Once is enough, for timers that are used again and again. */
static void member_init(struct member *member, unsigned int flags)
{
	if (member->ready && member->flags == flags)
		return;
	twheel_timer_init_flags(&member->timer, member->timer_set->wheel, member_fired, flags);
	member->flags = flags;
	member->ready = true;
}

int timer_set_add(struct member *member, u64 deadline, u64 slack, unsigned int flags)
{
	struct timer_set *timer_set = member->timer_set;
	u64 allowed = slack;
	int err;

	member_init(member, flags);
	member->nr_fired = 0;
	member->error = 0;
	member->deadline = deadline;
	/* It may fire before we are back. */
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

unsigned int level_of(u64 ticks, unsigned int slots)
{
	unsigned int level = 0;

	while (ticks >= slots - 1) {
		ticks = div64_u64(ticks, slots);
		level++;
	}
	return level;
}

unsigned int level_of_delay(const struct twheel *wheel, unsigned int slots, u64 delay)
{
	return level_of(div64_u64(delay + 2 * TICK_NSEC, twheel_tick_ns(wheel)) + 2, slots);
}
