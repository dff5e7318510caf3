/* SPDX-License-Identifier: GPL-2.0 */
/* Layer 4: what the files about timers share; the calls are in linux/twheel.h. */
#ifndef _TWHEEL_TIMER_H
#define _TWHEEL_TIMER_H

#include <linux/compiler.h>
#include <linux/kconfig.h>
#include <linux/smp.h>
#include <linux/twheel.h>
#include <linux/types.h>

#include "reaper.h"
#include "shards.h"

/* The shard of the CPU that we are on, or were just now: any of them will do. */
static inline struct twheel_shard *twheel_local_shard(struct twheel *wheel)
{
	unsigned int cpu = raw_smp_processor_id();

	return &wheel->shard[likely(cpu < wheel->nr_shards) ? cpu : cpu % wheel->nr_shards];
}

bool __twheel_timer_usable(struct twheel_timer *timer);

/* Whether a timer has been initialised; debugobjects has a say in it, too. */
static inline bool twheel_timer_usable(struct twheel_timer *timer)
{
	if (!IS_ENABLED(CONFIG_DEBUG_OBJECTS) && likely(twheel_timer_shard(timer)))
		return true;
	return __twheel_timer_usable(timer);
}

/**
 * twheel_timer_lock - lock the shard that a timer is on
 * @timer: the timer, usable
 * @flags: for twheel_shard_unlock()
 *
 * Return: the shard.
 */
static inline struct twheel_shard *twheel_timer_lock(struct twheel_timer *timer,
						     unsigned long *flags)
	__acquires(timer)
{
	struct twheel_shard *shard;

	for (;;) {
		shard = twheel_timer_shard(timer);
		*flags = twheel_shard_lock(shard);
		if (likely(shard == twheel_timer_shard(timer)))
			return shard;
		twheel_shard_unlock(shard, *flags);
	}
}

void twheel_periodic_fire(struct twheel_timer *timer);
void twheel_timer_setup(struct twheel_timer *timer, struct twheel *wheel,
			void (*fn)(struct twheel_timer *timer), unsigned int flags);
bool twheel_timer_detach(struct twheel_shard *shard, struct twheel_timer *timer);
int twheel_timer_block(struct twheel_timer *timer, unsigned int *blocked);
void twheel_timer_unblock(struct twheel_timer *timer, unsigned int *blocked,
			  void (*fn)(struct twheel_timer *timer));
unsigned long twheel_timer_class(const struct twheel_timer *timer);
bool twheel_runs_functions(const struct twheel *wheel);
void twheel_timer_repeat(struct twheel_shard *shard, struct twheel_timer *timer, u64 deadline,
			 u32 generation);

#endif /* _TWHEEL_TIMER_H */
