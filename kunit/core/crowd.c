// SPDX-License-Identifier: GPL-2.0
/*
 * A wheel with many timers, for the suites about exactness. See crowd.h.
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
#include "crowd.h"

/* Of one function call: looks at the clock, four or five of them. */
#define CALL_NS		2000

static void member_fired(struct twheel_timer *timer)
{
	struct member *member = container_of(timer, struct member, timer);

	member->fired = twheel_now(member->crowd->wheel);
	member->at = ktime_get_ns();
	member->error = twheel_timer_error(timer);
	member->rank = atomic_inc_return(&member->crowd->nr_fired);
	member->nr_fired++;
}

/**
 * crowd_start - make a wheel, and its timers
 * @crowd: the crowd
 * @config: of the wheel
 * @size: how many timers
 *
 * Return: 0 or an error; crowd_end() is to be called in any case.
 */
int crowd_start(struct crowd *crowd, const struct twheel_config *config, unsigned int size)
{
	unsigned int i;

	memset(crowd, 0, sizeof(*crowd));
	crowd->wheel = twheel_create(config);
	if (IS_ERR(crowd->wheel))
		return PTR_ERR(crowd->wheel);
	crowd->member = kvcalloc(size, sizeof(*crowd->member), GFP_KERNEL);
	if (!crowd->member)
		return -ENOMEM;
	crowd->size = size;
	for (i = 0; i < size; i++)
		crowd->member[i].crowd = crowd;
	return 0;
}

/**
 * crowd_wake - let the reaper start, as it would on a wheel that is in use
 * @crowd: the crowd, started; its first timer fires once, for nothing
 */
void crowd_wake(struct crowd *crowd)
{
	crowd_add(&crowd->member[0], 0, 0, 0);
	while (twheel_timer_pending(&crowd->member[0].timer))
		vtime_sleep(NSEC_PER_USEC);
	twheel_flush(crowd->wheel);
	atomic_set(&crowd->nr_fired, 0);
}

/**
 * crowd_end - end a wheel, whatever is pending, and forget its timers
 * @crowd: the crowd; all zeroes, or started
 */
void crowd_end(struct crowd *crowd)
{
	if (!IS_ERR_OR_NULL(crowd->wheel)) {
		twheel_stop(crowd->wheel, NULL, NULL);
		twheel_destroy(crowd->wheel);
	}
	kvfree(crowd->member);
	memset(crowd, 0, sizeof(*crowd));
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
	twheel_timer_init_flags(&member->timer, member->crowd->wheel, member_fired, flags);
	member->flags = flags;
	member->ready = true;
}

int crowd_add(struct member *member, u64 deadline, u64 slack, unsigned int flags)
{
	struct crowd *crowd = member->crowd;
	u64 allowed = slack;
	int err;

	member_init(member, flags);
	member->nr_fired = 0;
	member->error = 0;
	member->deadline = deadline;
	/* It may fire before we are back. */
	preempt_disable();
	member->added = twheel_now(crowd->wheel);
	if (slack == TWHEEL_SLACK_COARSE)
		allowed = deadline > member->added ? (deadline - member->added) / 8 : 0;
	member->latest = sum(max(deadline, member->added), allowed);
	member->latest = sum(member->latest, twheel_tick_ns(crowd->wheel));
	err = twheel_timer_add_slack(&member->timer, deadline, slack);
	preempt_enable();
	return err;
}

u64 crowd_slop(const struct crowd *crowd)
{
	return VTIME_SLOP_NS + crowd->size * CALL_NS;
}

void expect_exact(struct kunit *test, const struct member *member, u64 slop)
{
	unsigned int i = member - member->crowd->member;

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
