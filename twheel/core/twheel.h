/* SPDX-License-Identifier: GPL-2.0 */
/* Wheels, the list of wheels, the system wheels, and counters. See twheel.c and stats.c. */
#ifndef _TWHEEL_CORE_TWHEEL_H
#define _TWHEEL_CORE_TWHEEL_H

#include <linux/gfp.h>
#include <linux/init.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/rcupdate.h>
#include <linux/smp.h>
#include <linux/twheel.h>
#include <linux/types.h>

#include "shard.h"

/**
 * struct twheel - a wheel
 * @registered: entry in twheel_wheels; protected by twheel_wheels_lock
 * @private: its own reapers, or NULL if it shares some; counts towards the limit max_wheels;
 *	immutable, like the following fields
 * @users: wheel of a user of the devices
 * @limited: there is a limit on its pending timers
 * @clock: clock of its shards
 * @memcg: memory cgroup that is charged for the levels, or NULL
 * @name: for debugfs
 * @slots: slots of a level
 * @nr_shards: number of shards
 * @shard_size: size of a shard
 * @rcu: frees it
 * @shards: memory of the shards, see twheel_shard()
 */
struct twheel {
	struct list_head	registered;
	struct twheel_reapers	*private;
	bool			users;
	bool			limited;
	enum twheel_clock	clock;
	struct mem_cgroup	*memcg;
	char			name[20];
	unsigned int		slots;
	unsigned int		nr_shards;
	size_t			shard_size;
	struct rcu_head		rcu;
	u8			shards[] ____cacheline_aligned;
};

static inline struct twheel_shard *twheel_shard(struct twheel *wheel, unsigned int number)
{
	return (struct twheel_shard *)(wheel->shards + number * wheel->shard_size);
}

/* The shard of the current CPU. The caller may migrate at any time; any shard is correct. */
static inline struct twheel_shard *twheel_local_shard(struct twheel *wheel)
{
	unsigned int cpu = raw_smp_processor_id();

	return twheel_shard(wheel, likely(cpu < wheel->nr_shards) ? cpu : cpu % wheel->nr_shards);
}

/*
 * Added to GFP_KERNEL for memory that is charged to the memory cgroup of the caller. At its
 * limit, the allocation fails after reclaim. Without this the OOM killer would end a process
 * of the cgroup, which need not be a user of twheel.
 */
#define TWHEEL_GFP_ACCOUNT	(__GFP_ACCOUNT | __GFP_RETRY_MAYFAIL | __GFP_NOWARN)

extern struct list_head twheel_wheels;
extern struct mutex twheel_wheels_lock;

struct twheel *twheel_make(const struct twheel_config *config, struct twheel_reapers *reapers,
			   struct twheel_share *shares);

void twheel_shard_stats(struct twheel_shard *shard, struct twheel_stats *stats);
void twheel_stats_retire(struct twheel *wheel);
void twheel_users_stats(enum twheel_clock clock, struct twheel_stats *stats);

int __init twheel_system_check(void);
void twheel_system_config(struct twheel_config *config, enum twheel_clock clock);
int twheel_system_reapers(struct twheel_reapers **reapers, const char *name);
void twheel_system_exit(void);

#endif /* _TWHEEL_CORE_TWHEEL_H */
