// SPDX-License-Identifier: GPL-2.0
/*
 * Property test for timers: generates sequences of calls from a seed, and prints them.
 * See model.h.
 */
#include <linux/ktime.h>
#include <linux/log2.h>
#include <linux/minmax.h>
#include <linux/string.h>

#include "../random.h"
#include "model.h"

/* Maximum run time of a timer function. */
#define TAKES_NS	(10 * NSEC_PER_MSEC)

/* The calls for each kind of timer. Repeated entries increase the frequency of a call. */
static const u8 of_plain[] = {
	MODEL_INIT, MODEL_INIT, MODEL_ADD, MODEL_ADD, MODEL_ADD, MODEL_ADD_SLACK,
	MODEL_ADD_SLACK, MODEL_REARM, MODEL_REARM, MODEL_REARM, MODEL_REARM_SLACK,
	MODEL_REARM_SLACK, MODEL_CANCEL, MODEL_CANCEL, MODEL_CANCEL_SYNC, MODEL_SHUTDOWN_SYNC,
};

static const u8 of_work[] = {
	MODEL_INIT, MODEL_ADD, MODEL_ADD, MODEL_ADD, MODEL_REARM, MODEL_REARM, MODEL_REARM,
	MODEL_CANCEL, MODEL_CANCEL_SYNC,
};

static const u8 of_wheel[] = {
	MODEL_FLUSH, MODEL_FLUSH, MODEL_FLUSH, MODEL_FLUSH, MODEL_SET_CLOCK,
	MODEL_SET_CLOCK, MODEL_SET_CLOCK, MODEL_SET_CLOCK, MODEL_SET_CLOCK, MODEL_SET_CLOCK,
	MODEL_SET_CLOCK, MODEL_SET_CLOCK, MODEL_SET_CLOCK, MODEL_STOP,
};

/* Timers that are used more often, so that calls find them in all states. */
static const u8 frequent[] = { 0, 1, MODEL_PLAIN };

static u8 random_type(const struct model_sequence *sequence, u8 *t, struct rnd_state *random)
{
	*t = random_below(random, 2) ? random_below(random, MODEL_TIMERS) :
				       frequent[random_below(random, ARRAY_SIZE(frequent))];
	if (sequence->nr < MODEL_TIMERS)
		return MODEL_INIT;
	switch (random_below(random, 10)) {
	case 0 ... 3:
		return MODEL_SLEEP;
	case 4:
		return of_wheel[random_below(random, ARRAY_SIZE(of_wheel))];
	}
	switch (model_kind(*t)) {
	case MODEL_IS_PLAIN:
		return of_plain[random_below(random, ARRAY_SIZE(of_plain))];
	default:
		return of_work[random_below(random, ARRAY_SIZE(of_work))];
	}
}

/* Longest sleep of a sequence in bits: some ticks, unless these are very long. */
static unsigned int reach(const struct model_sequence *sequence)
{
	return clamp(ilog2(sequence->config.tick_ns ?: BIT_ULL(20)) + 4, 28, 33);
}

/* Mostly near deadlines, and sometimes past or very distant ones, or TWHEEL_NEVER. */
static void random_when(const struct model_sequence *sequence, struct model_op *op,
			struct rnd_state *random)
{
	static const u64 ends[] = {
		0, 1, KTIME_MAX - 1, KTIME_MAX, KTIME_MAX + 1ULL, TWHEEL_NEVER - 1, TWHEEL_NEVER,
	};

	switch (random_below(random, 12)) {
	case 0:
		op->flags = MODEL_ABSOLUTE;
		op->when = ends[random_below(random, ARRAY_SIZE(ends))];
		break;
	case 1:
		op->flags = MODEL_ABSOLUTE;
		op->when = random_magnitude(random, 64);
		break;
	case 2:
		op->when = random_magnitude(random, 64);
		break;
	case 3:
		op->when = random_magnitude(random, 45);
		break;
	case 4:
		op->when = random_below(random, 5) * (sequence->config.tick_ns ?: BIT_ULL(20));
		break;
	default:
		op->when = random_magnitude(random, reach(sequence));
	}
}

static u64 random_slack(struct rnd_state *random)
{
	switch (random_below(random, 4)) {
	case 0:
		return TWHEEL_SLACK_COARSE;
	case 1:
		return random_magnitude(random, 64);
	default:
		return random_magnitude(random, 32);
	}
}

static void generate_init(const struct model_sequence *sequence, struct model_op *op,
			  struct rnd_state *random)
{
	op->choice = random_below(random, MODEL_ACTIONS);
	op->count = 1 + random_below(random, 3);
	op->when = random_below(random, 4) ? random_magnitude(random, reach(sequence)) : 0;
	op->more = random_below(random, 3) ? random_below(random, TAKES_NS) : 0;
	/* The queueing of work is not logged, so other timers do not act on work. */
	op->other = random_below(random, MODEL_PLAIN);
	if (model_kind(op->t) == MODEL_IS_PLAIN)
		op->flags = random_below(random, 2) * TWHEEL_TIMER_CANCEL_ON_SET;
}

static void generate_op(const struct model_sequence *sequence, struct model_op *op,
			struct rnd_state *random)
{
	*op = (struct model_op){};
	op->type = random_type(sequence, &op->t, random);
	switch (op->type) {
	case MODEL_SLEEP:
		op->choice = random_below(random, 2);
		op->when = random_magnitude(random, op->choice ? 23 : reach(sequence));
		op->more = BIT_ULL(reach(sequence));
		break;
	case MODEL_INIT:
		generate_init(sequence, op, random);
		break;
	case MODEL_ADD_SLACK:
	case MODEL_REARM_SLACK:
		op->more = random_slack(random);
		fallthrough;
	case MODEL_ADD:
	case MODEL_REARM:
		op->choice = random_rearm(random);
		random_when(sequence, op, random);
		break;
	case MODEL_SET_CLOCK:
		op->when = random_magnitude(random, 57);
		if (random_below(random, 2))
			op->when = -op->when;
		break;
	}
}

/* A wheel of any shape. Mostly, the tick is short compared with the sleeps. */
static void generate_config(struct twheel_config *config, struct rnd_state *random)
{
	static const unsigned int slots[] = { 0, 2, 3, 7, 20, 64, 100, 512, 1024 };

	switch (random_below(random, 4)) {
	case 0:
		break;
	case 1:
		config->tick_ns = clamp_val(random_magnitude(random, 34), 1000,
					    10 * NSEC_PER_SEC);
		break;
	default:
		config->tick_ns = max_t(u64, random_magnitude(random, 24), 1000);
	}
	config->slots = slots[random_below(random, ARRAY_SIZE(slots))];
	config->shards = random_below(random, 2) ? random_below(random, 5) : 0;
	if (config->shards <= 1 && !random_below(random, 3))
		config->max_pending = 1 + random_below(random, 6);
}

void model_generate(struct model_sequence *sequence, struct rnd_state *random, bool system,
		    enum twheel_clock clock)
{
	*sequence = (struct model_sequence){
		.system = system,
		.config = { .name = "model", .clock = clock },
	};
	if (!system)
		generate_config(&sequence->config, random);
	while (sequence->nr < MODEL_OPS)
		generate_op(sequence, &sequence->op[sequence->nr++], random);
}

static const char * const op_names[] = {
	[MODEL_SLEEP]		= "sleep",
	[MODEL_INIT]		= "init",
	[MODEL_ADD]		= "add",
	[MODEL_ADD_SLACK]	= "add_slack",
	[MODEL_REARM]		= "rearm",
	[MODEL_REARM_SLACK]	= "rearm_slack",
	[MODEL_CANCEL]		= "cancel",
	[MODEL_CANCEL_SYNC]	= "cancel_sync",
	[MODEL_SHUTDOWN_SYNC]	= "shutdown_sync",
	[MODEL_FLUSH]		= "flush",
	[MODEL_STOP]		= "stop",
	[MODEL_SET_CLOCK]	= "set_clock",
};

/* Print one step per line, with the fields of &struct model_op; all times are in ns. */
void model_print(struct kunit *test, const struct model_sequence *sequence)
{
	const struct twheel_config *config = &sequence->config;
	const struct model_op *op = sequence->op;
	unsigned int i;

	kunit_info(test, "%s wheel, clock %u, tick %llu, slots %u, shards %u, limit %llu\n",
		   sequence->system ? "system" : "private", config->clock, config->tick_ns,
		   config->slots, config->shards, config->max_pending);
	for (i = 0; i < sequence->nr; i++, op++)
		kunit_info(test, "%u. %s t %u flags %#x choice %u other %u count %u when %lld more %lld\n",
			   i + 1, op_names[op->type], op->t, op->flags, op->choice, op->other,
			   op->count, op->when, op->more);
}
