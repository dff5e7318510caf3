// SPDX-License-Identifier: GPL-2.0
/*
 * Operations of a benchmark, the way that a consumer has them.
 *
 * Each is one object, with room for its watches, from a slab cache.  It is allocated
 * when it is added and freed when it is released, so that what a suite takes for
 * an add and for an end is all that these cost, the allocator's part too.
 *
 * Its reference is given back when it has ended.  If it has ended twice, or early,
 * or in another way than the suite is about, it is not: it stays to be looked at,
 * and the run fails.
 *
 * Whoever runs a suite stays on one CPU, and so do the operations: those that
 * expire do on one reaper, one after the other.
 */
#include <linux/cpumask.h>
#include <linux/err.h>
#include <linux/mm.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/smp.h>
#include <linux/string.h>
#include <linux/timekeeping.h>

#include "bench.h"
#include "ops.h"

/*
 * About what a key takes, with its place in a table that has just grown: only for
 * telling whether there is memory enough.
 */
#define KEY_BYTES	112

struct bench_ops bench_ops;

/* The reaper reads the clock for those alone whose deadline is not known to have passed. */
static bool op_early(u64 deadline)
{
	struct bench_ops *ops = &bench_ops;

	if (deadline > ops->clock) {
		ops->clock = ktime_get_ns();
		ops->first = ops->first ?: ops->clock;
	}
	return deadline > ops->clock;
}

static void ops_expired(void)
{
	struct bench_ops *ops = &bench_ops;

	if (ops->expiring && !--ops->expiring) {
		ops->clock = ktime_get_ns();
		complete(&ops->expired);
	}
}

static void op_ended(struct twheel_op *op)
{
	struct bench_op *o = container_of(op, struct bench_op, op);
	struct bench_ops *ops = &bench_ops;
	struct twheel_op_result result;
	bool wrong;

	twheel_op_result(op, &result);
	wrong = o->ended++ || result.reason != ops->expected;
	if (result.reason == TWHEEL_EXPIRED)
		wrong |= op_early(result.deadline);
	if (unlikely(wrong)) {
		ops->wrong++;
	} else {
		ops->ended++;
		twheel_op_put(op);
	}
	if (result.reason == TWHEEL_EXPIRED)
		ops_expired();
}

/**
 * ops_release - the release of operations that came by ops_add() or ops_add_own()
 * @op: the operation
 */
void ops_release(struct twheel_op *op)
{
	kmem_cache_free(bench_ops.cache, container_of(op, struct bench_op, op));
}

static const struct twheel_op_ops op_ops = {
	.ended		= op_ended,
	.release	= ops_release,
};

/* Allocate an operation and add it, to complete by any of its keys. */
static int op_add(struct bench_op **op, const struct twheel_op_ops *its_ops, u32 id,
		  const struct twheel_watch_spec *specs, u64 deadline)
{
	struct bench_ops *ops = &bench_ops;
	struct bench_op *o = kmem_cache_alloc(ops->cache, GFP_KERNEL);
	struct twheel_op_args args = {
		.deadline	= deadline,
		.condition	= TWHEEL_COND_ANY,
		.nr_keys	= ops->nr_keys,
		.specs		= specs,
	};
	int err;

	if (!o)
		return -ENOMEM;
	o->ended = 0;
	o->id = id;
	args.watches = o->watch;
	twheel_op_init(&o->op, its_ops);
	if (op)
		*op = o;
	err = twheel_op_add(ops->purgatory, &o->op, &args);
	if (unlikely(err))
		kmem_cache_free(ops->cache, o);
	return err;
}

/**
 * ops_add - add an operation that is to end as expected
 * @op: where to put it before it waits; NULL if that does not matter
 * @specs: its keys
 * @deadline: when it expires
 *
 * Return: 0 or an error.
 */
int ops_add(struct bench_op **op, const struct twheel_watch_spec *specs, u64 deadline)
{
	int err = op_add(op, &op_ops, 0, specs, deadline);

	bench_ops.added += !err;
	return err;
}

/**
 * ops_add_own - add an operation the end of which the suite sees to itself
 * @ops: what it does about it; its release is ops_release()
 * @id: to know it by
 * @specs: its keys
 * @deadline: when it expires
 *
 * Return: 0 or an error.
 */
int ops_add_own(const struct twheel_op_ops *ops, u32 id, const struct twheel_watch_spec *specs,
		u64 deadline)
{
	int err = op_add(NULL, ops, id, specs, deadline);

	bench_ops.added_own += !err;
	return err;
}

/**
 * ops_far - a deadline that does not come during the run
 */
u64 ops_far(void)
{
	return twheel_deadline(bench_between(&bench_ops.random, OPS_FAR_MIN_NS, OPS_FAR_MAX_NS));
}

/**
 * ops_fit - whether there is memory for so many operations
 * @nr: how many
 * @nr_keys: how many keys each has, which it shares with no other
 */
bool ops_fit(u64 nr, unsigned int nr_keys)
{
	u64 each = sizeof(struct bench_op) + nr_keys * (sizeof(struct twheel_watch) + KEY_BYTES);

	return nr * each < (u64)si_mem_available() << PAGE_SHIFT;
}

/**
 * ops_start - begin a run
 * @nr_keys: how many keys each operation watches
 * @seed: of their deadlines
 *
 * Return: 0 or an error, and there is nothing to be stopped.
 */
int ops_start(unsigned int nr_keys, u64 seed)
{
	const struct twheel_purgatory_config config = {
		.name		= "bench",
		.max_pending	= 1U << 30,
	};
	struct bench_ops *ops = &bench_ops;

	*ops = (struct bench_ops){ .nr_keys = nr_keys };
	prandom_seed_state(&ops->random, seed);
	init_completion(&ops->expired);
	ops->cache = kmem_cache_create("twheel_bench_op",
				       sizeof(struct bench_op) +
				       nr_keys * sizeof(struct twheel_watch), 0, 0, NULL);
	if (!ops->cache)
		return -ENOMEM;
	ops->purgatory = twheel_purgatory_create(&config);
	if (IS_ERR(ops->purgatory)) {
		kmem_cache_destroy(ops->cache);
		return PTR_ERR(ops->purgatory);
	}
	return 0;
}

/* All have ended: ours and the purgatory's counts must agree. */
static int ops_check(u32 handed_back, u64 before)
{
	const struct bench_ops *ops = &bench_ops;
	struct twheel_purgatory_stats stats;
	u64 ended;

	twheel_purgatory_stats(ops->purgatory, &stats);
	ended = stats.ended[TWHEEL_COMPLETED] + stats.ended[TWHEEL_EXPIRED] +
		stats.ended[TWHEEL_CANCELLED];
	if (!ops->wrong && ops->added == ops->ended && ops->added + ops->added_own == stats.added &&
	    ended == stats.added && ops->ended - before == handed_back &&
	    !stats.pending && !stats.keys && !stats.watches)
		return 0;
	bench_failure("%llu added, %llu ended, %llu not once, or early, or otherwise",
		      ops->added, ops->ended, ops->wrong);
	return bench_failure("purgatory: %llu added, %llu ended, %llu pending, %llu keys",
			     stats.added, ended, stats.pending, stats.keys);
}

/**
 * ops_stop - end a run
 * @err: what it has come to
 *
 * Return: @err, or else -EIO if an operation was lost, early, or ended twice.
 */
int ops_stop(int err)
{
	struct bench_ops *ops = &bench_ops;
	u64 before = ops->ended;
	u32 handed_back;
	int wrong;

	ops->expected = TWHEEL_CANCELLED;
	handed_back = twheel_purgatory_drain(ops->purgatory);
	wrong = ops_check(handed_back, before);
	twheel_purgatory_destroy(ops->purgatory);
	kmem_cache_destroy(ops->cache);
	return err ?: wrong;
}

/**
 * ops_stay - run a suite without leaving this CPU
 * @run: the suite
 * @config: for it
 *
 * Return: what it returns, or an error.
 */
int ops_stay(int (*run)(const struct bench_config *config), const struct bench_config *config)
{
	cpumask_var_t before;
	int err;

	if (!alloc_cpumask_var(&before, GFP_KERNEL))
		return -ENOMEM;
	cpumask_copy(before, &current->cpus_mask);
	err = set_cpus_allowed_ptr(current, cpumask_of(raw_smp_processor_id()));
	if (!err)
		err = run(config);
	set_cpus_allowed_ptr(current, before);
	free_cpumask_var(before);
	return err;
}
