// SPDX-License-Identifier: GPL-2.0
/*
 * Suite scale, operations: each thread adds an operation with 3 keys, completes its
 * oldest one by a signal, and repeats this. All threads use one purgatory.
 *
 * By default, no other operation watches these keys. With shared_keys, this is only true
 * for the key that completes the operation; the other keys are among 16 that all threads
 * watch.
 */
#include <linux/bits.h>
#include <linux/err.h>
#include <linux/kernel.h>
#include <linux/slab.h>
#include <linux/twheel.h>

#include "bench.h"
#include "ops.h"
#include "scale.h"

#define KEYS		3
#define SHARED_KEYS	16

/* First word of shared keys. */
#define SHARED		BIT_ULL(63)

/*
 * Numbers of the operations of a thread: @oldest is the oldest pending one, @next the
 * next one to add.
 */
struct thread_ops {
	u64	oldest;
	u64	next;
	u64	wrong;
};

struct scale_op {
	struct twheel_op	op;
	struct thread_ops	*owner;
	bool			ended;
	struct twheel_watch	watch[KEYS];
};

static struct kmem_cache *cache;
static struct twheel_purgatory *purgatory;
static bool shared;

/* Runs on the owning thread, which is the only one to signal the first key. */
static void op_ended(struct twheel_op *op)
{
	struct scale_op *o = container_of(op, struct scale_op, op);
	struct twheel_op_result result;

	twheel_op_get_result(op, &result);
	if (o->ended || result.reason != TWHEEL_COMPLETED)
		o->owner->wrong++;
	o->ended = true;
	twheel_op_put(op);
}

static void op_release(struct twheel_op *op)
{
	kmem_cache_free(cache, container_of(op, struct scale_op, op));
}

static const struct twheel_op_ops op_ops = {
	.ended		= op_ended,
	.release	= op_release,
};

static int start(const struct bench_config *config, bool with_shared_keys)
{
	static const struct twheel_purgatory_config purgatory_config = {
		.name		= "bench",
		.max_pending	= 1U << 30,
	};

	shared = with_shared_keys;
	cache = kmem_cache_create("twheel_bench_op", sizeof(struct scale_op), 0, 0, NULL);
	if (!cache)
		return -ENOMEM;
	purgatory = twheel_purgatory_create(&purgatory_config);
	if (IS_ERR(purgatory)) {
		kmem_cache_destroy(cache);
		return PTR_ERR(purgatory);
	}
	return 0;
}

static int start_unique(const struct bench_config *config)
{
	return start(config, false);
}

static int start_shared(const struct bench_config *config)
{
	return start(config, true);
}

/* The threads have completed all of their operations. */
static int stop(int err)
{
	struct twheel_purgatory_stats stats;

	twheel_purgatory_get_stats(purgatory, &stats);
	if (!err && (stats.pending || stats.watches || stats.keys ||
		     stats.added != stats.ended[TWHEEL_COMPLETED]))
		err = -EIO;
	twheel_purgatory_destroy(purgatory);
	kmem_cache_destroy(cache);
	return err;
}

static struct twheel_key unique_key(const struct scale_thread *thread, u64 number, unsigned int i)
{
	return (struct twheel_key){ .v = { number * KEYS + i, thread->index } };
}

static void specs_of(struct scale_thread *thread, u64 number, struct twheel_watch_spec *specs)
{
	u32 random = prandom_u32_state(&thread->random);
	unsigned int i;

	for (i = 0; i < KEYS; i++)
		specs[i] = (struct twheel_watch_spec){ .key = unique_key(thread, number, i) };
	if (!shared)
		return;
	for (i = 1; i < KEYS; i++)
		specs[i].key = (struct twheel_key){ .v = { (random + i) % SHARED_KEYS, SHARED } };
}

static int watch_next(struct scale_thread *thread)
{
	struct thread_ops *ops = thread->private;
	struct scale_op *o = kmem_cache_alloc(cache, GFP_KERNEL);
	struct twheel_watch_spec specs[KEYS];
	struct twheel_op_args args = {
		.condition	= TWHEEL_COND_ANY,
		.nr_keys	= KEYS,
		.specs		= specs,
	};
	int err;

	if (!o)
		return -ENOMEM;
	o->owner = ops;
	o->ended = false;
	args.watches = o->watch;
	args.deadline = twheel_deadline(bench_between(&thread->random, OPS_FAR_MIN_NS,
						      OPS_FAR_MAX_NS));
	specs_of(thread, ops->next++, specs);
	twheel_op_init(&o->op, &op_ops);
	err = twheel_op_add(purgatory, &o->op, &args);
	if (err)
		kmem_cache_free(cache, o);
	return err;
}

static bool signal_oldest(struct scale_thread *thread)
{
	struct thread_ops *ops = thread->private;
	const struct twheel_key key = unique_key(thread, ops->oldest++, 0);

	return twheel_signal(purgatory, &key, 1, 0) == 1;
}

static int prepare(struct scale_thread *thread)
{
	struct thread_ops *ops = kzalloc(sizeof(*ops), GFP_KERNEL);
	int err = 0;
	u32 i;

	if (!ops)
		return -ENOMEM;
	thread->private = ops;
	for (i = 0; i < thread->nr && !err; i++)
		err = watch_next(thread);
	return err;
}

static unsigned int turn(struct scale_thread *thread)
{
	const struct thread_ops *ops = thread->private;
	unsigned int i, done = 0;

	for (i = 0; i < SCALE_BATCH; i++)
		done += watch_next(thread) == 0 && signal_oldest(thread);
	return ops->wrong ? 0 : done;
}

/* stop() detects errors by the counters of the purgatory. */
static void clear(struct scale_thread *thread)
{
	struct thread_ops *ops = thread->private;

	while (ops && ops->oldest < ops->next)
		signal_oldest(thread);
	kfree(ops);
}

#define OPS(_suffix, _start) {			\
	.of		= "twheel",		\
	.figure		= "watch_signal",	\
	.suffix		= _suffix,		\
	.start		= _start,		\
	.stop		= stop,			\
	.prepare	= prepare,		\
	.turn		= turn,			\
	.clear		= clear,		\
}

const struct scale_contender scale_ops[SCALE_OPS] = {
	OPS("", start_unique), OPS("-shared_keys", start_shared),
};
