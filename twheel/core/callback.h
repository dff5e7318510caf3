/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Callbacks of timers and operations: checks, like those of the kernel's own timers, and the
 * tracing of their durations.
 *
 * A callback must return with the preempt count and the locks that it was called with. The
 * caller of a function that waits for a callback must not hold a lock that the callback takes:
 * a lockdep map is held during the callback, and the waiting function acquires and releases it.
 * The class of the map is the callback itself, so timers and operations need no memory for it.
 */
#ifndef _TWHEEL_CORE_CALLBACK_H
#define _TWHEEL_CORE_CALLBACK_H

#include <linux/compiler.h>
#include <linux/irqflags.h>
#include <linux/kconfig.h>
#include <linux/lockdep.h>
#include <linux/minmax.h>
#include <linux/preempt.h>
#include <linux/sched.h>
#include <linux/timekeeping.h>
#include <linux/types.h>
#include <trace/events/twheel.h>

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
void twheel_callback_leaked(struct twheel_callback callback, unsigned long class);

/*
 * Before a callback. @class is the address of the function, or an address within it. Callbacks
 * of a class may be nested.
 */
static inline void twheel_callback_begin(struct twheel_callback *callback, unsigned long class)
{
	callback->preempt_count = preempt_count();
	if (IS_ENABLED(CONFIG_LOCKDEP)) {
		callback->locks = lockdep_depth(current);
		twheel_callback_init_map(&callback->map, class);
	}
	lock_map_acquire_read(&callback->map);
	callback->begin = trace_twheel_callback_enabled() ? ktime_get_mono_fast_ns() : 0;
}

/* After a callback; @class as before it. */
static inline void twheel_callback_end(struct twheel_callback *callback, unsigned long class)
{
	/* This clock may go back a little while its frequency is adjusted. */
	if (trace_twheel_callback_enabled() && callback->begin)
		trace_twheel_callback(class, max_t(s64, 0, ktime_get_mono_fast_ns() -
							   callback->begin));
	lock_map_release(&callback->map);
	if (unlikely(preempt_count() != callback->preempt_count ||
		     (IS_ENABLED(CONFIG_LOCKDEP) && lockdep_depth(current) > callback->locks)))
		/* By value: with a pointer to it, it would not be in registers. */
		twheel_callback_leaked(*callback, class);
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

#endif /* _TWHEEL_CORE_CALLBACK_H */
