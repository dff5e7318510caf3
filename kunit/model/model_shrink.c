// SPDX-License-Identifier: GPL-2.0
/*
 * The property test of layer 4: makes a sequence that fails as short as it can.
 * See model.h.
 *
 * It leaves out chunks of the sequence, by halves down to single steps, and
 * then makes what is left simpler, as long as it still fails; in whatever way it
 * does. Each attempt is a run on a fresh wheel, so that their number is bounded, and
 * the time: KUnit gives a case 300 seconds.
 */
#include <linux/math64.h>
#include <linux/minmax.h>
#include <linux/string.h>

#include "model.h"

#define RUNS	400

/**
 * struct shrinker - what is being shrunk
 * @run: where to run it
 * @best: the shortest sequence so far that fails
 * @candidate: one that may
 * @lie: of the model
 * @left: how many more attempts there may be
 * @until: when to give up, by CLOCK_MONOTONIC
 */
struct shrinker {
	struct model_run	*run;
	struct model_sequence	*best;
	struct model_sequence	candidate;
	enum model_lie		lie;
	unsigned int		left;
	u64			until;
};

/* Whether the candidate fails too; it is the best then, without what it didn't come to. */
static bool attempt(struct shrinker *shrinker)
{
	struct model_sequence *candidate = &shrinker->candidate;
	int at;

	if (!shrinker->left || ktime_get_ns() > shrinker->until)
		return false;
	shrinker->left--;
	at = model_run(shrinker->run, candidate, shrinker->lie);
	if (at < 0)
		return false;
	candidate->nr = min_t(unsigned int, candidate->nr, at + 1);
	*shrinker->best = *candidate;
	return true;
}

/* Leave out some steps. */
static bool without(struct shrinker *shrinker, unsigned int from, unsigned int nr)
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
		if (without(shrinker, from, size))
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

/* 12345 becomes 10000. */
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

/* An ordinary wheel is easier to think about. */
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

static void simplify_which(struct shrinker *shrinker, unsigned int i)
{
	struct model_op op = shrinker->best->op[i];

	op.choice = 0;
	try_op(shrinker, i, &op);
	if (op.what != MODEL_INIT && op.what != MODEL_START)
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

	/* A short period that goes on for ever would be too much for the log. */
	if (op.what == MODEL_START && !op.count)
		return;
	op.more = 0;
	if (try_op(shrinker, i, &op))
		return;
	op.more = round_off(shrinker->best->op[i].more);
	try_op(shrinker, i, &op);
}

void model_shrink(struct model_run *run, struct model_sequence *sequence, enum model_lie lie,
		  u64 until)
{
	struct shrinker *shrinker = kzalloc(sizeof(*shrinker), GFP_KERNEL);
	unsigned int i;

	if (!shrinker)
		return;
	shrinker->run = run;
	shrinker->best = sequence;
	shrinker->lie = lie;
	shrinker->left = RUNS;
	shrinker->until = until;
	shrinker->candidate = *sequence;
	attempt(shrinker);
	/* First of all, as a long tick costs time. */
	simplify_config(shrinker);
	drop(shrinker);
	for (i = 0; i < sequence->nr; i++) {
		simplify_which(shrinker, i);
		simplify_when(shrinker, i);
		simplify_more(shrinker, i);
	}
	drop(shrinker);
	kfree(shrinker);
}
