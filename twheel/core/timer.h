/* SPDX-License-Identifier: GPL-2.0 */
/* Timers, see timer.c. */
#ifndef _TWHEEL_CORE_TIMER_H
#define _TWHEEL_CORE_TIMER_H

#include <linux/compiler.h>
#include <linux/debugobjects.h>
#include <linux/twheel.h>
#include <linux/types.h>
#include <trace/events/twheel.h>

#include "shard.h"
#include "twheel.h"

/* For debugobjects; see timer_debug.c. */
extern const struct debug_obj_descr twheel_timer_descr;

bool twheel_timer_is_zeroed(const struct twheel_timer *timer);

/* Whether a timer has been initialised. */
static inline bool twheel_timer_usable(struct twheel_timer *timer)
{
	debug_object_assert_init(timer, &twheel_timer_descr);
	return likely(twheel_timer_shard(timer)) || !twheel_timer_is_zeroed(timer);
}

/*
 * Take a pending timer off its list, with its shard locked. It is still counted as added. @wall:
 * the shard is of CLOCK_REALTIME.
 */
static __always_inline void twheel_timer_detach(struct twheel_shard *shard,
						struct twheel_timer *timer, bool wall)
{
	lockdep_assert_held(&shard->lock);
	if (unlikely(wall))
		twheel_wall_del(shard, timer);
	else
		twheel_node_del(&timer->node);
	debug_object_deactivate(timer, &twheel_timer_descr);
}

/*
 * Make a timer that is on no list and belongs to the locked shard expire at @tick. @rearm: it was
 * pending.
 */
static __always_inline void twheel_timer_enqueue(struct twheel_shard *shard,
						 struct twheel_timer *timer, u64 expires, u64 tick,
						 bool wall, bool rearm)
{
	u64 next;

	lockdep_assert_held(&shard->lock);
	debug_object_activate(timer, &twheel_timer_descr);
	timer->node.expires = expires;
	if (unlikely(wall))
		next = twheel_wall_add(shard, timer, rearm);
	else
		next = twheel_queue_add(&shard->queue, &timer->node, tick);
	if (unlikely(next < shard->armed))
		twheel_shard_added(shard, next);
	trace_twheel_timer_add(timer, shard);
}

/* Cancel a pending timer of a locked shard. */
static inline void twheel_timer_remove_pending(struct twheel_shard *shard,
					       struct twheel_timer *timer)
{
	twheel_timer_detach(shard, timer, twheel_shard_is_wall(shard));
	trace_twheel_timer_cancel(timer, shard);
	shard->cancelled++;
}

/* Cancel a timer of a locked shard. Return: true if it was pending; it may be running as well. */
static inline bool twheel_timer_remove(struct twheel_shard *shard, struct twheel_timer *timer)
{
	if (!twheel_timer_pending(timer))
		return false;
	twheel_timer_remove_pending(shard, timer);
	return true;
}

/* Initialise a timer, except for debugobjects. */
static inline void twheel_timer_setup(struct twheel_timer *timer, struct twheel *wheel,
				      void (*fn)(struct twheel_timer *timer), unsigned int flags)
{
	INIT_HLIST_NODE(&timer->node.entry);
	timer->node.expires = TWHEEL_TICK_NEVER;
	timer->fn = fn;
	timer->shard_flags = (unsigned long)twheel_local_shard(wheel) | flags;
}

static inline void __twheel_timer_init(struct twheel_timer *timer, struct twheel *wheel,
				       void (*fn)(struct twheel_timer *timer), unsigned int flags)
{
	debug_object_init(timer, &twheel_timer_descr);
	twheel_timer_setup(timer, wheel, fn, flags);
}

/*
 * Add a timer that is not pending to its locked shard; @node.expires is set. The caller has checked
 * that it is near, or called twheel_timer_prepare(). A level that is missing nevertheless is added
 * later, see wheel.c.
 */
static __always_inline void twheel_timer_start(struct twheel_shard *shard,
					       struct twheel_timer *timer, u64 tick)
{
	unsigned long kernel_tick = jiffies;

	if (unlikely(shard->forwarded != kernel_tick))
		twheel_shard_forward(shard);
	shard->added++;
	twheel_timer_enqueue(shard, timer, timer->node.expires, tick, twheel_shard_is_wall(shard),
			     false);
}

/*
 * A mode of twheel_timer_rearm_exact(): the timer was added without a deadline, and not re-armed
 * since. It has had the exact deadline from the beginning.
 */
#define TWHEEL_REARM_IF_UNARMED	((enum twheel_rearm)64)

/* When a timer expires, and its tick */
struct twheel_expiry {
	u64	expires;
	u64	tick;
};

struct twheel_expiry twheel_timer_prepare(struct twheel_shard *shard, u64 deadline, u64 slack_ns);
bool twheel_timer_rearm_near(struct twheel_shard *shard, struct twheel_timer *timer, u64 deadline);
int twheel_timer_rearm_exact(struct twheel_timer *timer, u64 deadline, u64 slack_ns,
			     enum twheel_rearm mode, u64 *exact);
int twheel_timer_block(struct twheel_timer *timer, unsigned int *blocked);
void twheel_timer_unblock(struct twheel_timer *timer, unsigned int *blocked,
			  void (*fn)(struct twheel_timer *timer));
bool twheel_runs_functions(struct twheel *wheel);

#endif /* _TWHEEL_CORE_TIMER_H */
