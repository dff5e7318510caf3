// SPDX-License-Identifier: GPL-2.0
/*
 * Checks of callbacks, like those of the kernel's own timers, and the tracing of their durations.
 *
 * A callback must return with the preempt count and the locks that it was called with. The
 * caller of a function that waits for a callback must not hold a lock that the callback takes:
 * a lockdep map is held during the callback, and the waiting function acquires and releases it.
 * The class of the map is the callback itself, so timers and operations need no memory for it.
 */
#include <linux/bug.h>
#include <linux/lockdep.h>
#include <linux/preempt.h>
#include <linux/sched.h>

#include "callback.h"

/* Out of line: lockdep compares the address of the name. */
void twheel_callback_init_map(struct lockdep_map *map, unsigned long class)
{
	lockdep_init_map(map, "twheel_callback", (struct lock_class_key *)class, 0);
}

/* A callback has returned with further locks or another preempt count. */
void twheel_callback_leaked(const struct twheel_callback *callback, unsigned long class)
{
	WARN_ONCE(lockdep_depth(current) > callback->locks, "twheel: %ps leaks a lock\n",
		  (void *)class);
	if (preempt_count() == callback->preempt_count)
		return;
	WARN_ONCE(1, "twheel: %ps preempt leak: %08x -> %08x\n", (void *)class,
		  callback->preempt_count, preempt_count());
	/* A spinlock may still be held, but the reaper can continue. */
	preempt_count_set(callback->preempt_count);
}
