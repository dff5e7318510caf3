/* SPDX-License-Identifier: GPL-2.0 */
/* Timers, see timer.c. */
#ifndef _TWHEEL_CORE_TIMER_H
#define _TWHEEL_CORE_TIMER_H

#include <linux/compiler.h>
#include <linux/container_of.h>
#include <linux/percpu.h>
#include <linux/preempt.h>
#include <linux/sched.h>
#include <linux/smp.h>
#include <linux/twheel.h>
#include <linux/types.h>

#include "shard.h"
#include "twheel.h"

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

bool twheel_timer_is_zeroed(const struct twheel_timer *timer);

/* Whether a timer has been initialised. */
static inline bool twheel_timer_usable(struct twheel_timer *timer)
{
	twheel_debug_assert_init(timer);
	return likely(twheel_timer_shard(timer)) || !twheel_timer_is_zeroed(timer);
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

/*
 * Lock the shard of an initialised timer, which may move until the lock is held; @shard is the one
 * that it had.
 */
static __always_inline struct twheel_shard *twheel_timer_lock_from(struct twheel_shard *shard,
								   struct twheel_timer *timer,
								   unsigned long *flags)
	__acquires(timer)
{
	for (;;) {
		spin_lock_irqsave(&shard->lock, *flags);
		if (likely(shard == twheel_timer_shard(timer)))
			return shard;
		spin_unlock_irqrestore(&shard->lock, *flags);
		shard = twheel_timer_predict_shard(timer);
	}
}

static __always_inline struct twheel_shard *twheel_timer_lock(struct twheel_timer *timer,
							      unsigned long *flags)
	__acquires(timer)
{
	return twheel_timer_lock_from(twheel_timer_predict_shard(timer), timer, flags);
}

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

/* Initialise a timer, except for debugobjects. */
static inline void twheel_timer_setup(struct twheel_timer *timer, struct twheel *wheel,
				      void (*fn)(struct twheel_timer *timer), unsigned int flags)
{
	INIT_LIST_HEAD(&timer->node.entry);
	timer->node.expires = TWHEEL_TICK_NEVER;
	timer->fn = fn;
	timer->shard_flags = (unsigned long)twheel_local_shard(wheel) |
			     (flags & (TWHEEL_TIMER_INLINE | TWHEEL_TIMER_CANCEL_ON_SET));
}

/* Initialise a timer; with TWHEEL_TIMER_CANCEL_ON_SET, that of a struct twheel_clock_timer. */
static inline void __twheel_timer_init(struct twheel_timer *timer, struct twheel *wheel,
				       void (*fn)(struct twheel_timer *timer), unsigned int flags)
{
	twheel_debug_init(timer);
	twheel_timer_setup(timer, wheel, fn, flags);
}

int twheel_timer_add_new(struct twheel_timer *timer, u64 deadline);
int twheel_timer_block(struct twheel_timer *timer, unsigned int *blocked);
void twheel_timer_unblock(struct twheel_timer *timer, unsigned int *blocked,
			  void (*fn)(struct twheel_timer *timer));
unsigned long twheel_timer_class(const struct twheel_timer *timer);
bool twheel_runs_functions(const struct twheel *wheel);

#endif /* _TWHEEL_CORE_TIMER_H */
