// SPDX-License-Identifier: GPL-2.0
/*
 * Suite purgatory: cost of watching keys, and of each way to end an operation.
 *
 *	keys0 keys1 keys3
 *				operations with that number of keys, which no other
 *				operation watches
 *
 *	cells			see cells.c
 *
 * The given number of operations is pending during the whole run. A sample consists of
 * several blocks. In each block, a number of operations is ended in random order, and the
 * same number is added again; both parts are timed. So the memory of a new operation is
 * that of an older one, as in a purgatory that has been in use for a long time.
 *
 *	watch		allocate an operation, read the clock, add it with its keys
 *	complete	twheel_op_complete(), and free the operation
 *	signal		twheel_signal() of one of its keys, which completes it
 *	cancel		twheel_op_cancel()
 *	signal_nobody	twheel_signal() of a key without watchers
 *	expire		from the first to the last ended() callback of operations that
 *			are due at the same tick
 *
 * RCU frees objects in the background; on a single CPU, this is included in the figures.
 * The figure expire does not include the wake-up of the reaper, only the cost per
 * operation.
 */
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/sched.h>
#include <linux/timekeeping.h>
#include <linux/vmalloc.h>

#include "bench.h"
#include "ops.h"

/* Block size: at most BLOCK_MAX, and at most this fraction of all operations. */
#define BLOCK_MAX	8192
#define BLOCK_PART	8

/* Operations per sample. */
#define SAMPLE		65536
#define SAMPLE_QUICK	4096

/* Time to the deadline for expire, per operation. Doubled if adding takes longer. */
#define AHEAD_NS	(5 * NSEC_PER_USEC)
#define AHEAD_MAX_NS	(60 * (u64)NSEC_PER_SEC)

/* Minimum number of operations due at one tick. */
#define DUE_MIN		256U

/* Operations that have not expired after this time never will. */
#define STUCK_SECONDS	60

/*
 * @op is indexed by the number that determines the keys. @order is a random permutation
 * of its indices, and @at the current position in it.
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
	const char		*figure;
	enum twheel_reason	reason;
	int			(*end)(const u32 *ids, u32 nr);
};

static u32 sample_of(const struct bench_config *config)
{
	return config->quick ? SAMPLE_QUICK : SAMPLE;
}

static void report(const char *variant, const char *figure, u64 ns, u64 nr)
{
	bench_sample_ns(variant, "twheel", figure, run.config->nr, ns, nr);
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

	ops_unique_keys(specs, bench_ops.nr_keys, id);
	return ops_add(&run.op[id], specs, ops_far_deadline());
}

static int watch_block(const u32 *ids, u32 nr)
{
	int err = 0;
	u32 i;

	for (i = 0; i < nr && !err; i++)
		err = watch_one(ids[i]);
	return err;
}

/* Signal one of the keys of each operation; any of them completes it. */
static int signal_block(const u32 *ids, u32 nr)
{
	int err = 0;
	u32 i;

	for (i = 0; i < nr && !err; i++) {
		const struct twheel_key key = { .v = { ids[i], ids[i] % bench_ops.nr_keys } };

		err = twheel_signal(bench_ops.purgatory, &key, 1, 0) == 1 ? 0 : -EIO;
	}
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

static int signal_unwatched_block(const u32 *ids, u32 nr)
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
	{ "complete",	TWHEEL_REASON_COMPLETED,	complete_block },
	{ "signal",	TWHEEL_REASON_COMPLETED,	signal_block },
	{ "cancel",	TWHEEL_REASON_CANCELLED,	cancel_block },
};

/* This leaves the number of pending operations unchanged. */
static const struct way signal_nobody = {
	"signal_nobody", TWHEEL_REASON_COMPLETED, signal_unwatched_block,
};

static int timed(int (*block)(const u32 *ids, u32 nr), const u32 *ids, u64 *ns)
{
	u64 begin = ktime_get_ns();
	int err = block(ids, run.block);

	*ns += ktime_get_ns() - begin;
	return err;
}

/* Take a sample of one way. The time to add new operations is summed over all ways. */
static int measure_way(const struct way *way, bool again)
{
	u64 ns = 0, nr = 0;
	const u32 *ids;
	int err = 0;

	bench_ops.expected = way->reason;
	while (!err && nr < sample_of(run.config)) {
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
		return bench_failure("%s: error %d", way->figure, err);
	report(run.variant, way->figure, ns, nr);
	return 0;
}

static u32 due_at_once(void)
{
	return max(run.block, DUE_MIN);
}

/* Let additional operations expire at one tick. Skip the result if the adds took too long. */
static int expire_block(u32 nr, u64 *ns, u64 *intervals)
{
	u64 deadline = twheel_deadline(run.ahead_ns);
	struct twheel_watch_spec specs[OPS_KEYS_MAX];
	struct bench_ops *ops = &bench_ops;
	bool in_time;
	int err = 0;
	u32 i;

	ops->expected = TWHEEL_REASON_EXPIRED;
	ops->expiring = nr;
	ops->first = 0;
	reinit_completion(&ops->expired);
	for (i = 0; i < nr && !err; i++) {
		ops_unique_keys(specs, ops->nr_keys, run.config->nr + i);
		err = ops_add(NULL, specs, deadline);
	}
	in_time = ktime_get_ns() < deadline;
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

	while (!err && intervals < sample_of(run.config) / 4)
		err = expire_block(nr, &ns, &intervals);
	if (err)
		return bench_failure("expire: error %d, %u still pending", err, bench_ops.expiring);
	report(run.variant, "expire", ns, intervals);
	return 0;
}

/* The order of the ways is rotated. Without keys there is nothing to signal. */
static int measure_once(unsigned int rep)
{
	unsigned int i;
	int err = 0;

	run.watched = 0;
	run.watch_ns = 0;
	for (i = 0; i < ARRAY_SIZE(ways) && !err; i++) {
		const struct way *way = &ways[bench_turn(rep, i, ARRAY_SIZE(ways))];

		if (bench_ops.nr_keys || way->end != signal_block)
			err = measure_way(way, true);
	}
	if (err)
		return err;
	report(run.variant, "watch", run.watch_ns, run.watched);
	if (bench_ops.nr_keys)
		err = measure_way(&signal_nobody, false);
	return err ?: measure_expire();
}

/* Operations while the purgatory is filled, see fill() */
static u32 nr_filled(void)
{
	return run.config->nr + run.config->nr / 4;
}

/*
 * End the last quarter again. At 10,000 operations with three keys the table of keys is about to
 * grow, and chance, its secret, would decide between two sizes. It grows with more of them, and
 * does not shrink with fewer.
 */
static int fill(void)
{
	int err = 0;
	u32 id;

	for (id = 0; id < nr_filled() && !err; id++) {
		err = watch_one(id);
		if (id % 1024 == 0)
			cond_resched();
	}
	bench_ops.expected = TWHEEL_REASON_COMPLETED;
	while (!err && id-- > run.config->nr)
		err = twheel_op_complete(&run.op[id]->op, 0);
	ops_trim();
	return err;
}

static int measure_all(void)
{
	unsigned int rep;
	int err;

	err = fill();
	for (rep = 0; rep < run.config->reps && !err; rep++) {
		bench_repetition(rep);
		err = measure_once(rep);
	}
	return err;
}

static int unique_keys(const char *variant, unsigned int nr_keys)
{
	const struct bench_config *config = run.config;
	struct rnd_state random;
	int err;

	if (!bench_wanted("twheel", variant))
		return 0;
	run.variant = variant;
	run.ahead_ns = due_at_once() * AHEAD_NS;
	run.at = 0;
	prandom_seed_state(&random, config->seed);
	run.op = vcalloc(nr_filled(), sizeof(*run.op));
	run.order = bench_order(config->nr, &random);
	err = run.op && run.order ? ops_start(nr_keys, config->seed) : -ENOMEM;
	if (!err)
		err = ops_stop(measure_all());
	vfree(run.order);
	vfree(run.op);
	return err;
}

int purgatory_suite(const struct bench_config *config)
{
	run.config = config;
	run.block = clamp_t(u32, config->nr / BLOCK_PART, 1, BLOCK_MAX);
	return unique_keys("keys0", 0) ?: unique_keys("keys1", 1) ?: unique_keys("keys3", 3) ?:
	       cells_case(config);
}
