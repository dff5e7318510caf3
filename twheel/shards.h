/* SPDX-License-Identifier: GPL-2.0 */
/* Layer 4: a wheel of several shards. See shards.c; its calls are in linux/twheel.h. */
#ifndef _TWHEEL_SHARDS_H
#define _TWHEEL_SHARDS_H

#include "reaper.h"

/**
 * struct twheel - a wheel
 * @nr_shards: how many shards have been started; immutable after init
 * @shard: the shards
 */
struct twheel {
	unsigned int		nr_shards;
	struct twheel_shard	shard[];
};

#endif /* _TWHEEL_SHARDS_H */
