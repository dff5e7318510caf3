// SPDX-License-Identifier: GPL-2.0
/*
 * Misuse of operations and purgatories is reported and refused, and does no harm. See
 * misuse_kunit.c for the check of the reports.
 */
#include <kunit/test.h>
#include <linux/debug_locks.h>
#include <linux/kernel.h>
#include <linux/module.h>
#include <linux/time64.h>
#include <linux/twheel.h>

#include "../../twheel/op/purgatory.h"
#include "../report.h"
#include "../vtime.h"

static struct twheel *wheel;
static struct twheel_purgatory *purgatory;

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

static int try_cancel_sync(struct misused *misused)
{
	return twheel_op_cancel_sync(&misused->op);
}

/* The WARN_ON_ONCE() is shared, so only the first call warns. */
static void cancel_sync_of_itself_returns_edeadlk(struct kunit *test)
{
	struct misused *predicate = misused_new(test, try_cancel_sync);
	struct misused *callback = misused_new(test, try_cancel_sync);

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

static int try_destroy(struct misused *misused)
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
	struct misused *destroy = misused_new(test, try_destroy);
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
 * Only lockdep knows. Not after a report, which disables it: this suite comes first.
 */
static void drain_and_destroy_in_callback_are_refused(struct kunit *test)
{
	struct misused *drain = misused_new(test, try_drain);
	struct misused *destroy = misused_new(test, try_destroy);
	struct misused *predicate = misused_new(test, try_destroy);

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

static int misuse_init(struct kunit *test)
{
	const struct twheel_config wheel_config = { .name = "misuse" };
	struct twheel_purgatory_config config = { .name = "misuse", .max_pending = 10 };

	wheel = twheel_create(&wheel_config);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, wheel);
	config.wheel = wheel;
	purgatory = twheel_purgatory_create(&config);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, purgatory);
	return 0;
}

static void misuse_exit(struct kunit *test)
{
	twheel_purgatory_destroy(purgatory);
	twheel_destroy(wheel);
}

static struct kunit_case misuse_cases[] = {
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

static struct kunit_suite misuse_suite = {
	.name		= "twheel_op_misuse",
	.init		= misuse_init,
	.exit		= misuse_exit,
	.test_cases	= misuse_cases,
};

kunit_test_suite(misuse_suite);
