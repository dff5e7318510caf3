// SPDX-License-Identifier: GPL-2.0
/*
 * Property test for timers: shortens a failing sequence. See model.h.
 *
 * This removes parts of the sequence, from halves down to single steps, and then
 * simplifies the remaining steps, as long as the sequence fails in any way. Each attempt
 * is a run on a new wheel. Therefore the number of attempts is bounded, and so is the
 * time: KUnit limits a test case to 300 seconds.
 */
#include <linux/math64.h>
#include <linux/minmax.h>
#include <linux/string.h>

#include "model.h"

#define RUNS	400

/**
 * struct shrinker - state of shrinking a sequence
 * @run: for running sequences
 * @best: the shortest failing sequence so far
 * @candidate: the sequence to try next
 * @bug: deliberate bug of the model
 * @left: remaining attempts
 * @until: time limit, by CLOCK_MONOTONIC
 */
struct shrinker {
	struct model_run	*run;
	struct model_sequence	*best;
	struct model_sequence	candidate;
	enum model_bug		bug;
	unsigned int		left;
	u64			until;
};

/* Run the candidate. If it fails, truncate it after the failing step and make it the best. */
static bool attempt(struct shrinker *shrinker)
{
	struct model_sequence *candidate = &shrinker->candidate;
	int at;

	if (!shrinker->left || ktime_get_ns() > shrinker->until)
		return false;
	shrinker->left--;
	at = model_run(shrinker->run, candidate, shrinker->bug);
	if (at < 0)
		return false;
	candidate->nr = min_t(unsigned int, candidate->nr, at + 1);
	*shrinker->best = *candidate;
	return true;
}

/* Try to remove some steps. */
static bool try_without(struct shrinker *shrinker, unsigned int from, unsigned int nr)
{
	struct model_sequence *candidate = &shrinker->candidate;

	*candidate = *shrinker->best;
	nr = min(nr, candidate->nr - from);
	memmove(candidate->op + from, candidate->op + from + nr,
		(candidate->nr - from - nr) * sizeof(*candidate->op));
	candidate->nr -= nr;
	return attempt(shrinker);
}

static bool drop_chunks(struct shrinker *shrinker, unsigned int size)
{
	bool dropped = false;
	unsigned int from = 0;

	while (from < shrinker->best->nr) {
		if (try_without(shrinker, from, size))
			dropped = true;
		else
			from += size;
	}
	return dropped;
}

static void drop(struct shrinker *shrinker)
{
	unsigned int size = shrinker->best->nr / 2;

	while (size) {
		if (size > 1 || !drop_chunks(shrinker, size))
			size /= 2;
	}
}

/* For example, 12345 becomes 10000. */
static u64 round_off(u64 number)
{
	u64 unit = 1;

	while (div64_u64(number, unit) >= 10)
		unit *= 10;
	return div64_u64(number, unit) * unit;
}

static bool try_config(struct shrinker *shrinker, const struct twheel_config *config)
{
	shrinker->candidate = *shrinker->best;
	shrinker->candidate.config = *config;
	return attempt(shrinker);
}

/* Defaults are easier to debug. */
static void simplify_config(struct shrinker *shrinker)
{
	struct twheel_config config = shrinker->best->config;

	if (shrinker->best->system)
		return;
	config.shards = 0;
	try_config(shrinker, &config);
	config = shrinker->best->config;
	config.slots = 0;
	try_config(shrinker, &config);
	config = shrinker->best->config;
	config.max_pending = 0;
	try_config(shrinker, &config);
	config = shrinker->best->config;
	config.tick_ns = 0;
	if (!try_config(shrinker, &config)) {
		config.tick_ns = max_t(u64, 1000, round_off(config.tick_ns));
		try_config(shrinker, &config);
	}
}

static bool try_op(struct shrinker *shrinker, unsigned int i, const struct model_op *op)
{
	if (!memcmp(op, &shrinker->best->op[i], sizeof(*op)))
		return false;
	shrinker->candidate = *shrinker->best;
	shrinker->candidate.op[i] = *op;
	return attempt(shrinker);
}

static void simplify_choice(struct shrinker *shrinker, unsigned int i)
{
	struct model_op op = shrinker->best->op[i];

	op.choice = 0;
	try_op(shrinker, i, &op);
	if (op.type != MODEL_INIT)
		return;
	op = shrinker->best->op[i];
	op.flags = 0;
	try_op(shrinker, i, &op);
	op = shrinker->best->op[i];
	op.count = 1;
	try_op(shrinker, i, &op);
}

static void simplify_when(struct shrinker *shrinker, unsigned int i)
{
	struct model_op op = shrinker->best->op[i];

	op.when = 0;
	if (try_op(shrinker, i, &op) || shrinker->best->op[i].flags & MODEL_ABSOLUTE)
		return;
	op.when = NSEC_PER_MSEC;
	if (try_op(shrinker, i, &op) || (s64)shrinker->best->op[i].when < 0)
		return;
	op.when = round_off(shrinker->best->op[i].when);
	try_op(shrinker, i, &op);
}

static void simplify_more(struct shrinker *shrinker, unsigned int i)
{
	struct model_op op = shrinker->best->op[i];

	op.more = 0;
	if (try_op(shrinker, i, &op))
		return;
	op.more = round_off(shrinker->best->op[i].more);
	try_op(shrinker, i, &op);
}

void model_shrink(struct model_run *run, struct model_sequence *sequence, enum model_bug bug,
		  u64 until)
{
	struct shrinker *shrinker = kzalloc(sizeof(*shrinker), GFP_KERNEL);
	unsigned int i;

	if (!shrinker)
		return;
	shrinker->run = run;
	shrinker->best = sequence;
	shrinker->bug = bug;
	shrinker->left = RUNS;
	shrinker->until = until;
	shrinker->candidate = *sequence;
	attempt(shrinker);
	/* Done first, since long ticks take much time. */
	simplify_config(shrinker);
	drop(shrinker);
	for (i = 0; i < sequence->nr; i++) {
		simplify_choice(shrinker, i);
		simplify_when(shrinker, i);
		simplify_more(shrinker, i);
	}
	drop(shrinker);
	kfree(shrinker);
}
