// SPDX-License-Identifier: GPL-2.0
/*
 * Tests of layer 5, deadlines that are moved while an operation waits.
 *
 * That a re-arm and the expiry may meet on two CPUs is for the torture.
 */
#include <linux/ktime.h>
#include <linux/limits.h>
#include <linux/slab.h>
#include <linux/time64.h>

#include "../stats.h"
#include "../vtime.h"
#include "op_probe.h"

#define SECOND	((u64)NSEC_PER_SEC)

static struct probe *expiring(struct kunit *test, u64 delay)
{
	struct probe *probe = probe_new(test);

	KUNIT_ASSERT_EQ(test, probe_add(probe, delay, TWHEEL_COND_ANY, 0,
					probe_keys_new(test, 10, 2)), 0);
	return probe;
}

static int rearm(struct probe *probe, u64 delay, enum twheel_rearm mode)
{
	return twheel_op_rearm(&probe->op, twheel_deadline(delay), mode);
}

static u64 remaining(struct probe *probe)
{
	struct twheel_op_progress progress;

	return twheel_op_progress(&probe->op, &progress, NULL, 0) ? 0 : progress.remaining;
}

/* It expired once, at @deadline and not before, and late by no more than a tick. */
static void expect_expired_at(struct kunit *test, const struct probe *probe, u64 deadline)
{
	expect_ended(test, probe, TWHEEL_EXPIRED, 0);
	KUNIT_EXPECT_EQ(test, probe->result.deadline, deadline);
	KUNIT_EXPECT_GE(test, probe->result.time, deadline);
	KUNIT_EXPECT_LE(test, probe->result.time,
			deadline + twheel_tick_ns(probe_wheel) + VTIME_SLOP_NS);
}

static void it_expires_at_the_deadline_that_it_has_last(struct kunit *test)
{
	static const u64 delays[] = { 9 * SECOND, 1, 3 * SECOND, SECOND, 100 * SECOND };
	struct probe *probes[ARRAY_SIZE(delays)];
	u64 deadlines[ARRAY_SIZE(delays)];
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(delays); i++)
		probes[i] = expiring(test, 5 * SECOND);
	vtime_sleep(SECOND);
	for (i = 0; i < ARRAY_SIZE(delays); i++) {
		deadlines[i] = twheel_deadline(delays[i]);
		KUNIT_EXPECT_EQ(test, twheel_op_rearm(&probes[i]->op, deadlines[i],
						      TWHEEL_REARM_ALWAYS), 1);
	}
	expect_counts(test, 5, 2, 10);
	KUNIT_EXPECT_EQ(test, stats_of(probe_wheel).pending, 5);
	for (i = 0; i < ARRAY_SIZE(delays); i++)
		KUNIT_EXPECT_EQ(test, probes[i]->ended, 0);
	vtime_sleep(200 * SECOND);
	for (i = 0; i < ARRAY_SIZE(delays); i++)
		expect_expired_at(test, probes[i], deadlines[i]);
	expect_counts(test, 0, 0, 0);
}

static void what_has_passed_is_now(struct kunit *test)
{
	struct probe *probe = expiring(test, 5 * SECOND);
	u64 past = ktime_get_ns() - SECOND / 1000, now;

	now = ktime_get_ns();
	KUNIT_EXPECT_EQ(test, twheel_op_rearm(&probe->op, past, TWHEEL_REARM_ALWAYS), 1);
	vtime_sleep(SECOND);
	expect_ended(test, probe, TWHEEL_EXPIRED, 0);
	KUNIT_EXPECT_EQ(test, probe->result.deadline, past);
	KUNIT_EXPECT_LE(test, probe->result.time,
			now + twheel_tick_ns(probe_wheel) + VTIME_SLOP_NS);
}

static void never_is_a_deadline_too(struct kunit *test)
{
	struct probe *to_never = expiring(test, SECOND), *back = expiring(test, TWHEEL_NEVER);
	u64 deadline;

	KUNIT_EXPECT_EQ(test, stats_of(probe_wheel).pending, 1);
	KUNIT_EXPECT_EQ(test, twheel_op_rearm(&to_never->op, (u64)KTIME_MAX + 1,
					      TWHEEL_REARM_ALWAYS), 1);
	KUNIT_EXPECT_EQ(test, stats_of(probe_wheel).pending, 0);
	KUNIT_EXPECT_EQ(test, remaining(to_never), TWHEEL_NEVER);
	vtime_sleep(100 * SECOND);
	expect_counts(test, 2, 2, 4);

	deadline = twheel_deadline(SECOND);
	KUNIT_EXPECT_EQ(test, twheel_op_rearm(&back->op, deadline, TWHEEL_REARM_ALWAYS), 1);
	vtime_sleep(2 * SECOND);
	expect_expired_at(test, back, deadline);
	KUNIT_EXPECT_EQ(test, twheel_op_complete(&to_never->op, 1), 0);
	KUNIT_EXPECT_EQ(test, to_never->result.deadline, TWHEEL_NEVER);
}

static void only_earlier_or_only_later(struct kunit *test)
{
	struct probe *probe = expiring(test, 10 * SECOND);

	KUNIT_EXPECT_EQ(test, rearm(probe, 20 * SECOND, TWHEEL_REARM_IF_EARLIER), 0);
	KUNIT_EXPECT_EQ(test, rearm(probe, 5 * SECOND, TWHEEL_REARM_IF_LATER), 0);
	KUNIT_EXPECT_GT(test, remaining(probe), 9 * SECOND);
	KUNIT_EXPECT_LE(test, remaining(probe), 10 * SECOND);
	KUNIT_EXPECT_EQ(test, rearm(probe, 20 * SECOND, TWHEEL_REARM_IF_LATER), 1);
	KUNIT_EXPECT_GT(test, remaining(probe), 19 * SECOND);
	KUNIT_EXPECT_EQ(test, rearm(probe, 5 * SECOND, TWHEEL_REARM_IF_EARLIER), 1);
	KUNIT_EXPECT_LE(test, remaining(probe), 5 * SECOND);
	KUNIT_EXPECT_EQ(test, rearm(probe, 7 * SECOND, TWHEEL_REARM_IF_PENDING), 1);
	KUNIT_EXPECT_GT(test, remaining(probe), 6 * SECOND);

	/* Never is later than any other. */
	KUNIT_EXPECT_EQ(test, rearm(probe, TWHEEL_NEVER, TWHEEL_REARM_IF_EARLIER), 0);
	KUNIT_EXPECT_EQ(test, rearm(probe, TWHEEL_NEVER, TWHEEL_REARM_IF_LATER), 1);
	KUNIT_EXPECT_EQ(test, rearm(probe, TWHEEL_NEVER, TWHEEL_REARM_IF_LATER), 0);
	KUNIT_EXPECT_EQ(test, rearm(probe, SECOND, TWHEEL_REARM_IF_LATER), 0);
	KUNIT_EXPECT_EQ(test, remaining(probe), TWHEEL_NEVER);
	KUNIT_EXPECT_EQ(test, rearm(probe, SECOND, TWHEEL_REARM_IF_EARLIER), 1);
	vtime_sleep(2 * SECOND);
	expect_ended(test, probe, TWHEEL_EXPIRED, 0);
}

static void what_does_not_wait_is_not_moved(struct kunit *test)
{
	struct probe *probe = probe_new(test);

	KUNIT_EXPECT_EQ(test, rearm(probe, SECOND, TWHEEL_REARM_ALWAYS), -ENOENT);
	probe = expiring(test, SECOND);
	KUNIT_EXPECT_EQ(test, probe_signal(10, 0), 1);
	KUNIT_EXPECT_EQ(test, rearm(probe, SECOND, TWHEEL_REARM_ALWAYS), -EALREADY);
	probe = expiring(test, SECOND);
	vtime_sleep(2 * SECOND);
	KUNIT_EXPECT_EQ(test, rearm(probe, SECOND, TWHEEL_REARM_IF_LATER), -EALREADY);
	KUNIT_EXPECT_EQ(test, stats_of(probe_wheel).pending, 0);
	vtime_sleep(2 * SECOND);
	KUNIT_EXPECT_EQ(test, probe->ended, 1);
}

#define HEARTBEATS	10000

static void heartbeats_keep_it_until_they_cease(struct kunit *test)
{
	struct probe *probe = expiring(test, SECOND / 50);
	u64 deadline = 0;
	unsigned int i;

	for (i = 0; i < HEARTBEATS; i++) {
		vtime_sleep(SECOND / 100 + i * 100);
		deadline = twheel_deadline(SECOND / 50);
		if (twheel_op_rearm(&probe->op, deadline, TWHEEL_REARM_ALWAYS) != 1)
			break;
	}
	KUNIT_EXPECT_EQ(test, i, HEARTBEATS);
	KUNIT_EXPECT_EQ(test, probe->ended, 0);
	vtime_sleep(SECOND);
	expect_expired_at(test, probe, deadline);
	KUNIT_EXPECT_EQ(test, stats_of(probe_wheel).fired, 1);
}

/*
 * The callback of one that is due at the same tick holds up the reaper, so that
 * this one is taken off the wheel late, with its deadline long past. What is said
 * before its function runs is what holds.
 */
static struct probe *overdue(struct kunit *test)
{
	u64 deadline = twheel_deadline(SECOND);
	struct probe *slow = expiring(test, TWHEEL_NEVER), *probe = expiring(test, TWHEEL_NEVER);

	slow->takes_ns = 2 * SECOND;
	twheel_op_rearm(&slow->op, deadline, TWHEEL_REARM_ALWAYS);
	twheel_op_rearm(&probe->op, deadline, TWHEEL_REARM_ALWAYS);
	vtime_sleep(2 * SECOND);
	KUNIT_EXPECT_EQ(test, slow->ended, 1);
	KUNIT_EXPECT_TRUE(test, slow->busy);
	KUNIT_EXPECT_EQ(test, probe->ended, 0);
	return probe;
}

static void what_is_overdue_can_be_moved(struct kunit *test)
{
	struct probe *probe = overdue(test);
	u64 deadline = twheel_deadline(3 * SECOND);

	KUNIT_EXPECT_EQ(test, remaining(probe), 0);
	KUNIT_EXPECT_EQ(test, twheel_op_rearm(&probe->op, deadline, TWHEEL_REARM_ALWAYS), 1);
	vtime_sleep(2 * SECOND);
	KUNIT_EXPECT_EQ(test, probe->ended, 0);
	vtime_sleep(2 * SECOND);
	expect_expired_at(test, probe, deadline);
	KUNIT_EXPECT_EQ(test, stats_of(probe_wheel).pending, 0);
}

static void what_is_overdue_can_be_moved_to_never(struct kunit *test)
{
	struct probe *probe = overdue(test);

	KUNIT_EXPECT_EQ(test, rearm(probe, TWHEEL_NEVER, TWHEEL_REARM_ALWAYS), 1);
	vtime_sleep(10 * SECOND);
	KUNIT_EXPECT_EQ(test, probe->ended, 0);
	KUNIT_EXPECT_EQ(test, stats_of(probe_wheel).pending, 0);
	KUNIT_EXPECT_EQ(test, rearm(probe, SECOND, TWHEEL_REARM_IF_EARLIER), 1);
	vtime_sleep(2 * SECOND);
	expect_ended(test, probe, TWHEEL_EXPIRED, 0);
}

static void what_is_overdue_can_be_completed(struct kunit *test)
{
	struct probe *probe = overdue(test);

	KUNIT_EXPECT_EQ(test, probe_signal(11, 6), 1);
	expect_ended(test, probe, TWHEEL_COMPLETED, 6);
	vtime_sleep(2 * SECOND);
	expect_ended(test, probe, TWHEEL_COMPLETED, 6);
}

/*
 * The last moment: the reaper has taken the timer off the wheel, and is about to
 * call its function. Nobody else comes in between on one CPU, so this is done for the
 * reaper here, by what is private else.
 */
static void reaper_takes(struct kunit *test, struct probe *probe)
{
	KUNIT_EXPECT_EQ(test, twheel_timer_cancel(&probe->op.timer), 0);
}

static void reaper_calls(struct probe *probe)
{
	probe->op.timer.fn(&probe->op.timer);
}

static void what_is_about_to_expire_can_be_moved(struct kunit *test)
{
	struct probe *plain = expiring(test, SECOND), *later = expiring(test, SECOND);
	u64 deadline = twheel_deadline(5 * SECOND);

	reaper_takes(test, plain);
	reaper_calls(plain);
	expect_ended(test, plain, TWHEEL_EXPIRED, 0);

	reaper_takes(test, later);
	KUNIT_EXPECT_EQ(test, twheel_op_rearm(&later->op, deadline, TWHEEL_REARM_ALWAYS), 1);
	reaper_calls(later);
	KUNIT_EXPECT_EQ(test, later->ended, 0);
	expect_counts(test, 1, 2, 2);
	vtime_sleep(6 * SECOND);
	expect_expired_at(test, later, deadline);
}

static void what_is_about_to_expire_can_be_moved_to_never(struct kunit *test)
{
	struct probe *never = expiring(test, SECOND), *twice = expiring(test, SECOND);

	reaper_takes(test, never);
	KUNIT_EXPECT_EQ(test, rearm(never, TWHEEL_NEVER, TWHEEL_REARM_ALWAYS), 1);
	reaper_calls(never);
	KUNIT_EXPECT_EQ(test, never->ended, 0);

	/* And back again, before the function has run. */
	reaper_takes(test, twice);
	KUNIT_EXPECT_EQ(test, rearm(twice, TWHEEL_NEVER, TWHEEL_REARM_ALWAYS), 1);
	KUNIT_EXPECT_EQ(test, rearm(twice, 2 * SECOND, TWHEEL_REARM_IF_EARLIER), 1);
	reaper_calls(twice);
	KUNIT_EXPECT_EQ(test, twice->ended, 0);
	vtime_sleep(3 * SECOND);
	expect_ended(test, twice, TWHEEL_EXPIRED, 0);
	expect_counts(test, 1, 2, 2);
	KUNIT_EXPECT_EQ(test, stats_of(probe_wheel).pending, 0);
}

/* From within: a callback moves others, but not its own; a predicate does, too. */
static struct probe *moved;
static int own_answer, other_answer;

static void move_both(struct probe *probe)
{
	own_answer = rearm(probe, SECOND, TWHEEL_REARM_ALWAYS);
	other_answer = rearm(moved, 10 * SECOND, TWHEEL_REARM_ALWAYS);
}

static void a_callback_moves_others_and_not_its_own(struct kunit *test)
{
	struct probe *probe = expiring(test, SECOND);

	moved = expiring(test, 2 * SECOND);
	probe->then = move_both;
	vtime_sleep(5 * SECOND);
	KUNIT_EXPECT_EQ(test, own_answer, -EALREADY);
	KUNIT_EXPECT_EQ(test, other_answer, 1);
	KUNIT_EXPECT_EQ(test, probe->ended, 1);
	KUNIT_EXPECT_EQ(test, moved->ended, 0);
	vtime_sleep(7 * SECOND);
	expect_ended(test, moved, TWHEEL_EXPIRED, 0);
}

static void move_itself(struct probe *probe)
{
	own_answer = rearm(probe, 10 * SECOND, TWHEEL_REARM_ALWAYS);
}

/* Also before the add has armed it. */
static void a_predicate_moves_its_own(struct kunit *test)
{
	struct probe *probe = probe_new_asking(test);

	probe->when_asked = move_itself;
	KUNIT_EXPECT_EQ(test, probe_add_asking(probe, SECOND, NULL), 0);
	probe->when_asked = NULL;
	KUNIT_EXPECT_EQ(test, own_answer, 1);
	KUNIT_EXPECT_EQ(test, stats_of(probe_wheel).pending, 1);
	vtime_sleep(9 * SECOND);
	KUNIT_EXPECT_EQ(test, probe->ended, 0);
	probe->when_asked = move_itself;
	KUNIT_EXPECT_EQ(test, twheel_op_try_complete(&probe->op), 0);
	KUNIT_EXPECT_EQ(test, own_answer, 1);
	vtime_sleep(9 * SECOND);
	KUNIT_EXPECT_EQ(test, probe->ended, 0);
	vtime_sleep(2 * SECOND);
	expect_ended(test, probe, TWHEEL_EXPIRED, 0);
}

static struct kunit_case rearm_cases[] = {
	KUNIT_CASE(it_expires_at_the_deadline_that_it_has_last),
	KUNIT_CASE(what_has_passed_is_now),
	KUNIT_CASE(never_is_a_deadline_too),
	KUNIT_CASE(only_earlier_or_only_later),
	KUNIT_CASE(what_does_not_wait_is_not_moved),
	KUNIT_CASE(heartbeats_keep_it_until_they_cease),
	KUNIT_CASE(what_is_overdue_can_be_moved),
	KUNIT_CASE(what_is_overdue_can_be_moved_to_never),
	KUNIT_CASE(what_is_overdue_can_be_completed),
	KUNIT_CASE(what_is_about_to_expire_can_be_moved),
	KUNIT_CASE(what_is_about_to_expire_can_be_moved_to_never),
	KUNIT_CASE(a_callback_moves_others_and_not_its_own),
	KUNIT_CASE(a_predicate_moves_its_own),
	{}
};

static struct kunit_suite rearm_suite = {
	.name		= "twheel_op_rearm",
	.init		= probe_suite_init,
	.exit		= probe_suite_exit,
	.test_cases	= rearm_cases,
};

kunit_test_suite(rearm_suite);
