/* SPDX-License-Identifier: GPL-2.0 */
/* Timers, and checks of their callbacks. See timer.c. */
#ifndef _TWHEEL_CORE_TIMER_H
#define _TWHEEL_CORE_TIMER_H

#include <linux/bug.h>
#include <linux/compiler.h>
#include <linux/container_of.h>
#include <linux/irqflags.h>
#include <linux/kconfig.h>
#include <linux/lockdep.h>
#include <linux/percpu.h>
#include <linux/preempt.h>
#include <linux/sched.h>
#include <linux/smp.h>
#include <linux/timekeeping.h>
#include <linux/twheel.h>
#include <linux/types.h>
#include <trace/events/twheel.h>

#include "shard.h"
#include "twheel.h"

/*
 * Checks of callbacks, like those of the kernel's own timers, and the tracing of their durations.
 *
 * A callback must return with the preempt count and the locks that it was called with. The
 * caller of a function that waits for a callback must not hold a lock that the callback takes:
 * a lockdep map is held during the callback, and the waiting function acquires and releases it.
 * The class of the map is the callback itself, so timers and operations need no memory for it.
 */

/**
 * struct twheel_callback - a running callback
 * @map: lockdep map
 * @preempt_count: preempt count before the call
 * @locks: number of held locks before the call
 * @begin: time of the call in ns; 0 unless callbacks are traced
 */
struct twheel_callback {
	struct lockdep_map	map;
	int			preempt_count;
	int			locks;
	u64			begin;
};

void twheel_callback_init_map(struct lockdep_map *map, unsigned long class);

/*
 * Before a callback. @class is the address of the function, or an address within it. Callbacks
 * of a class may be nested.
 */
static inline void twheel_callback_begin(struct twheel_callback *callback, unsigned long class)
{
	callback->preempt_count = preempt_count();
	callback->locks = lockdep_depth(current);
	if (IS_ENABLED(CONFIG_LOCKDEP))
		twheel_callback_init_map(&callback->map, class);
	lock_map_acquire_read(&callback->map);
	callback->begin = trace_twheel_callback_enabled() ? ktime_get_mono_fast_ns() : 0;
}

/* After a callback; @class as before it. */
static inline void twheel_callback_end(struct twheel_callback *callback, unsigned long class)
{
	if (trace_twheel_callback_enabled() && callback->begin)
		trace_twheel_callback(class, ktime_get_mono_fast_ns() - callback->begin);
	lock_map_release(&callback->map);
	WARN_ONCE(lockdep_depth(current) > callback->locks, "twheel: %ps leaks a lock\n",
		  (void *)class);
	if (likely(preempt_count() == callback->preempt_count))
		return;
	WARN_ONCE(1, "twheel: %ps preempt leak: %08x -> %08x\n", (void *)class,
		  callback->preempt_count, preempt_count());
	/* A spinlock may still be held, but the reaper can continue. */
	preempt_count_set(callback->preempt_count);
}

/*
 * Before a wait for a callback. If lockdep reports this function, the caller holds a lock that
 * the callback takes.
 */
static inline void twheel_callback_wait(unsigned long class)
{
	struct lockdep_map map;
	unsigned long flags;

	if (!IS_ENABLED(CONFIG_LOCKDEP))
		return;
	twheel_callback_init_map(&map, class);
	/* With interrupts enabled, lockdep would report callbacks that run in interrupts. */
	local_irq_save(flags);
	lock_map_acquire(&map);
	lock_map_release(&map);
	local_irq_restore(flags);
}

/* Debugobjects; see timer_debug.c. */
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

/* The shard of the current CPU. The caller may migrate at any time; any shard is correct. */
static inline struct twheel_shard *twheel_local_shard(struct twheel *wheel)
{
	unsigned int cpu = raw_smp_processor_id();

	return &wheel->shard[likely(cpu < wheel->nr_shards) ? cpu : cpu % wheel->nr_shards];
}

bool __twheel_timer_usable(struct twheel_timer *timer);

/* Whether a timer has been initialised. */
static inline bool twheel_timer_usable(struct twheel_timer *timer)
{
	if (!IS_ENABLED(CONFIG_DEBUG_OBJECTS) && likely(twheel_timer_shard(timer)))
		return true;
	return __twheel_timer_usable(timer);
}

DECLARE_PER_CPU(struct twheel_shard *, twheel_last_shard);

/*
 * The shard of a timer that may not be in the caches. Usually it is the one of the last call on
 * this CPU. As this is a branch, the CPU predicts the address, and does not wait for the timer
 * before it computes the bucket and fetches the next timer of the caller.
 */
static inline struct twheel_shard *twheel_timer_predict_shard(const struct twheel_timer *timer)
{
	struct twheel_shard *shard = twheel_timer_shard(timer);
	/* Compared and then used: it must not be read twice. */
	struct twheel_shard *last = this_cpu_read(twheel_last_shard);

	if (unlikely(shard != last)) {
		raw_cpu_write(twheel_last_shard, shard);
		return shard;
	}
	/* Otherwise the compiler would take @shard. */
	OPTIMIZER_HIDE_VAR(last);
	return last;
}

/* Lock the shard of an initialised timer, which may move until the lock is held. */
static inline struct twheel_shard *twheel_timer_lock(struct twheel_timer *timer,
						     unsigned long *flags)
	__acquires(timer)
{
	struct twheel_shard *shard;

	for (;;) {
		shard = twheel_timer_predict_shard(timer);
		spin_lock_irqsave(&shard->lock, *flags);
		if (likely(shard == twheel_timer_shard(timer)))
			return shard;
		spin_unlock_irqrestore(&shard->lock, *flags);
	}
}

void twheel_periodic_fire(struct twheel_timer *timer);
void twheel_work_fire(struct twheel_timer *timer);

/* Whether a step of the clock cancels a timer. */
static inline bool twheel_timer_follows_steps(const struct twheel_shard *shard,
					      const struct twheel_timer *timer)
{
	return twheel_timer_flags(timer) & TWHEEL_TIMER_CANCEL_ON_SET &&
	       shard->clock == TWHEEL_CLOCK_REALTIME;
}

static inline struct twheel_clock_timer *twheel_clock_timer(struct twheel_timer *timer)
{
	return container_of(timer, struct twheel_clock_timer, timer);
}

void __twheel_timer_init(struct twheel_timer *timer, struct twheel *wheel,
			 void (*fn)(struct twheel_timer *timer), unsigned int flags);
void twheel_timer_setup(struct twheel_timer *timer, struct twheel *wheel,
			void (*fn)(struct twheel_timer *timer), unsigned int flags);
int twheel_timer_block(struct twheel_timer *timer, unsigned int *blocked);
void twheel_timer_unblock(struct twheel_timer *timer, unsigned int *blocked,
			  void (*fn)(struct twheel_timer *timer));
unsigned long twheel_timer_class(const struct twheel_timer *timer);
bool twheel_runs_functions(const struct twheel *wheel);
void twheel_timer_repeat(struct twheel_shard *shard, struct twheel_timer *timer, u64 deadline);

#endif /* _TWHEEL_CORE_TIMER_H */
