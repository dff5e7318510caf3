// SPDX-License-Identifier: GPL-2.0
/*
 * Misuse of operations, purgatories, timers and wheels is detected and reported, and the kernel
 * continues.
 *
 * Only the *_misuse suites provoke kernel warnings. They are in a separate module,
 * twheel_misuse.ko, and run in a separate boot. Each case announces its warnings, and
 * scripts/verdict compares them with the log: each announced warning appears once, and no
 * other. Most places warn only once per boot, so no two cases may provoke the same
 * warning.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <kunit/test.h>
#include <linux/completion.h>
#include <linux/debug_locks.h>
#include <linux/jiffies.h>
#include <linux/kernel.h>
#include <linux/ktime.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/preempt.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/time64.h>
#include <linux/twheel.h>
#include <linux/workqueue.h>

#include "../twheel/compat.h"
#include "../twheel/op/purgatory.h"
#include "stats.h"
#include "vtime.h"

static struct twheel *wheel;
static struct twheel_purgatory *purgatory;

/* Announce a warning by a shell pattern. scripts/verdict compares it with the log. */
static void expect_report(struct kunit *test, const char *pattern)
{
	kunit_info(test, "expected: %s\n", pattern);
}

static int wheel_init(struct kunit *test)
{
	const struct twheel_config config = { .name = "misuse" };

	wheel = twheel_create(&config);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, wheel);
	return 0;
}

/* Operations and purgatories */

/* An operation that misuses the API in its callback or predicate, and the return value. */
struct misused {
	struct twheel_op	op;
	int			(*attempt)(struct misused *misused);
	bool			by_predicate;
	int			ret;
	unsigned int		ended;
	unsigned int		released;
};

static bool misused_try_complete(struct twheel_op *op, u64 *value)
{
	struct misused *misused = container_of(op, struct misused, op);

	if (misused->by_predicate)
		misused->ret = misused->attempt(misused);
	return false;
}

static void misused_ended(struct twheel_op *op)
{
	struct misused *misused = container_of(op, struct misused, op);

	misused->ended++;
	if (!misused->by_predicate && misused->attempt)
		misused->ret = misused->attempt(misused);
}

static void misused_release(struct twheel_op *op)
{
	container_of(op, struct misused, op)->released++;
}

static const struct twheel_op_ops misused_ops = {
	.try_complete	= misused_try_complete,
	.ended		= misused_ended,
	.release	= misused_release,
};

static int misused_add_to(struct misused *misused, struct twheel *on, u64 delay)
{
	const struct twheel_op_args args = {
		.wheel		= on,
		.deadline	= twheel_deadline(delay),
		.condition	= TWHEEL_COND_PREDICATE,
	};

	return twheel_op_add(purgatory, &misused->op, &args);
}

static int misused_add(struct misused *misused, u64 delay)
{
	return misused_add_to(misused, NULL, delay);
}

static struct misused *misused_new(struct kunit *test, int (*attempt)(struct misused *misused))
{
	struct misused *misused = kunit_kzalloc(test, sizeof(*misused), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, misused);
	twheel_op_init(&misused->op, &misused_ops);
	misused->attempt = attempt;
	return misused;
}

static void expect_pending(struct kunit *test, u64 pending)
{
	struct twheel_purgatory_stats stats;

	twheel_purgatory_get_stats(purgatory, &stats);
	KUNIT_EXPECT_EQ(test, stats.pending, pending);
}

static int try_op_cancel_sync(struct misused *misused)
{
	return twheel_op_cancel_sync(&misused->op);
}

/* The WARN_ON_ONCE() is shared, so only the first call warns. */
static void cancel_sync_of_itself_returns_edeadlk(struct kunit *test)
{
	struct misused *predicate = misused_new(test, try_op_cancel_sync);
	struct misused *callback = misused_new(test, try_op_cancel_sync);

	expect_report(test, "WARNING: * twheel_op_cancel_sync+*");
	predicate->by_predicate = true;
	KUNIT_EXPECT_EQ(test, misused_add(predicate, NSEC_PER_SEC), 0);
	KUNIT_EXPECT_EQ(test, predicate->ret, -EDEADLK);
	KUNIT_EXPECT_EQ(test, predicate->ended, 0);

	KUNIT_EXPECT_EQ(test, misused_add(callback, NSEC_PER_SEC), 0);
	vtime_sleep(2 * NSEC_PER_SEC);
	KUNIT_EXPECT_EQ(test, callback->ret, -EDEADLK);
	KUNIT_EXPECT_EQ(test, callback->ended, 1);
	KUNIT_EXPECT_EQ(test, predicate->ended, 1);
	expect_pending(test, 0);
}

static void second_add_returns_ebusy(struct kunit *test)
{
	struct misused *misused = misused_new(test, NULL);

	KUNIT_EXPECT_EQ(test, misused_add(misused, NSEC_PER_SEC), 0);
	expect_report(test, "WARNING: * twheel_op_add+*");
	KUNIT_EXPECT_EQ(test, misused_add(misused, NSEC_PER_SEC), -EBUSY);
	expect_pending(test, 1);
	vtime_sleep(2 * NSEC_PER_SEC);
	KUNIT_EXPECT_EQ(test, misused_add(misused, NSEC_PER_SEC), -EBUSY);
	expect_pending(test, 0);
	KUNIT_EXPECT_EQ(test, misused->ended, 1);
}

static int try_drain(struct misused *misused)
{
	return twheel_purgatory_drain(purgatory);
}

static int try_purgatory_destroy(struct misused *misused)
{
	twheel_purgatory_destroy(purgatory);
	return 0;
}

/* Both calls are refused, and the purgatory stays usable. */
static void expect_refused(struct kunit *test, struct misused *drain, struct misused *destroy,
			   struct misused *pending, u32 nr_pending)
{
	KUNIT_EXPECT_EQ(test, drain->ended, 1);
	KUNIT_EXPECT_EQ(test, drain->ret, 0);
	KUNIT_EXPECT_EQ(test, destroy->ended, 1);
	KUNIT_EXPECT_EQ(test, pending->ended, 0);
	KUNIT_EXPECT_EQ(test, twheel_purgatory_drain(purgatory), nr_pending);
}

static void drain_and_destroy_on_reaper_are_refused(struct kunit *test)
{
	const struct twheel_config config = { .name = "other" };
	struct twheel *other = twheel_create(&config);
	struct misused *drain = misused_new(test, try_drain);
	struct misused *destroy = misused_new(test, try_purgatory_destroy);
	struct misused *pending = misused_new(test, NULL);

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, other);
	expect_report(test, "WARNING: *twheel/op/purgatory.c:*");
	KUNIT_EXPECT_EQ(test, misused_add(pending, TWHEEL_NEVER), 0);
	KUNIT_EXPECT_EQ(test, misused_add_to(drain, other, NSEC_PER_SEC), 0);
	KUNIT_EXPECT_EQ(test, misused_add(destroy, 2 * NSEC_PER_SEC), 0);
	vtime_sleep(3 * NSEC_PER_SEC);
	expect_refused(test, drain, destroy, pending, 1);
	twheel_destroy(other);
}

/*
 * The task that completes the operation runs the callback, which would wait for itself for ever.
 * Only lockdep knows.
 */
static void drain_and_destroy_in_callback_are_refused(struct kunit *test)
{
	struct misused *drain = misused_new(test, try_drain);
	struct misused *destroy = misused_new(test, try_purgatory_destroy);
	struct misused *predicate = misused_new(test, try_purgatory_destroy);

	KUNIT_ASSERT_TRUE(test, debug_locks);
	expect_report(test, "WARNING: *twheel/op/purgatory.c:*");
	predicate->by_predicate = true;
	KUNIT_EXPECT_EQ(test, misused_add(predicate, TWHEEL_NEVER), 0);
	KUNIT_EXPECT_EQ(test, misused_add(drain, TWHEEL_NEVER), 0);
	KUNIT_EXPECT_EQ(test, misused_add(destroy, TWHEEL_NEVER), 0);
	KUNIT_EXPECT_EQ(test, twheel_op_complete(&drain->op, 0), 0);
	KUNIT_EXPECT_EQ(test, twheel_op_cancel(&destroy->op), 0);
	expect_refused(test, drain, destroy, predicate, 1);
}

static int try_sleep(struct misused *misused)
{
	might_sleep();
	return 0;
}

static void callback_that_sleeps_is_reported(struct kunit *test)
{
	struct misused *misused = misused_new(test, try_sleep);

	KUNIT_EXPECT_EQ(test, misused_add(misused, TWHEEL_NEVER), 0);
	expect_report(test, "BUG: sleeping function called from invalid context at *");
	KUNIT_EXPECT_EQ(test, twheel_op_complete(&misused->op, 0), 0);
	KUNIT_EXPECT_EQ(test, misused->ended, 1);
}

/* The consumer has one reference and drops two. The operation stays valid, and is leaked. */
static void surplus_put_of_pending_op_leaks_it(struct kunit *test)
{
	struct misused *misused = misused_new(test, NULL);

	KUNIT_EXPECT_EQ(test, misused_add(misused, NSEC_PER_SEC), 0);
	twheel_op_put(&misused->op);
	KUNIT_EXPECT_EQ(test, misused->released, 0);
	expect_report(test, "WARNING: *twheel/op/op.c:*");
	twheel_op_put(&misused->op);
	KUNIT_EXPECT_EQ(test, misused->released, 0);
	expect_pending(test, 1);
	vtime_sleep(2 * NSEC_PER_SEC);
	KUNIT_EXPECT_EQ(test, misused->ended, 1);
	KUNIT_EXPECT_EQ(test, misused->released, 0);
	expect_pending(test, 0);
}

static void result_of_pending_op_warns(struct kunit *test)
{
	struct misused *misused = misused_new(test, NULL);
	struct twheel_op_result result;

	KUNIT_EXPECT_EQ(test, misused_add(misused, TWHEEL_NEVER), 0);
	expect_report(test, "WARNING: * twheel_op_get_result+*");
	twheel_op_get_result(&misused->op, &result);
	expect_pending(test, 1);
}

static void complete_all_with_positive_error_reports_einval(struct kunit *test)
{
	struct misused *misused = misused_new(test, NULL);
	struct twheel_op_result result;

	KUNIT_EXPECT_EQ(test, misused_add(misused, TWHEEL_NEVER), 0);
	expect_report(test, "WARNING: *twheel/op/iter.c:*");
	KUNIT_EXPECT_EQ(test, twheel_complete_all(purgatory, EIO, 7, 0), 1);
	twheel_op_get_result(&misused->op, &result);
	KUNIT_EXPECT_EQ(test, result.error, -EINVAL);
	KUNIT_EXPECT_EQ(test, result.value, 0);
}

static int op_misuse_init(struct kunit *test)
{
	struct twheel_purgatory_config config = { .name = "misuse", .max_pending = 10 };

	wheel_init(test);
	config.wheel = wheel;
	purgatory = twheel_purgatory_create(&config);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, purgatory);
	return 0;
}

static void op_misuse_exit(struct kunit *test)
{
	twheel_purgatory_destroy(purgatory);
	twheel_destroy(wheel);
}

static struct kunit_case op_misuse_cases[] = {
	KUNIT_CASE(cancel_sync_of_itself_returns_edeadlk),
	KUNIT_CASE(second_add_returns_ebusy),
	KUNIT_CASE(drain_and_destroy_on_reaper_are_refused),
	KUNIT_CASE(drain_and_destroy_in_callback_are_refused),
	KUNIT_CASE(callback_that_sleeps_is_reported),
	KUNIT_CASE(surplus_put_of_pending_op_leaks_it),
	KUNIT_CASE(result_of_pending_op_warns),
	KUNIT_CASE(complete_all_with_positive_error_reports_einval),
	{}
};

static struct kunit_suite op_misuse_suite = {
	.name		= "twheel_op_misuse",
	.init		= op_misuse_init,
	.exit		= op_misuse_exit,
	.test_cases	= op_misuse_cases,
};

/* Timers and wheels */

/* A timer with a callback that attempts a forbidden call, and the return value of that call. */
struct probe {
	struct twheel_timer	timer;
	unsigned int		nr_fired;
	int			(*attempt)(struct probe *probe);
	int			outcome;
};

static void probe_fired(struct twheel_timer *timer)
{
	struct probe *probe = container_of(timer, struct probe, timer);

	probe->nr_fired++;
	if (probe->attempt)
		probe->outcome = probe->attempt(probe);
}

static void probe_init(struct probe *probe, int (*attempt)(struct probe *probe))
{
	memset(probe, 0, sizeof(*probe));
	probe->attempt = attempt;
	twheel_timer_init(&probe->timer, wheel, probe_fired);
}

static void probe_add(struct kunit *test, struct probe *probe, u64 delay)
{
	KUNIT_EXPECT_EQ(test, twheel_timer_add(&probe->timer, twheel_deadline(delay)), 0);
}

/*
 * Run @attempt in a callback and check its return value. Another timer is pending during
 * the attempt and must not be affected.
 */
static void expect_outcome(struct kunit *test, int (*attempt)(struct probe *probe), int outcome)
{
	static struct probe probe, other;

	probe_init(&probe, attempt);
	probe_init(&other, NULL);
	probe_add(test, &probe, NSEC_PER_MSEC);
	probe_add(test, &other, NSEC_PER_SEC);
	vtime_sleep(2 * NSEC_PER_SEC);
	KUNIT_EXPECT_EQ(test, probe.nr_fired, 1);
	KUNIT_EXPECT_EQ(test, probe.outcome, outcome);
	KUNIT_EXPECT_EQ(test, other.nr_fired, 1);
}

static int leave_preemption_disabled(struct probe *probe)
{
	preempt_disable();
	return 0;
}

static int try_cancel_sync(struct probe *probe)
{
	return twheel_timer_cancel_sync(&probe->timer);
}

static int try_shutdown_sync(struct probe *probe)
{
	return twheel_timer_shutdown_sync(&probe->timer);
}

static int try_flush(struct probe *probe)
{
	return twheel_flush(wheel);
}

static int try_stop(struct probe *probe)
{
	return twheel_stop(wheel, NULL, NULL);
}

static int try_destroy(struct probe *probe)
{
	twheel_destroy(wheel);
	return 0;
}

/* A place warns once: that of the waits serves two calls. */
static const struct misuse {
	const char	*name;
	int		(*attempt)(struct probe *probe);
	int		outcome;
	const char	*report;
} misuses[] = {
	{ "leave preemption disabled", leave_preemption_disabled, 0,
	  "WARNING: * twheel_callback_leaked+*" },
	{ "cancel_sync", try_cancel_sync, -EDEADLK,
	  "WARNING: *twheel/core/timer.c:* cancel_and_wait*" },
	{ "shutdown_sync", try_shutdown_sync, -EDEADLK },
	{ "flush", try_flush, -EDEADLK, "WARNING: * twheel_flush+*" },
	{ "stop", try_stop, -EDEADLK, "WARNING: * twheel_stop+*" },
	{ "destroy", try_destroy, 0, "WARNING: *twheel/core/twheel.c:*" },
};

static void misuse_desc(const struct misuse *misuse, char *desc)
{
	strscpy(desc, misuse->name, KUNIT_PARAM_DESC_SIZE);
}

KUNIT_ARRAY_PARAM(misuse, misuses, misuse_desc);

/* The wheel continues, and so does its reaper. */
static void callback_that_misuses_its_wheel_is_reported(struct kunit *test)
{
	const struct misuse *misuse = test->param_value;

	if (misuse->report)
		expect_report(test, misuse->report);
	expect_outcome(test, misuse->attempt, misuse->outcome);
}

/* debugobjects logs each error with a warning, at most five times per boot. */
static void expect_odebug(struct kunit *test, const char *error)
{
	expect_report(test, "WARNING: * debug_print_object+*");
	kunit_info(test, "expected: ODEBUG: %s *twheel_timer*\n", error);
}

static void misuse_exit(struct kunit *test)
{
	if (!wheel)
		return;
	KUNIT_EXPECT_EQ(test, stats_of(wheel).pending, 0);
	twheel_destroy(wheel);
}

static DEFINE_MUTEX(mutex);

static int take_mutex(struct probe *probe)
{
	mutex_lock(&mutex);
	mutex_unlock(&mutex);
	return 0;
}

/*
 * lockdep reports the dependency even if the call does not have to wait. The report
 * disables lockdep.
 */
static void wait_under_lock_of_callback_is_reported(struct kunit *test)
{
	static struct probe probe;

	expect_outcome(test, take_mutex, 0);
	probe_init(&probe, NULL);
	expect_report(test, "WARNING: possible circular locking dependency detected");
	mutex_lock(&mutex);
	KUNIT_EXPECT_EQ(test, twheel_timer_cancel_sync(&probe.timer), -EALREADY);
	mutex_unlock(&mutex);
}

/* Work with a function that attempts to wait for itself, after it has armed the work again. */
struct work_probe {
	struct twheel_work	work;
	struct completion	done;
	unsigned int		nr_run;
	int			outcome;
};

static void work_probe_run(struct work_struct *work)
{
	struct work_probe *probe = container_of(to_twheel_work(work), struct work_probe, work);

	probe->nr_run++;
	twheel_work_add(&probe->work, twheel_deadline(NSEC_PER_MSEC));
	probe->outcome = twheel_work_cancel_sync(&probe->work);
	complete(&probe->done);
}

/* The work is cancelled like a timer. */
static void work_waiting_for_itself_gets_edeadlk(struct kunit *test)
{
	static struct work_probe probe;

	init_completion(&probe.done);
	twheel_work_init(&probe.work, wheel, system_wq, work_probe_run);
	expect_report(test, "WARNING: * twheel_work_cancel_sync+*");
	KUNIT_EXPECT_EQ(test, twheel_work_add(&probe.work, 0), 0);
	KUNIT_ASSERT_NE(test, wait_for_completion_timeout(&probe.done, 10 * HZ), 0);
	KUNIT_EXPECT_EQ(test, probe.outcome, -EDEADLK);
	vtime_sleep(NSEC_PER_SEC);
	KUNIT_EXPECT_EQ(test, twheel_work_cancel_sync(&probe.work), -EALREADY);
	KUNIT_EXPECT_EQ(test, probe.nr_run, 1);
}

static void need_debug_objects(struct kunit *test)
{
	if (!IS_ENABLED(CONFIG_DEBUG_OBJECTS_FREE))
		kunit_skip(test, "this kernel has no debugobjects");
}

/* The pending timer is cancelled before it is initialised again. */
static void init_of_pending_timer_is_reported(struct kunit *test)
{
	static struct probe probe;

	need_debug_objects(test);
	probe_init(&probe, NULL);
	probe_add(test, &probe, NSEC_PER_SEC);
	expect_odebug(test, "init active");
	twheel_timer_init(&probe.timer, wheel, probe_fired);
	KUNIT_EXPECT_EQ(test, stats_of(wheel).pending, 0);
	probe_add(test, &probe, NSEC_PER_SEC);
	vtime_sleep(2 * NSEC_PER_SEC);
	KUNIT_EXPECT_EQ(test, probe.nr_fired, 1);
}

/* Another timer in the bucket is not affected. */
static void free_of_pending_timer_is_reported(struct kunit *test)
{
	struct probe *freed = kzalloc(sizeof(*freed), GFP_KERNEL);
	static struct probe other;

	KUNIT_ASSERT_NOT_NULL(test, freed);
	probe_init(&other, NULL);
	probe_init(freed, NULL);
	if (IS_ENABLED(CONFIG_DEBUG_OBJECTS_FREE)) {
		probe_add(test, freed, NSEC_PER_SEC);
		probe_add(test, &other, NSEC_PER_SEC);
		expect_odebug(test, "free active");
	}
	kfree(freed);
	need_debug_objects(test);
	vtime_sleep(2 * NSEC_PER_SEC);
	KUNIT_EXPECT_EQ(test, other.nr_fired, 1);
	KUNIT_EXPECT_EQ(test, stats_of(wheel).fired, 1);
}

/*
 * The calls refuse a zeroed timer, and use neither the wheel nor the workqueue of zeroed work. Both
 * warn at the same place.
 */
static void uninitialised_timer_is_refused(struct kunit *test)
{
	struct probe *zeroes = kunit_kzalloc(test, sizeof(*zeroes), GFP_KERNEL);
	struct twheel_work *work = kunit_kzalloc(test, sizeof(*work), GFP_KERNEL);

	KUNIT_ASSERT_TRUE(test, zeroes && work);
	if (IS_ENABLED(CONFIG_DEBUG_OBJECTS))
		expect_odebug(test, "assert_init not available");
	expect_report(test, "WARNING: * twheel_timer_is_zeroed+*");
	KUNIT_EXPECT_EQ(test, twheel_timer_add(&zeroes->timer, 0), -EINVAL);
	if (IS_ENABLED(CONFIG_DEBUG_OBJECTS))
		expect_odebug(test, "assert_init not available");
	KUNIT_EXPECT_EQ(test, twheel_work_cancel_sync(work), -EINVAL);
	KUNIT_EXPECT_EQ(test, stats_of(wheel).pending, 0);
	vtime_sleep(NSEC_PER_SEC);
	KUNIT_EXPECT_EQ(test, zeroes->nr_fired, 0);
}

/* The timer does not fire, and does not refer to the destroyed wheel: it can be used again. */
static void destroy_of_wheel_with_timers_is_reported(struct kunit *test)
{
	struct probe *probe = kunit_kzalloc(test, sizeof(*probe), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, probe);
	probe_init(probe, NULL);
	probe_add(test, probe, NSEC_PER_SEC);
	expect_report(test, "WARNING: *twheel/core/twheel.c:*");
	twheel_destroy(wheel);
	wheel = NULL;
	vtime_sleep(2 * NSEC_PER_SEC);
	KUNIT_EXPECT_FALSE(test, twheel_timer_pending(&probe->timer));
	KUNIT_EXPECT_EQ(test, probe->nr_fired, 0);
	wheel_init(test);
	probe_init(probe, NULL);
	probe_add(test, probe, NSEC_PER_MSEC);
	vtime_sleep(NSEC_PER_SEC);
	KUNIT_EXPECT_EQ(test, probe->nr_fired, 1);
}

static struct kunit_case misuse_cases[] = {
	KUNIT_CASE(wait_under_lock_of_callback_is_reported),
	KUNIT_CASE_PARAM(callback_that_misuses_its_wheel_is_reported, misuse_gen_params),
	KUNIT_CASE(work_waiting_for_itself_gets_edeadlk),
	KUNIT_CASE(init_of_pending_timer_is_reported),
	KUNIT_CASE(free_of_pending_timer_is_reported),
	KUNIT_CASE(uninitialised_timer_is_refused),
	KUNIT_CASE(destroy_of_wheel_with_timers_is_reported),
	{}
};

static struct kunit_suite misuse_suite = {
	.name		= "twheel_misuse",
	.init		= wheel_init,
	.exit		= misuse_exit,
	.test_cases	= misuse_cases,
};

/* A report of lockdep, which disables it, is in the second one. */
kunit_test_suites(&op_misuse_suite, &misuse_suite);

MODULE_DESCRIPTION("KUnit suites of twheel that provoke warnings");
MODULE_AUTHOR("The twheel developers");
MODULE_LICENSE("GPL");
TWHEEL_IMPORT_NS(EXPORTED_FOR_KUNIT_TESTING);
