/* SPDX-License-Identifier: GPL-2.0 */
/* Layer 4: a wheel of several shards. See shards.c; its calls are in linux/twheel.h. */
#ifndef _TWHEEL_SHARDS_H
#define _TWHEEL_SHARDS_H

#include <linux/list.h>

#include "reaper.h"

/**
 * struct twheel - a wheel
 * @registered: in the list of all wheels; see registry.c
 * @shared: it is one of the system's, and no limit holds for it
 * @places: the limit on what is pending, if there is one
 * @nr_shards: how many shards have been set up; immutable after init
 * @shard: the shards
 */
struct twheel {
	struct list_head	registered;
	bool			shared;
	struct twheel_places	places;
	unsigned int		nr_shards;
	struct twheel_shard	shard[];
};

void twheel_shard_stats(struct twheel_shard *shard, struct twheel_stats *stats);
struct twheel *twheel_make(const struct twheel_config *config, bool shared);

#endif /* _TWHEEL_SHARDS_H */
