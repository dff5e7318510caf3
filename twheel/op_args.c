// SPDX-License-Identifier: GPL-2.0
/*
 * Layer 5, operations: which conditions go with which keys, and which wheels will
 * do. No state, no locks.
 */
#include <linux/export.h>
#include <linux/string.h>

#include "op.h"
#include "shards.h"

/**
 * twheel_specs_check - whether keys can be watched
 * @specs: the keys
 * @nr_keys: how many
 * @condition: of the operation that is to watch them
 *
 * Return: 0, or -EINVAL.
 */
int twheel_specs_check(const struct twheel_watch_spec *specs, u32 nr_keys,
		       enum twheel_condition condition)
{
	u32 i;

	if (nr_keys > TWHEEL_MAX_KEYS)
		return -EINVAL;
	for (i = 0; i < nr_keys; i++)
		if (specs[i].reserved ||
		    (specs[i].need > 1 && !twheel_counts_signals(condition)))
			return -EINVAL;
	return 0;
}

static bool key_among(const struct twheel_watch_spec *specs, u32 nr,
		      const struct twheel_key *key)
{
	while (nr--)
		if (!memcmp(&specs[nr].key, key, sizeof(*key)))
			return true;
	return false;
}

static u32 nr_distinct(const struct twheel_watch_spec *specs, u32 nr_keys)
{
	u32 i, nr = 0;

	for (i = 0; i < nr_keys; i++)
		nr += !key_among(specs, i, &specs[i].key);
	return nr;
}

/* Whether a condition can do with so many keys. */
static bool nr_keys_fits(enum twheel_condition condition, u32 nr_keys)
{
	switch ((unsigned int)condition) {
	case TWHEEL_COND_NONE:
		return !nr_keys;
	case TWHEEL_COND_ANY:
	case TWHEEL_COND_ALL:
	case TWHEEL_COND_QUORUM:
	case TWHEEL_COND_SUM:
		return nr_keys;
	case TWHEEL_COND_PREDICATE:
		return true;
	default:
		return false;
	}
}

/**
 * twheel_op_check_wheel - whether a wheel will do for an operation
 * @wheel: the wheel
 * @flags: of the operation
 *
 * Return: 0, or -EINVAL.
 */
int twheel_op_check_wheel(const struct twheel *wheel, unsigned int flags)
{
	/* Its timer is armed when it is too late to fail. */
	if (wheel->places.max)
		return -EINVAL;
	if (flags & TWHEEL_OP_CANCEL_ON_SET && wheel->shard[0].clock != TWHEEL_CLOCK_REALTIME)
		return -EINVAL;
	return 0;
}

/**
 * twheel_op_check - whether an operation can be added like this
 * @args: how it is to wait; the room for its watches is not looked at, nor the
 *	wheel of the purgatory
 *
 * twheel_op_add() checks this too. It is for who wants to know before anything
 * else is done for the operation.
 *
 * Context: any.
 * Return: 0, or -EINVAL as twheel_op_add().
 */
int twheel_op_check(const struct twheel_op_args *args)
{
	bool quorum = args->condition == TWHEEL_COND_QUORUM;
	bool sum = args->condition == TWHEEL_COND_SUM;

	if (args->flags & ~TWHEEL_OP_CANCEL_ON_SET)
		return -EINVAL;
	if (args->wheel && twheel_op_check_wheel(args->wheel, args->flags))
		return -EINVAL;
	if (!nr_keys_fits(args->condition, args->nr_keys))
		return -EINVAL;
	if (quorum != !!args->quorum || sum != !!args->threshold)
		return -EINVAL;
	if (twheel_specs_check(args->specs, args->nr_keys, args->condition))
		return -EINVAL;
	if (quorum && args->quorum > nr_distinct(args->specs, args->nr_keys))
		return -EINVAL;
	return 0;
}
EXPORT_SYMBOL_GPL(twheel_op_check);
