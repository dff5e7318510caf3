// SPDX-License-Identifier: GPL-2.0
/*
 * Operations of a benchmark, managed in the same way as by a real consumer.
 *
 * An operation and its watches are one object from a slab cache, by way of a list of free ones for
 * each CPU. It is allocated when it is added, and freed in its release callback, so that the
 * measured costs of adding and ending an operation include both.
 *
 * ended() drops the reference. If an operation ended twice, early, or for an unexpected
 * reason, the reference is kept for debugging, and the run fails.
 *
 * A suite is bound to one CPU, and so are its operations: they expire on a single reaper,
 * one after the other.
 */
#include <linux/err.h>
#include <linux/percpu.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/timekeeping.h>

#include "bench.h"
#include "ops.h"

struct bench_ops bench_ops;

/* The reaper reads the clock only for deadlines later than the last reading. */
static bool op_early(u64 deadline)
{
	struct bench_ops *ops = &bench_ops;

	if (deadline > ops->clock) {
		ops->clock = ktime_get_ns();
		ops->first = ops->first ?: ops->clock;
	}
	return deadline > ops->clock;
}

static void op_ended(struct twheel_op *op)
{
	struct bench_op *o = container_of(op, struct bench_op, op);
	struct bench_ops *ops = &bench_ops;
	struct twheel_op_result result;
	bool wrong;

	twheel_op_get_result(op, &result);
	wrong = o->ended++ || result.reason != ops->expected;
	if (result.reason == TWHEEL_REASON_EXPIRED)
		wrong |= op_early(result.deadline);
	if (unlikely(wrong)) {
		ops->wrong++;
	} else {
		ops->ended++;
		twheel_op_put(op);
	}
	if (result.reason == TWHEEL_REASON_EXPIRED && ops->expiring && !--ops->expiring) {
		ops->clock = ktime_get_ns();
		complete(&ops->expired);
	}
}

/*
 * Free operations of a CPU, before they go back to the slab cache, as in a module that adds and
 * ends very many.
 */
struct ops_pool {
	struct bench_op	*first;
	unsigned int	nr;
};

static DEFINE_PER_CPU(struct ops_pool, ops_pool);

#define POOL_MAX	2048

/* A cache with a constructor is not zeroed by kernels that zero other memory. */
static void op_construct(void *op)
{
}

static struct bench_op *pool_alloc(void)
{
	struct ops_pool *pool = get_cpu_ptr(&ops_pool);
	struct bench_op *o = pool->first;

	if (likely(o)) {
		pool->first = *(struct bench_op **)o;
		pool->nr--;
	}
	put_cpu_ptr(&ops_pool);
	return likely(o) ? o : kmem_cache_alloc(bench_ops.cache, GFP_KERNEL);
}

static void pool_free(struct bench_op *o)
{
	struct ops_pool *pool = get_cpu_ptr(&ops_pool);
	bool full = pool->nr >= POOL_MAX;

	if (likely(!full)) {
		*(struct bench_op **)o = pool->first;
		pool->first = o;
		pool->nr++;
	}
	put_cpu_ptr(&ops_pool);
	if (unlikely(full))
		kmem_cache_free(bench_ops.cache, o);
}

/* Free the memory of operations that have ended. */
void ops_trim(void)
{
	struct ops_pool *pool;
	struct bench_op *o;
	unsigned int cpu;

	for_each_possible_cpu(cpu) {
		pool = per_cpu_ptr(&ops_pool, cpu);
		while ((o = pool->first)) {
			pool->first = *(struct bench_op **)o;
			kmem_cache_free(bench_ops.cache, o);
		}
		pool->nr = 0;
	}
}

void ops_release(struct twheel_op *op)
{
	pool_free(container_of(op, struct bench_op, op));
}

static const struct twheel_op_ops op_ops = {
	.ended		= op_ended,
	.release	= ops_release,
};

/* Allocate and add an operation that completes by any of its keys, or by a quorum of them. */
static int op_add(struct bench_op **op, const struct twheel_op_ops *callbacks,
		  const struct twheel_watch_spec *specs, u64 deadline)
{
	struct bench_ops *ops = &bench_ops;
	struct bench_op *o = pool_alloc();
	struct twheel_op_args args = {
		.flags		= TWHEEL_OP_MAY_SLEEP,
		.deadline	= deadline,
		.condition	= ops->nr_keys ? TWHEEL_COND_ANY : TWHEEL_COND_NONE,
		.nr_keys	= ops->nr_keys,
		.specs		= specs,
	};
	int err;

	if (!o)
		return -ENOMEM;
	o->ended = 0;
	args.watches = o->watch;
	if (ops->quorum) {
		args.condition = TWHEEL_COND_QUORUM;
		args.quorum = ops->quorum;
	}
	twheel_op_init(&o->op, callbacks);
	if (op)
		*op = o;
	err = twheel_op_add(ops->purgatory, &o->op, &args);
	if (unlikely(err))
		kmem_cache_free(ops->cache, o);
	return err;
}

/* Add an operation that ends as expected. @op is set before it is added, unless NULL. */
int ops_add(struct bench_op **op, const struct twheel_watch_spec *specs, u64 deadline)
{
	int err = op_add(op, &op_ops, specs, deadline);

	bench_ops.added += !err;
	return err;
}

/* Add an operation with callbacks of the suite; release has to be ops_release(). */
int ops_add_custom(const struct twheel_op_ops *ops, const struct twheel_watch_spec *specs,
		   u64 deadline)
{
	int err = op_add(NULL, ops, specs, deadline);

	bench_ops.added_custom += !err;
	return err;
}

/* A random deadline after the end of the run. */
u64 ops_far_deadline(void)
{
	return twheel_deadline(bench_between(&bench_ops.random, OPS_FAR_MIN_NS, OPS_FAR_MAX_NS));
}

/* Set up a run. On error, ops_stop() must not be called. */
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
				       nr_keys * sizeof(struct twheel_watch), 0, 0,
				       op_construct);
	if (!ops->cache)
		return -ENOMEM;
	ops->purgatory = twheel_purgatory_create(&config);
	if (IS_ERR(ops->purgatory)) {
		kmem_cache_destroy(ops->cache);
		return PTR_ERR(ops->purgatory);
	}
	return 0;
}

/*
 * Compare the counters of the benchmark with those of the purgatory. All operations have
 * ended.
 */
static int ops_check(u32 drained, u64 before)
{
	const struct bench_ops *ops = &bench_ops;
	struct twheel_purgatory_stats stats;
	u64 ended;

	twheel_purgatory_get_stats(ops->purgatory, &stats);
	ended = stats.ended[TWHEEL_REASON_COMPLETED] + stats.ended[TWHEEL_REASON_EXPIRED] +
		stats.ended[TWHEEL_REASON_CANCELLED];
	if (!ops->wrong && ops->added == ops->ended &&
	    ops->added + ops->added_custom == stats.added &&
	    ended == stats.added && ops->ended - before == drained &&
	    !stats.pending && !stats.keys && !stats.watches)
		return 0;
	bench_failure("%llu added, %llu ended, %llu twice, early, or with another reason",
		      ops->added, ops->ended, ops->wrong);
	return bench_failure("purgatory: %llu added, %llu ended, %llu pending, %llu keys",
			     stats.added, ended, stats.pending, stats.keys);
}

/* Return: @err, or else -EIO if an operation was lost, early, or ended twice. */
int ops_stop(int err)
{
	struct bench_ops *ops = &bench_ops;
	u64 before = ops->ended;
	u32 drained;
	int wrong;

	ops->expected = TWHEEL_REASON_CANCELLED;
	drained = twheel_purgatory_drain(ops->purgatory);
	wrong = ops_check(drained, before);
	twheel_purgatory_destroy(ops->purgatory);
	ops_trim();
	kmem_cache_destroy(ops->cache);
	return err ?: wrong;
}
