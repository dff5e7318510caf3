// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit tests for the queue of signals from any context. A work item that waits keeps that of the
 * queue from running, on an ordered workqueue.
 */
#include <linux/completion.h>
#include <linux/delay.h>
#include <linux/err.h>
#include <linux/irqflags.h>
#include <linux/rcupdate.h>
#include <linux/workqueue.h>

#include "../../twheel/bpf/bpf.h"
#include "../op/op_probe.h"

#define KEY	5

static const struct twheel_key key = { .v = { 0, KEY } };
static struct workqueue_struct *wq;
static struct twheel_signal_queue *queue;
static DECLARE_COMPLETION(unblocked);

static void block_fn(struct work_struct *work)
{
	wait_for_completion(&unblocked);
}

static DECLARE_WORK(block_work, block_fn);

static void block(void)
{
	reinit_completion(&unblocked);
	queue_work(wq, &block_work);
}

/* Wait for the queued signals. Some machines run irq_work at the next tick. */
static void settle(void)
{
	msleep(3 * MSEC_PER_SEC / HZ);
	drain_workqueue(wq);
}

static void unblock(void)
{
	complete(&unblocked);
	settle();
}

static int suite_init(struct kunit *test)
{
	int err = probe_suite_init(test);

	if (err)
		return err;
	wq = alloc_ordered_workqueue("twheel_kunit", 0);
	KUNIT_ASSERT_NOT_NULL(test, wq);
	queue = twheel_signal_queue_create(probe_purgatory, wq);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, queue);
	return 0;
}

static void suite_exit(struct kunit *test)
{
	if (!IS_ERR_OR_NULL(queue))
		twheel_signal_queue_destroy(queue);
	if (wq)
		destroy_workqueue(wq);
	queue = NULL;
	wq = NULL;
	probe_suite_exit(test);
}

/* Queue signals until the queue is full. Return: their number. */
static unsigned int fill(void)
{
	unsigned int nr = 0;

	while (nr <= TWHEEL_SIGNAL_SLOTS && !twheel_signal_queue_add(queue, &key, 1, nr))
		nr++;
	return nr;
}

static void signals_are_counted_in_order(struct kunit *test)
{
	struct probe *probe = probe_new(test);

	KUNIT_ASSERT_EQ(test, probe_add_sum(probe, TWHEEL_NEVER, 30,
					    probe_keys_new(test, KEY, 1)), 0);
	block();
	KUNIT_EXPECT_EQ(test, twheel_signal_queue_add(queue, &key, 10, 1), 0);
	KUNIT_EXPECT_EQ(test, twheel_signal_queue_add(queue, &key, 20, 2), 0);
	KUNIT_EXPECT_EQ(test, twheel_signal_queue_add(queue, &key, 30, 3), 0);
	KUNIT_EXPECT_EQ(test, probe->ended, 0);
	unblock();
	expect_ended(test, probe, TWHEEL_REASON_COMPLETED, 2);
}

static void signal_with_interrupts_disabled_completes(struct kunit *test)
{
	struct probe *probe = probe_pending(test, TWHEEL_COND_ANY, 0, KEY, 1);
	unsigned long flags;
	int err;

	local_irq_save(flags);
	err = twheel_signal_queue_add(queue, &key, 0, 7);
	local_irq_restore(flags);
	KUNIT_EXPECT_EQ(test, err, 0);
	settle();
	expect_ended(test, probe, TWHEEL_REASON_COMPLETED, 7);
}

static void full_queue_refuses_and_loses_nothing(struct kunit *test)
{
	struct probe *probe = probe_new(test);
	unsigned int i;

	/* Several turns of the ring; the last signal of the last one completes. */
	KUNIT_ASSERT_EQ(test, probe_add_sum(probe, TWHEEL_NEVER, 3 * TWHEEL_SIGNAL_SLOTS,
					    probe_keys_new(test, KEY, 1)), 0);
	for (i = 0; i < 3; i++) {
		KUNIT_EXPECT_EQ(test, probe->ended, 0);
		block();
		KUNIT_EXPECT_EQ(test, fill(), TWHEEL_SIGNAL_SLOTS);
		KUNIT_EXPECT_EQ(test, twheel_signal_queue_add(queue, &key, 1, 0), -ENOBUFS);
		unblock();
	}
	expect_ended(test, probe, TWHEEL_REASON_COMPLETED, TWHEEL_SIGNAL_SLOTS - 1);
}

static void destroyed_queue_is_not_found_and_drops_signals(struct kunit *test)
{
	struct probe *probe = probe_pending(test, TWHEEL_COND_ANY, 0, KEY, 1);
	u64 handle = queue->handle;

	KUNIT_EXPECT_GT(test, (s64)handle, 0);
	rcu_read_lock();
	KUNIT_EXPECT_PTR_EQ(test, twheel_signal_queue_find(handle), queue);
	KUNIT_EXPECT_NULL(test, twheel_signal_queue_find(handle + 1));
	rcu_read_unlock();
	block();
	KUNIT_EXPECT_EQ(test, twheel_signal_queue_add(queue, &key, 0, 7), 0);
	twheel_signal_queue_destroy(queue);
	queue = NULL;
	unblock();
	rcu_read_lock();
	KUNIT_EXPECT_NULL(test, twheel_signal_queue_find(handle));
	rcu_read_unlock();
	KUNIT_EXPECT_EQ(test, probe->ended, 0);
	twheel_op_cancel(&probe->op);
}

static struct kunit_case signal_queue_cases[] = {
	KUNIT_CASE(signals_are_counted_in_order),
	KUNIT_CASE(signal_with_interrupts_disabled_completes),
	KUNIT_CASE(full_queue_refuses_and_loses_nothing),
	KUNIT_CASE(destroyed_queue_is_not_found_and_drops_signals),
	{}
};

static struct kunit_suite signal_queue_suite = {
	.name = "twheel_signal_queue",
	.init = suite_init,
	.exit = suite_exit,
	.test_cases = signal_queue_cases,
};

kunit_test_suite(signal_queue_suite);
