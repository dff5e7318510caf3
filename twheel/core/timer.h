/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Layer 3: checks of consumers' callbacks, as the kernel's own timers have them.
 *
 * A callback must return with the preempt count and without the locks that it took.  And
 * a call that waits for a callback must not hold a lock that the callback takes: lockdep
 * finds that out by a map that is held around the callback and that the call acquires and
 * releases.  The class of the map is the callback itself, so that neither a timer nor an
 * operation needs memory for it.
 */
#ifndef _TWHEEL_CORE_TIMER_H
#define _TWHEEL_CORE_TIMER_H

#include <linux/bug.h>
#include <linux/compiler.h>
#include <linux/irqflags.h>
#include <linux/kconfig.h>
#include <linux/lockdep.h>
#include <linux/preempt.h>
#include <linux/sched.h>
#include <linux/smp.h>
#include <linux/twheel.h>
#include <linux/types.h>

#include "shard.h"
#include "twheel.h"

/**
 * struct twheel_callback - a callback that runs
 * @map: the map that is held
 * @preempt_count: with which it was called
 * @locks: how many locks were held then, as far as lockdep counts them
 */
struct twheel_callback {
	struct lockdep_map	map;
	int			preempt_count;
	int			locks;
};

void twheel_callback_init_map(struct lockdep_map *map, unsigned long class);

/**
 * twheel_callback_begin - a callback is about to be called
 * @callback: for twheel_callback_end()
 * @class: the address of the function, or another within it
 *
 * Callbacks of a class may be nested.
 */
static inline void twheel_callback_begin(struct twheel_callback *callback, unsigned long class)
{
	callback->preempt_count = preempt_count();
	callback->locks = lockdep_depth(current);
	if (IS_ENABLED(CONFIG_LOCKDEP))
		twheel_callback_init_map(&callback->map, class);
	lock_map_acquire_read(&callback->map);
}

/**
 * twheel_callback_end - a callback has returned
 * @callback: from twheel_callback_begin()
 * @fn: the address of the function
 */
static inline void twheel_callback_end(struct twheel_callback *callback, unsigned long fn)
{
	lock_map_release(&callback->map);
	WARN_ONCE(lockdep_depth(current) > callback->locks, "twheel: %pS leaks a lock\n",
		  (void *)fn);
	if (likely(preempt_count() == callback->preempt_count))
		return;
	WARN_ONCE(1, "twheel: %pS preempt leak: %08x -> %08x\n", (void *)fn,
		  callback->preempt_count, preempt_count());
	/* It may have kept a lock, but the reaper can go on. */
	preempt_count_set(callback->preempt_count);
}

/**
 * twheel_callback_wait - the caller may have to wait for a callback
 * @class: as for twheel_callback_begin()
 *
 * If lockdep gives a backtrace here, the caller holds a lock that the callback takes.
 */
static inline void twheel_callback_wait(unsigned long class)
{
	struct lockdep_map map;
	unsigned long flags;

	if (!IS_ENABLED(CONFIG_LOCKDEP))
		return;
	twheel_callback_init_map(&map, class);
	/* No callback can interrupt this, as it might if the map were a lock. */
	local_irq_save(flags);
	lock_map_acquire(&map);
	lock_map_release(&map);
	local_irq_restore(flags);
}

/* Layer 4: what debugobjects is told of timers. See timer_debug.c. */

#ifdef CONFIG_DEBUG_OBJECTS
void twheel_debug_init(struct twheel_timer *timer);
void twheel_debug_activate(struct twheel_timer *timer);
void twheel_debug_deactivate(struct twheel_timer *timer);
void twheel_debug_assert_init(struct twheel_timer *timer);
#else
static inline void twheel_debug_init(struct twheel_timer *timer) { }
static inline void twheel_debug_activate(struct twheel_timer *timer) { }
static inline void twheel_debug_deactivate(struct twheel_timer *timer) { }
static inline void twheel_debug_assert_init(struct twheel_timer *timer) { }
#endif

/* Layer 4: what the files about timers share; the calls are in linux/twheel.h. */

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

#endif /* _TWHEEL_CORE_TIMER_H */
