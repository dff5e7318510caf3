// SPDX-License-Identifier: GPL-2.0
/*
 * What must not be done to timers and wheels: it is found and reported, and the
 * kernel goes on.
 *
 * The kernel is to complain here, and nowhere else in the suites. So these are a
 * module of their own, twheel_misuse.ko, and run in a boot of their own. A case
 * says what it is about to provoke, and scripts/verdict holds the log against
 * it: each such report comes once, and no other.  Most places warn only once
 * in a boot, so that no two cases may provoke the same.
 */
#include <kunit/test.h>
#include <linux/ktime.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/preempt.h>
#include <linux/slab.h>
#include <linux/time64.h>
#include <linux/twheel.h>

#include "../report.h"
#include "../stats.h"
#include "../vtime.h"

static struct twheel *wheel;

/* A timer whose function does something, and what came of that. */
struct tryer {
	struct twheel_timer	timer;
	unsigned int		nr_fired;
	int			(*attempt)(struct tryer *tryer);
	int			outcome;
};

static void tryer_fired(struct twheel_timer *timer)
{
	struct tryer *tryer = container_of(timer, struct tryer, timer);

	tryer->nr_fired++;
	if (tryer->attempt)
		tryer->outcome = tryer->attempt(tryer);
}

static void tryer_init(struct tryer *tryer, int (*attempt)(struct tryer *tryer))
{
	memset(tryer, 0, sizeof(*tryer));
	tryer->attempt = attempt;
	twheel_timer_init(&tryer->timer, wheel, tryer_fired);
}

static void tryer_add(struct kunit *test, struct tryer *tryer, u64 delay)
{
	KUNIT_EXPECT_EQ(test, twheel_timer_add(&tryer->timer, twheel_deadline(delay)), 0);
}

/* Let its function try it while another timer waits; what does it get? */
static void expect_outcome(struct kunit *test, int (*attempt)(struct tryer *tryer), int outcome)
{
	static struct tryer tries, other;

	tryer_init(&tries, attempt);
	tryer_init(&other, NULL);
	tryer_add(test, &tries, NSEC_PER_MSEC);
	tryer_add(test, &other, NSEC_PER_SEC);
	vtime_sleep(2 * NSEC_PER_SEC);
	KUNIT_EXPECT_EQ(test, tries.nr_fired, 1);
	KUNIT_EXPECT_EQ(test, tries.outcome, outcome);
	KUNIT_EXPECT_EQ(test, other.nr_fired, 1);

	/* Nor is it hurt: it takes and fires what comes now. */
	tryer_init(&other, NULL);
	tryer_add(test, &other, NSEC_PER_SEC);
	vtime_sleep(2 * NSEC_PER_SEC);
	KUNIT_EXPECT_EQ(test, other.nr_fired, 1);
}

static int leave_preemption_disabled(struct tryer *tryer)
{
	preempt_disable();
	return 0;
}

/* It is put right, and the reaper goes on. */
static void a_function_must_not_leave_preemption_disabled(struct kunit *test)
{
	expect_report(test, "WARNING: *twheel/core/timer.h:*");
	expect_outcome(test, leave_preemption_disabled, 0);
}

/* What debugobjects finds it warns of, and says; five times in a boot, not more. */
static void expect_odebug(struct kunit *test, const char *what)
{
	expect_report(test, "WARNING: * debug_print_object+*");
	kunit_info(test, "expected: ODEBUG: %s *twheel_timer*\n", what);
}

static int misuse_init(struct kunit *test)
{
	const struct twheel_config config = { .name = "misuse" };

	wheel = twheel_create(&config);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, wheel);
	return 0;
}

static void misuse_exit(struct kunit *test)
{
	if (!wheel)
		return;
	KUNIT_EXPECT_EQ(test, stats_of(wheel).pending, 0);
	twheel_destroy(wheel);
}

static int try_cancel_sync(struct tryer *tryer)
{
	return twheel_timer_cancel_sync(&tryer->timer);
}

static int try_shutdown_sync(struct tryer *tryer)
{
	return twheel_timer_shutdown_sync(&tryer->timer);
}

static DEFINE_MUTEX(mutex);

static int take_mutex(struct tryer *tryer)
{
	mutex_lock(&mutex);
	mutex_unlock(&mutex);
	return 0;
}

/* Though nobody has to wait this time. After the report lockdep is off. */
static void to_wait_under_a_lock_of_the_function_is_found(struct kunit *test)
{
	static struct tryer tryer;

	expect_outcome(test, take_mutex, 0);
	tryer_init(&tryer, NULL);
	expect_report(test, "WARNING: possible circular locking dependency detected");
	mutex_lock(&mutex);
	KUNIT_EXPECT_EQ(test, twheel_timer_cancel_sync(&tryer.timer), -EALREADY);
	mutex_unlock(&mutex);
}

/* It is one place that warns of both. */
static void a_function_cannot_wait_for_its_own_timer(struct kunit *test)
{
	expect_report(test, "WARNING: *twheel/core/timer.c:* cancel_and_wait*");
	expect_outcome(test, try_cancel_sync, -EDEADLK);
	expect_outcome(test, try_shutdown_sync, -EDEADLK);
}

static int try_flush(struct tryer *tryer)
{
	return twheel_flush(wheel);
}

static void a_function_cannot_flush_its_wheel(struct kunit *test)
{
	expect_report(test, "WARNING: * twheel_flush+*");
	expect_outcome(test, try_flush, -EDEADLK);
}

static int try_stop(struct tryer *tryer)
{
	return twheel_stop(wheel, NULL, NULL);
}

static void a_function_cannot_stop_its_wheel(struct kunit *test)
{
	expect_report(test, "WARNING: * twheel_stop+*");
	expect_outcome(test, try_stop, -EDEADLK);
}

static void need_debug_objects(struct kunit *test)
{
	if (!IS_ENABLED(CONFIG_DEBUG_OBJECTS_FREE))
		kunit_skip(test, "this kernel has no debugobjects");
}

/* It is taken out first, so that nothing of the old one is left. */
static void to_initialise_a_pending_timer_is_found(struct kunit *test)
{
	static struct tryer tryer;

	need_debug_objects(test);
	tryer_init(&tryer, NULL);
	tryer_add(test, &tryer, NSEC_PER_SEC);
	expect_odebug(test, "init active");
	twheel_timer_init(&tryer.timer, wheel, tryer_fired);
	KUNIT_EXPECT_EQ(test, stats_of(wheel).pending, 0);
	KUNIT_EXPECT_FALSE(test, twheel_timer_pending(&tryer.timer));
	vtime_sleep(2 * NSEC_PER_SEC);
	KUNIT_EXPECT_EQ(test, tryer.nr_fired, 0);

	tryer_add(test, &tryer, NSEC_PER_SEC);
	vtime_sleep(2 * NSEC_PER_SEC);
	KUNIT_EXPECT_EQ(test, tryer.nr_fired, 1);
}

/* Its neighbours in the bucket are none the worse. */
static void to_free_a_pending_timer_is_found(struct kunit *test)
{
	struct tryer *freed = kzalloc(sizeof(*freed), GFP_KERNEL);
	static struct tryer before, after;
	u64 deadline = twheel_deadline(NSEC_PER_SEC);

	KUNIT_ASSERT_NOT_NULL(test, freed);
	tryer_init(&before, NULL);
	tryer_init(freed, NULL);
	tryer_init(&after, NULL);
	if (IS_ENABLED(CONFIG_DEBUG_OBJECTS_FREE)) {
		twheel_timer_add(&before.timer, deadline);
		twheel_timer_add(&freed->timer, deadline);
		twheel_timer_add(&after.timer, deadline);
		expect_odebug(test, "free active");
	}
	kfree(freed);
	need_debug_objects(test);
	KUNIT_EXPECT_EQ(test, stats_of(wheel).pending, 2);
	vtime_sleep(2 * NSEC_PER_SEC);
	KUNIT_EXPECT_EQ(test, before.nr_fired, 1);
	KUNIT_EXPECT_EQ(test, after.nr_fired, 1);
	KUNIT_EXPECT_EQ(test, stats_of(wheel).fired, 2);
}

/* Whichever case comes first: it is one place that warns of all that is zeroes. */
static void expect_never_initialised(struct kunit *test)
{
	static bool warned;

	if (IS_ENABLED(CONFIG_DEBUG_OBJECTS))
		expect_odebug(test, "assert_init not available");
	if (!warned)
		expect_report(test, "WARNING: * __twheel_timer_usable+*");
	warned = true;
}

/* All zeroes are not a timer: each call refuses it, and warns once. */
static void what_was_never_initialised_is_not_added(struct kunit *test)
{
	struct tryer *zeroes = kunit_kzalloc(test, sizeof(*zeroes), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, zeroes);
	expect_never_initialised(test);
	KUNIT_EXPECT_EQ(test, twheel_timer_add(&zeroes->timer, 0), -EINVAL);
	KUNIT_EXPECT_EQ(test, stats_of(wheel).pending, 0);
	vtime_sleep(NSEC_PER_SEC);
	KUNIT_EXPECT_EQ(test, zeroes->nr_fired, 0);
}

/* Nor are they work: neither a wheel nor a workqueue is looked for. */
static void work_that_was_never_initialised_is_not_waited_for(struct kunit *test)
{
	struct twheel_work *zeroes = kunit_kzalloc(test, sizeof(*zeroes), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, zeroes);
	expect_never_initialised(test);
	KUNIT_EXPECT_EQ(test, twheel_work_cancel_sync(zeroes), -EINVAL);
}

/* They don't fire, nor do they hang on to what is gone: they can be freed. */
static void to_destroy_a_wheel_with_timers_is_found(struct kunit *test)
{
	static const u64 delays[] = { NSEC_PER_MSEC, NSEC_PER_SEC, 1000 * NSEC_PER_SEC, U64_MAX };
	struct tryer *tryers[ARRAY_SIZE(delays)];
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(delays); i++) {
		tryers[i] = kunit_kzalloc(test, sizeof(*tryers[i]), GFP_KERNEL);
		KUNIT_ASSERT_NOT_NULL(test, tryers[i]);
		tryer_init(tryers[i], NULL);
	}
	for (i = 0; i < ARRAY_SIZE(delays); i++)
		tryer_add(test, tryers[i], delays[i]);
	expect_report(test, "WARNING: *twheel/core/twheel.c:*");
	twheel_destroy(wheel);
	wheel = NULL;

	vtime_sleep(2 * NSEC_PER_SEC);
	for (i = 0; i < ARRAY_SIZE(delays); i++) {
		KUNIT_EXPECT_FALSE(test, twheel_timer_pending(&tryers[i]->timer));
		KUNIT_EXPECT_EQ(test, tryers[i]->nr_fired, 0);
	}
	/* Where they stand they can begin anew. */
	misuse_init(test);
	tryer_init(tryers[0], NULL);
	tryer_add(test, tryers[0], NSEC_PER_MSEC);
	vtime_sleep(NSEC_PER_SEC);
	KUNIT_EXPECT_EQ(test, tryers[0]->nr_fired, 1);
}

static struct kunit_case misuse_cases[] = {
	KUNIT_CASE(to_wait_under_a_lock_of_the_function_is_found),
	KUNIT_CASE(a_function_must_not_leave_preemption_disabled),
	KUNIT_CASE(a_function_cannot_wait_for_its_own_timer),
	KUNIT_CASE(a_function_cannot_flush_its_wheel),
	KUNIT_CASE(a_function_cannot_stop_its_wheel),
	KUNIT_CASE(to_initialise_a_pending_timer_is_found),
	KUNIT_CASE(to_free_a_pending_timer_is_found),
	KUNIT_CASE(what_was_never_initialised_is_not_added),
	KUNIT_CASE(work_that_was_never_initialised_is_not_waited_for),
	KUNIT_CASE(to_destroy_a_wheel_with_timers_is_found),
	{}
};

static struct kunit_suite misuse_suite = {
	.name		= "twheel_misuse",
	.init		= misuse_init,
	.exit		= misuse_exit,
	.test_cases	= misuse_cases,
};

/* folly's HHWheelTimerTest: where theirs is destroyed, ours goes on. */

static int try_destroy(struct tryer *tryer)
{
	twheel_destroy(wheel);
	return 0;
}

static void delete_wheel_in_timeout(struct kunit *test)
{
	expect_report(test, "WARNING: *twheel/core/twheel.c:*");
	expect_outcome(test, try_destroy, 0);
}

static struct kunit_case folly_cases[] = {
	KUNIT_CASE(delete_wheel_in_timeout),
	{}
};

static struct kunit_suite folly_suite = {
	.name		= "folly_hh_wheel_timer_test_misuse",
	.init		= misuse_init,
	.exit		= misuse_exit,
	.test_cases	= folly_cases,
};

kunit_test_suites(&misuse_suite, &folly_suite);

MODULE_DESCRIPTION("KUnit suites of twheel that provoke warnings");
MODULE_AUTHOR("The twheel developers");
MODULE_LICENSE("GPL");
