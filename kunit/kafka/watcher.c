// SPDX-License-Identifier: GPL-2.0
/*
 * Operations with predicates, and racing threads. See watcher.h.
 */
#include <linux/bitops.h>
#include <linux/kthread.h>
#include <linux/sched.h>
#include <linux/sched/task.h>

#include "../op/op_probe.h"
#include "watcher.h"

static bool watcher_try_complete(struct twheel_op *op, u64 *value)
{
	struct watcher *watcher = container_of(op, struct watcher, op);
	bool ret;

	if (test_and_set_bit(0, &watcher->busy))
		watcher->overlapped++;
	watcher->evaluated++;
	ret = watcher->predicate ? watcher->predicate(watcher, value) : watcher->completable;
	clear_bit(0, &watcher->busy);
	return ret;
}

static void watcher_ended(struct twheel_op *op)
{
	struct watcher *watcher = container_of(op, struct watcher, op);

	if (test_and_set_bit(0, &watcher->busy))
		watcher->overlapped++;
	twheel_op_get_result(op, &watcher->result);
	watcher->ended++;
	watcher->ended_by = current;
	if (watcher->on_ended)
		watcher->on_ended(watcher);
	clear_bit(0, &watcher->busy);
}

/* The memory is freed at the end of the test. */
static void watcher_release(struct twheel_op *op)
{
}

static const struct twheel_op_ops watcher_ops = {
	.try_complete	= watcher_try_complete,
	.ended		= watcher_ended,
	.release	= watcher_release,
};

void watcher_init(struct watcher *watcher)
{
	twheel_op_init(&watcher->op, &watcher_ops);
}

struct watcher *watcher_new(struct kunit *test)
{
	struct watcher *watcher = kunit_kzalloc(test, sizeof(*watcher), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, watcher);
	watcher_init(watcher);
	return watcher;
}

int watcher_add(struct watcher *watcher, u64 delay, u64 first, u32 nr)
{
	struct twheel_watch_spec specs[WATCHER_KEYS] = {};
	const struct twheel_op_args args = {
		.deadline	= twheel_deadline(delay),
		.condition	= TWHEEL_COND_PREDICATE,
		.nr_keys	= nr,
		.specs		= specs,
		.watches	= watcher->watch,
	};
	u32 i;

	for (i = 0; i < nr; i++)
		specs[i].key.v[1] = first + i;
	return twheel_op_add(probe_purgatory, &watcher->op, &args);
}

struct watcher *watcher_pending(struct kunit *test, u64 first, u32 nr)
{
	struct watcher *watcher = watcher_new(test);

	KUNIT_ASSERT_EQ(test, watcher_add(watcher, TWHEEL_NEVER, first, nr), 0);
	expect_pending(test, watcher);
	return watcher;
}

u32 watcher_check(u64 number)
{
	const struct twheel_key key = { .v = { 0, number } };

	return twheel_check_and_complete(probe_purgatory, &key, 0, 0);
}

void expect_pending(struct kunit *test, const struct watcher *watcher)
{
	KUNIT_EXPECT_EQ(test, watcher->ended, 0);
	KUNIT_EXPECT_EQ(test, watcher->overlapped, 0);
}

void expect_done(struct kunit *test, const struct watcher *watcher, enum twheel_reason reason,
		 u64 value)
{
	KUNIT_EXPECT_EQ(test, watcher->ended, 1);
	KUNIT_EXPECT_EQ(test, watcher->overlapped, 0);
	KUNIT_EXPECT_EQ(test, watcher->result.reason, reason);
	KUNIT_EXPECT_EQ(test, watcher->result.value, value);
}

static int racer_thread(void *data)
{
	struct racer *racer = data;

	racer->run(racer);
	complete(&racer->returned);
	return 0;
}

void racer_start(struct kunit *test, struct racer *racer)
{
	racer->completed = 0;
	init_completion(&racer->returned);
	racer->task = kthread_create(racer_thread, racer, "kunit_racer");
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, racer->task);
	get_task_struct(racer->task);
	wake_up_process(racer->task);
}

void racer_join(struct racer *racer)
{
	/* A kthread that is stopped before it has run never calls its function. */
	wait_for_completion(&racer->returned);
	kthread_stop(racer->task);
	put_task_struct(racer->task);
}
