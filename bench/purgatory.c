// SPDX-License-Identifier: GPL-2.0
/*
 * Suite purgatory: what it takes to watch keys, and to end an operation in each way.
 *
 *	keys1 keys3 keys16	each operation has so many keys, and no other has them
 *	few_keys many_keys	see purgatory_shared.c
 *
 * As many operations as asked for wait all the time.  A sample goes round in blocks:
 * some of those that wait are ended in random order, which is timed, and then as
 * many are added for them, which is timed too. So each of them lies where an older
 * one was freed, as in a purgatory that has been in use for long.
 *
 *	watch		allocate an operation, read the clock, add it with its keys
 *	complete	twheel_op_complete(), and free it
 *	signal		twheel_signal() of one of its keys, which completes it
 *	cancel		twheel_op_cancel()
 *	watch_complete	signal one, and then watch one, in turns
 *	signal_nobody	twheel_signal() of a key that nothing watches
 *	expire		from the first callback of those due at one tick to the last
 *
 * Freeing keys takes RCU some time; what is done about that in the background is in
 * the figures, should there be one CPU. The wake-up of the reaper is not in
 * expire, only what comes with each operation.
 */
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/sched.h>
#include <linux/timekeeping.h>
#include <linux/vmalloc.h>

#include "bench.h"
#include "ops.h"
#include "purgatory.h"

#define SUITE		"purgatory"

/* How many are ended before as many are added, and this part of all at most. */
#define BLOCK_MAX	8192
#define BLOCK_PART	8

/* How many make a sample. */
#define SAMPLE		65536
#define SAMPLE_QUICK	4096

/* How far ahead deadlines are that are waited for, per operation, unless that is too short. */
#define AHEAD_NS	(5 * NSEC_PER_USEC)
#define AHEAD_MAX_NS	(60 * (u64)NSEC_PER_SEC)

/* How many are due at one tick at least. */
#define DUE_MIN		256U

/* When so many seconds have passed, none will expire any more. */
#define STUCK_SECONDS	60

/*
 * @op is indexed by what tells their keys; @order goes through it at random, and
 * @at is how far it has come.
 */
static struct purgatory_run {
	const struct bench_config *config;
	const char	*variant;
	struct bench_op	**op;
	u32		*order;
	u32		at;
	u32		block;
	u64		watched;
	u64		watch_ns;
	u64		ahead_ns;
} run;

/* A way to end the operations of a block. */
struct way {
	const char		*what;
	enum twheel_reason	reason;
	int			(*end)(const u32 *ids, u32 nr);
};

u32 purgatory_block(const struct bench_config *config)
{
	return clamp_t(u32, config->nr / BLOCK_PART, 1, BLOCK_MAX);
}

u32 purgatory_sample(const struct bench_config *config)
{
	return config->quick ? SAMPLE_QUICK : SAMPLE;
}

void purgatory_report(const char *variant, const char *what, u64 ns, u64 nr)
{
	bench_sample_ns(SUITE, variant, "twheel", what, run.config->nr, ns, nr);
}

static const u32 *next_block(void)
{
	const u32 *ids;

	if (run.at + run.block > run.config->nr)
		run.at = 0;
	ids = run.order + run.at;
	run.at += run.block;
	return ids;
}

static int watch_one(u32 id)
{
	struct twheel_watch_spec specs[OPS_KEYS_MAX];

	ops_own_keys(specs, bench_ops.nr_keys, id);
	return ops_add(&run.op[id], specs, ops_far());
}

static int watch_block(const u32 *ids, u32 nr)
{
	int err = 0;
	u32 i;

	for (i = 0; i < nr && !err; i++)
		err = watch_one(ids[i]);
	return err;
}

/* By any of its keys, though it could be by each of them. */
static int signal_one(u32 id)
{
	const struct twheel_key key = { .v = { id, id % bench_ops.nr_keys } };

	return twheel_signal(bench_ops.purgatory, &key, 1, 0) == 1 ? 0 : -EIO;
}

static int signal_block(const u32 *ids, u32 nr)
{
	int err = 0;
	u32 i;

	for (i = 0; i < nr && !err; i++)
		err = signal_one(ids[i]);
	return err;
}

static int complete_block(const u32 *ids, u32 nr)
{
	int err = 0;
	u32 i;

	for (i = 0; i < nr && !err; i++)
		err = twheel_op_complete(&run.op[ids[i]]->op, 0);
	return err;
}

static int cancel_block(const u32 *ids, u32 nr)
{
	int err = 0;
	u32 i;

	for (i = 0; i < nr && !err; i++)
		err = twheel_op_cancel(&run.op[ids[i]]->op);
	return err;
}

static int watch_complete_block(const u32 *ids, u32 nr)
{
	int err = 0;
	u32 i;

	for (i = 0; i < nr && !err; i++)
		err = signal_one(ids[i]) ?: watch_one(ids[i]);
	return err;
}

static int signal_nobody_block(const u32 *ids, u32 nr)
{
	int err = 0;
	u32 i;

	for (i = 0; i < nr && !err; i++) {
		const struct twheel_key key = { .v = { ids[i], OPS_KEYS_MAX } };

		err = twheel_signal(bench_ops.purgatory, &key, 1, 0);
	}
	return err;
}

static const struct way ways[] = {
	{ "complete",	TWHEEL_COMPLETED,	complete_block },
	{ "signal",	TWHEEL_COMPLETED,	signal_block },
	{ "cancel",	TWHEEL_CANCELLED,	cancel_block },
};

/* What leaves as many pending as there were. */
static const struct way pairs[] = {
	{ "watch_complete",	TWHEEL_COMPLETED,	watch_complete_block },
	{ "signal_nobody",	TWHEEL_COMPLETED,	signal_nobody_block },
};

static int timed(int (*block)(const u32 *ids, u32 nr), const u32 *ids, u64 *ns)
{
	u64 begin = ktime_get_ns();
	int err = block(ids, run.block);

	*ns += ktime_get_ns() - begin;
	return err;
}

/* A sample of one way; what is added to make up for it counts for all ways together. */
static int measure_way(const struct way *way, bool again)
{
	u64 ns = 0, nr = 0;
	const u32 *ids;
	int err = 0;

	bench_ops.expected = way->reason;
	while (!err && nr < purgatory_sample(run.config)) {
		ids = next_block();
		err = timed(way->end, ids, &ns);
		nr += run.block;
		if (!err && again) {
			err = timed(watch_block, ids, &run.watch_ns);
			run.watched += run.block;
		}
		cond_resched();
	}
	if (err)
		return bench_failure("%s: %d", way->what, err);
	purgatory_report(run.variant, way->what, ns, nr);
	return 0;
}

static u32 due_at_once(void)
{
	return max(run.block, DUE_MIN);
}

/* Add operations which are due at one tick; whether that was done before it came. */
static int add_due(u32 nr, bool *in_time)
{
	struct twheel_watch_spec specs[OPS_KEYS_MAX];
	u64 deadline = twheel_deadline(run.ahead_ns);
	int err = 0;
	u32 i;

	for (i = 0; i < nr && !err; i++) {
		ops_own_keys(specs, bench_ops.nr_keys, run.config->nr + i);
		err = ops_add(NULL, specs, deadline);
	}
	*in_time = ktime_get_ns() < deadline;
	return err;
}

/* Let a block of further operations expire; it counts if all had been added by then. */
static int expire_block(u32 nr, u64 *ns, u64 *intervals)
{
	struct bench_ops *ops = &bench_ops;
	bool in_time;
	int err;

	ops->expected = TWHEEL_EXPIRED;
	ops->expiring = nr;
	ops->first = 0;
	reinit_completion(&ops->expired);
	err = add_due(nr, &in_time);
	if (err)
		return err;
	if (!wait_for_completion_timeout(&ops->expired, STUCK_SECONDS * HZ))
		return -ETIMEDOUT;
	if (!in_time) {
		run.ahead_ns *= 2;
		return run.ahead_ns < AHEAD_MAX_NS ? 0 : -ETIMEDOUT;
	}
	*ns += ops->clock - ops->first;
	*intervals += nr - 1;
	return 0;
}

static int measure_expire(void)
{
	u32 nr = due_at_once();
	u64 ns = 0, intervals = 0;
	int err = 0;

	while (!err && intervals < purgatory_sample(run.config) / 4)
		err = expire_block(nr, &ns, &intervals);
	if (err)
		return bench_failure("expire: %d, %u not yet", err, bench_ops.expiring);
	purgatory_report(run.variant, "expire", ns, intervals);
	return 0;
}

/* Each way comes first as often as the others. */
static int measure_once(unsigned int rep)
{
	unsigned int i;
	int err = 0;

	run.watched = 0;
	run.watch_ns = 0;
	for (i = 0; i < ARRAY_SIZE(ways) && !err; i++)
		err = measure_way(&ways[bench_turn(rep, i, ARRAY_SIZE(ways))], true);
	if (err)
		return err;
	purgatory_report(run.variant, "watch", run.watch_ns, run.watched);
	for (i = 0; i < ARRAY_SIZE(pairs) && !err; i++)
		err = measure_way(&pairs[bench_turn(rep, i, ARRAY_SIZE(pairs))], false);
	return err ?: measure_expire();
}

static int fill(void)
{
	int err = 0;
	u32 id;

	for (id = 0; id < run.config->nr && !err; id++) {
		err = watch_one(id);
		if (id % 1024 == 0)
			cond_resched();
	}
	return err;
}

static int measure_all(void)
{
	unsigned int rep;
	int err;

	err = fill();
	for (rep = 0; rep < run.config->reps && !err; rep++)
		err = measure_once(rep);
	return err;
}

static int own_keys(const char *variant, unsigned int nr_keys)
{
	const struct bench_config *config = run.config;
	struct rnd_state random;
	int err;

	if (!ops_fit(config->nr + config->nr / BLOCK_PART, nr_keys)) {
		bench_skip(SUITE, variant, "twheel", "all", config->nr, "no-memory");
		return 0;
	}
	run.variant = variant;
	run.ahead_ns = due_at_once() * AHEAD_NS;
	run.at = 0;
	prandom_seed_state(&random, config->seed);
	run.op = vcalloc(config->nr, sizeof(*run.op));
	run.order = bench_order(config->nr, &random);
	err = run.op && run.order ? ops_start(nr_keys, config->seed) : -ENOMEM;
	if (!err)
		err = ops_stop(measure_all());
	vfree(run.order);
	vfree(run.op);
	return err;
}

static int purgatory_run(const struct bench_config *config)
{
	run.config = config;
	run.block = purgatory_block(config);
	return own_keys("keys1", 1) ?: own_keys("keys3", 3) ?: own_keys("keys16", 16) ?:
	       purgatory_shared(config, "few_keys", FEW_KEYS) ?:
	       purgatory_shared(config, "many_keys", config->nr);
}

/**
 * purgatory_suite - watch, complete, signal, cancel, expire
 * @config: how many, and how often
 */
int purgatory_suite(const struct bench_config *config)
{
	return ops_stay(purgatory_run, config);
}
