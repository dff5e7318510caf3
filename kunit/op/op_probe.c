// SPDX-License-Identifier: GPL-2.0
/*
 * A purgatory and test operations for the suites of operations. See op_probe.h.
 */
#include <linux/completion.h>
#include <linux/kthread.h>
#include <linux/sched/task.h>
#include <linux/slab.h>

#include "../stats.h"
#include "../vtime.h"
#include "op_probe.h"

struct twheel *probe_wheel;
struct twheel_purgatory *probe_purgatory;

/* Number of callbacks so far, to record their order. */
static unsigned int nr_ended;

static void probe_enter(struct probe *probe)
{
	if (probe->busy)
		probe->overlaps++;
	probe->busy = true;
}

static bool probe_try_complete(struct twheel_op *op, u64 *value)
{
	struct probe *probe = container_of(op, struct probe, op);
	bool holds;

	probe_enter(probe);
	if (probe->done)
		probe->overlaps++;
	probe->evaluated++;
	if (probe->on_eval)
		probe->on_eval(probe);
	holds = probe->holds;
	if (probe->value)
		*value = probe->value;
	if (probe->predicate)
		holds = probe->predicate(probe, value);
	/* A condition set from here on must be seen by another evaluation. */
	if (probe->eval_ns)
		vtime_sleep_in_callback(probe->eval_ns);
	probe->busy = false;
	return holds;
}

static void probe_ended(struct twheel_op *op)
{
	struct probe *probe = container_of(op, struct probe, op);

	probe_enter(probe);
	twheel_op_get_result(op, &probe->result);
	probe->done = true;
	probe->ended++;
	probe->order = ++nr_ended;
	probe->ended_by = current;
	if (probe->on_ended)
		probe->on_ended(probe);
	if (probe->takes_ns)
		vtime_sleep_in_callback(probe->takes_ns);
	probe->busy = false;
}

static void probe_release(struct twheel_op *op)
{
	container_of(op, struct probe, op)->released++;
}

static const struct twheel_op_ops probe_ops = {
	.ended		= probe_ended,
	.release	= probe_release,
};

static const struct twheel_op_ops predicate_ops = {
	.try_complete	= probe_try_complete,
	.ended		= probe_ended,
	.release	= probe_release,
};

static void probe_init(struct probe *probe, const struct twheel_op_ops *ops)
{
	probe->ops = ops;
	twheel_op_init(&probe->op, ops);
}

struct probe *probe_new(struct kunit *test)
{
	struct probe *probe = kunit_kzalloc(test, sizeof(*probe), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, probe);
	probe_init(probe, &probe_ops);
	return probe;
}

void probe_init_predicate(struct probe *probe)
{
	probe_init(probe, &predicate_ops);
}

struct probe *probe_new_predicate(struct kunit *test)
{
	struct probe *probe = probe_new(test);

	probe_init_predicate(probe);
	return probe;
}

struct probe_keys *probe_keys_new(struct kunit *test, u64 first, u32 nr)
{
	struct probe_keys *keys = kunit_kzalloc(test, sizeof(*keys), GFP_KERNEL);
	u32 i;

	KUNIT_ASSERT_NOT_NULL(test, keys);
	for (i = 0; i < nr; i++)
		keys->spec[i].key.v[1] = first + i;
	keys->nr = nr;
	return keys;
}

static int probe_add_args(struct probe *probe, u64 delay, const struct probe_keys *keys,
			  struct twheel_op_args args)
{
	args.deadline = twheel_deadline(delay);
	args.nr_keys = keys ? keys->nr : 0;
	args.specs = keys ? keys->spec : NULL;
	args.watches = probe->watch;
	return twheel_op_add(probe_purgatory, &probe->op, &args);
}

int probe_add(struct probe *probe, u64 delay, enum twheel_condition condition, u32 quorum,
	      const struct probe_keys *keys)
{
	return probe_add_args(probe, delay, keys, (struct twheel_op_args){
		.condition = condition, .quorum = quorum,
	});
}

int probe_add_sum(struct probe *probe, u64 delay, u64 threshold, const struct probe_keys *keys)
{
	return probe_add_args(probe, delay, keys, (struct twheel_op_args){
		.condition = TWHEEL_COND_SUM, .threshold = threshold,
	});
}

int probe_add_predicate(struct probe *probe, u64 delay, const struct probe_keys *keys)
{
	return probe_add_args(probe, delay, keys, (struct twheel_op_args){
		.condition = TWHEEL_COND_PREDICATE,
	});
}

struct probe *probe_pending(struct kunit *test, enum twheel_condition condition, u32 quorum,
			    u64 first, u32 nr)
{
	struct probe *probe = probe_new(test);
	struct probe_keys *keys = probe_keys_new(test, first, nr);

	KUNIT_ASSERT_EQ(test, probe_add(probe, TWHEEL_NEVER, condition, quorum, keys), 0);
	return probe;
}

int probe_watch(struct kunit *test, struct probe *probe, u64 first, u32 nr)
{
	struct probe_keys *keys = probe_keys_new(test, first, nr);
	struct twheel_watch *watches = kunit_kcalloc(test, nr, sizeof(*watches), GFP_KERNEL);

	return twheel_op_watch(&probe->op, keys->spec, watches, nr);
}

u32 probe_signal(u64 number, u64 value)
{
	const struct twheel_key key = { .v = { 0, number } };

	return twheel_signal(probe_purgatory, &key, 1, value);
}

u32 probe_check(u64 number, u32 limit)
{
	const struct twheel_key key = { .v = { 0, number } };

	return twheel_check_and_complete(probe_purgatory, &key, limit, 0);
}

struct forked_call {
	int			(*call)(struct probe *probe);
	struct probe		*probe;
	struct completion	started;
};

static int forked_main(void *data)
{
	struct forked_call *forked = data;

	complete(&forked->started);
	return forked->call(forked->probe);
}

struct task_struct *probe_fork(struct kunit *test, int (*call)(struct probe *probe),
			       struct probe *probe)
{
	struct forked_call *forked = kunit_kzalloc(test, sizeof(*forked), GFP_KERNEL);
	struct task_struct *task;

	KUNIT_ASSERT_NOT_NULL(test, forked);
	forked->call = call;
	forked->probe = probe;
	init_completion(&forked->started);
	task = kthread_create(forked_main, forked, "twheel_probe");
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, task);
	get_task_struct(task);
	wake_up_process(task);
	/* A kthread that is stopped before it has run never calls its function. */
	wait_for_completion(&forked->started);
	return task;
}

int probe_join(struct task_struct *task)
{
	int ret = kthread_stop(task);

	put_task_struct(task);
	return ret;
}

void expect_ended(struct kunit *test, const struct probe *probe, enum twheel_reason reason,
		  u64 value)
{
	KUNIT_EXPECT_EQ(test, probe->ended, 1);
	KUNIT_EXPECT_EQ(test, probe->result.reason, reason);
	KUNIT_EXPECT_EQ(test, probe->result.value, value);
	KUNIT_EXPECT_EQ(test, probe->overlaps, 0);
}

void expect_expired(struct kunit *test, const struct probe *probe, u64 deadline, u64 slack)
{
	expect_ended(test, probe, TWHEEL_REASON_EXPIRED, 0);
	KUNIT_EXPECT_EQ(test, probe->result.error, 0);
	KUNIT_EXPECT_EQ(test, probe->result.deadline, deadline);
	KUNIT_EXPECT_GE(test, probe->result.time, deadline);
	KUNIT_EXPECT_LE(test, probe->result.time,
			deadline + slack + twheel_tick_ns(probe_wheel) + VTIME_SLOP_NS);
}

void expect_counts(struct kunit *test, u64 pending, u64 keys, u64 watches)
{
	struct twheel_purgatory_stats stats;

	twheel_purgatory_get_stats(probe_purgatory, &stats);
	KUNIT_EXPECT_EQ(test, stats.pending, pending);
	KUNIT_EXPECT_EQ(test, stats.keys, keys);
	KUNIT_EXPECT_EQ(test, stats.watches, watches);
	KUNIT_EXPECT_EQ(test, stats.added, stats.pending + stats.ended[TWHEEL_REASON_COMPLETED] +
			stats.ended[TWHEEL_REASON_EXPIRED] + stats.ended[TWHEEL_REASON_CANCELLED]);
}

void expect_rejected(struct kunit *test, u64 rejected)
{
	struct twheel_purgatory_stats stats;

	twheel_purgatory_get_stats(probe_purgatory, &stats);
	KUNIT_EXPECT_EQ(test, stats.rejected, rejected);
}

struct twheel_purgatory *probe_purgatory_create(u32 max_pending, u32 max_watches)
{
	const struct twheel_purgatory_config config = {
		.name		= "kunit",
		.wheel		= probe_wheel,
		.max_pending	= max_pending,
		.max_watches	= max_watches,
	};

	return twheel_purgatory_create(&config);
}

void probe_limit(struct kunit *test, u32 max_pending, u32 max_watches)
{
	twheel_purgatory_destroy(probe_purgatory);
	probe_purgatory = probe_purgatory_create(max_pending, max_watches);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, probe_purgatory);
}

int probe_suite_init(struct kunit *test)
{
	const struct twheel_config config = { .name = "kunit" };

	probe_wheel = twheel_create(&config);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, probe_wheel);
	probe_purgatory = probe_purgatory_create(MAX_PENDING, 0);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, probe_purgatory);
	nr_ended = 0;
	return 0;
}

void probe_suite_exit(struct kunit *test)
{
	twheel_purgatory_drain(probe_purgatory);
	expect_counts(test, 0, 0, 0);
	twheel_purgatory_destroy(probe_purgatory);
	probe_purgatory = NULL;
	KUNIT_EXPECT_EQ(test, stats_of(probe_wheel).pending, 0);
	twheel_destroy(probe_wheel);
}
