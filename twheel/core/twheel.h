/* SPDX-License-Identifier: GPL-2.0 */
/* Layer 4: a wheel of several shards. See twheel.c; its calls are in linux/twheel.h. */
#ifndef _TWHEEL_CORE_TWHEEL_H
#define _TWHEEL_CORE_TWHEEL_H

#include <linux/bits.h>
#include <linux/init.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/twheel.h>
#include <linux/types.h>

#include "shard.h"

/**
 * struct twheel - a wheel
 * @registered: in the list of all wheels; see twheel.c
 * @shared: it is one of the system's, and no limit holds for it
 * @limit: the limit on what is pending, if there is one
 * @memcg: memory cgroup that is charged for the levels, or NULL
 * @nr_shards: how many shards have been set up; immutable after init
 * @shard: the shards
 */
struct twheel {
	struct list_head	registered;
	bool			shared;
	struct twheel_limit	limit;
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

/* Layer 4: all the wheels that there are. See twheel.c. */

extern struct list_head twheel_wheels;
extern struct mutex twheel_wheels_lock;

void twheel_registry_exit(void);

int twheel_registry_add(struct twheel *wheel);
void twheel_registry_remove(struct twheel *wheel);

/* Layer 4: the system's wheel. See twheel.c; twheel_system() is in linux/twheel.h. */

int __init twheel_system_check(void);
void twheel_system_config(struct twheel_config *config, enum twheel_clock clock);
u64 twheel_system_tick_ns(void);
void twheel_system_exit(void);

#endif /* _TWHEEL_CORE_TWHEEL_H */
