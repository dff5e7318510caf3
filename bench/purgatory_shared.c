// SPDX-License-Identifier: GPL-2.0
/*
 * Suite purgatory, shared keys.
 *
 *	few_keys	each operation watches 3 of 16 keys. Each key has many watchers,
 *			and a signal completes all of them
 *	many_keys	there are as many keys as operations, and each operation watches
 *			3 random keys. A key has few watchers or none
 *
 *	signal		time per completed operation
 *	watch		time per operation, as in purgatory.c
 *
 * A sample signals keys until a block of operations has completed, adds the same number
 * of operations, and repeats this.
 */
#include <linux/bits.h>
#include <linux/errno.h>
#include <linux/hash.h>
#include <linux/sched.h>
#include <linux/timekeeping.h>

#include "bench.h"
#include "ops.h"
#include "purgatory.h"

#define SUITE	"purgatory"
#define KEYS	3

/* Distance between the keys of an operation in the case few_keys, so that they differ. */
#define STEP	5

/* The same for many keys. */
#define STRIDE	7919

/* Added to the input of the hash, for a different random order of the signals. */
#define SIGNALS	BIT_ULL(40)

static struct shared_run {
	const struct bench_config *config;
	u32	nr_keys;
	u32	next_id;
	u32	next_key;
	u64	watched;
	u64	watch_ns;
	u64	completed;
	u64	signal_ns;
} run;

static u32 few_key(u32 id, unsigned int i)
{
	return (hash_32(id, 4) + i * STEP) % FEW_KEYS;
}

static u32 many_key(u64 random)
{
	return (u64)hash_64(random, 32) * run.nr_keys >> 32;
}

static int watch_next(void)
{
	struct twheel_watch_spec specs[KEYS];
	u32 id = run.next_id++;
	unsigned int i;
	u32 key;

	for (i = 0; i < KEYS; i++) {
		key = run.nr_keys == FEW_KEYS ? few_key(id, i) :
						(many_key(id) + i * STRIDE) % run.nr_keys;
		specs[i] = (struct twheel_watch_spec){ .key.v = { key } };
	}
	return ops_add(NULL, specs, ops_far_deadline());
}

static u32 signal_next(void)
{
	u32 nr = run.next_key++;
	struct twheel_key key = {};

	key.v[0] = run.nr_keys == FEW_KEYS ? nr % FEW_KEYS : many_key(SIGNALS + nr);
	return twheel_signal_some(bench_ops.purgatory, &key, 1, 0, 0, TWHEEL_MAY_SLEEP);
}

/* Complete at least a block of operations. Returns the number of completed ones. */
static u32 signal_some(void)
{
	u32 block = purgatory_block(run.config), nr = 0;
	u64 begin = ktime_get_ns();

	while (nr < block)
		nr += signal_next();
	run.signal_ns += ktime_get_ns() - begin;
	run.completed += nr;
	return nr;
}

static int watch_some(u32 nr)
{
	u64 begin = ktime_get_ns();
	int err = 0;
	u32 i;

	for (i = 0; i < nr && !err; i++)
		err = watch_next();
	run.watch_ns += ktime_get_ns() - begin;
	run.watched += nr;
	return err;
}

static int measure_once(const char *variant)
{
	int err = 0;

	run.watched = 0;
	run.watch_ns = 0;
	run.completed = 0;
	run.signal_ns = 0;
	while (!err && run.completed < purgatory_sample(run.config)) {
		err = watch_some(signal_some());
		cond_resched();
	}
	if (err)
		return bench_failure("%s: error %d", variant, err);
	purgatory_report(variant, "signal", run.signal_ns, run.completed);
	purgatory_report(variant, "watch", run.watch_ns, run.watched);
	return 0;
}

static int measure_all(const char *variant)
{
	unsigned int rep;
	int err = 0;
	u32 i;

	for (i = 0; i < run.config->nr && !err; i++) {
		err = watch_next();
		if (i % 1024 == 0)
			cond_resched();
	}
	bench_ops.expected = TWHEEL_REASON_COMPLETED;
	for (rep = 0; rep < run.config->reps && !err; rep++) {
		bench_repetition(rep);
		err = measure_once(variant);
	}
	return err;
}

/**
 * purgatory_shared - measure operations with shared keys
 * @config: configuration
 * @variant: name of the case
 * @nr_keys: total number of keys; %FEW_KEYS selects the case few_keys
 *
 * Return: 0 or a negative error number.
 */
int purgatory_shared(const struct bench_config *config, const char *variant, u32 nr_keys)
{
	int err;

	if (!bench_wanted("twheel", variant))
		return 0;
	if (!ops_fit(config->nr, KEYS)) {
		bench_skip(SUITE, variant, "twheel", "all", config->nr, "no-memory");
		return 0;
	}
	run = (struct shared_run){ .config = config, .nr_keys = nr_keys };
	err = ops_start(KEYS, config->seed);
	return err ?: ops_stop(measure_all(variant));
}
