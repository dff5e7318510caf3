/* SPDX-License-Identifier: GPL-2.0 */
/* Layer 4: a wheel of several shards. See shards.c; its calls are in linux/twheel.h. */
#ifndef _TWHEEL_SHARDS_H
#define _TWHEEL_SHARDS_H

#include <linux/bits.h>
#include <linux/list.h>

#include "reaper.h"

/**
 * struct twheel - a wheel
 * @registered: in the list of all wheels; see registry.c
 * @shared: it is one of the system's, and no limit holds for it
 * @places: the limit on what is pending, if there is one
 * @memcg: memory cgroup that is charged for the levels, or NULL
 * @nr_shards: how many shards have been set up; immutable after init
 * @shard: the shards
 */
struct twheel {
	struct list_head	registered;
	bool			shared;
	struct twheel_places	places;
	struct mem_cgroup	*memcg;
	unsigned int		nr_shards;
	struct twheel_shard	shard[];
};

void twheel_shard_stats(struct twheel_shard *shard, struct twheel_stats *stats);

/* The wheel does not count for the limit on wheels. */
#define TWHEEL_MAKE_UNLIMITED	BIT(0)
/* Its memory is charged to the memory cgroup of the caller. */
#define TWHEEL_MAKE_ACCOUNT	BIT(1)

struct twheel *twheel_make(const struct twheel_config *config, unsigned int flags);
u64 twheel_wakeups(const struct twheel *wheel);

#endif /* _TWHEEL_SHARDS_H */
