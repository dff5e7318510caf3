// SPDX-License-Identifier: GPL-2.0
/*
 * Expiry: a turn of a shard, in which its reaper runs the callbacks of timers.
 *
 * There is no periodic tick: without due timers nothing runs. Due timers are taken in batches, see
 * &struct twheel_due: a batch is a tick, so lateness is counted once for each. When the batch is
 * empty, the reaper expires the next bucket.
 *
 * The reaper is one thread, so a shard runs one callback at a time. The lock is never held during a
 * callback, and for at most TWHEEL_CHUNK items at a time: nodes, looks at due cells, and buckets,
 * emptied ones included. A turn calls at most a chunk of timers.
 *
 * A reaper has normal priority, also on PREEMPT_RT. It shares its CPU fairly while a million timers
 * fire, and may have to wait for it. chrt(1) changes that for one machine.
 */
#include <linux/bug.h>
#include <linux/export.h>
#include <linux/jiffies.h>
#include <linux/kernel.h>
#include <linux/ktime.h>
#include <linux/lockdep.h>
#include <linux/moduleparam.h>
#include <linux/preempt.h>
#include <linux/sched.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>
#include <trace/events/twheel.h>

#include "callback.h"
#include "cell.h"
#include "shard.h"
#include "timer.h"

static unsigned long slow_ns = NSEC_PER_MSEC;
module_param(slow_ns, ulong, 0644);
MODULE_PARM_DESC(slow_ns, "count and trace callbacks that take at least this long in ns (default 1000000)");

/**
 * twheel_timer_error - check whether a change of the clock cancelled a timer
 * @timer: the timer
 *
 * Context: the callback of the timer.
 * Return: 0 if the deadline has passed; -ECANCELED if a change of the clock has cancelled the
 * timer, see TWHEEL_TIMER_CANCEL_ON_SET.
 */
int twheel_timer_error(const struct twheel_timer *timer)
{
	/* It does not leave its shard while its callback runs. */
	const struct twheel_shard *shard = twheel_timer_shard(timer);

	return twheel_shard_is_wall(shard) && shard->wall.cancelled ? -ECANCELED : 0;
}
EXPORT_SYMBOL_GPL(twheel_timer_error);

/* Out of line: lockdep compares the address of the name. */
void twheel_callback_init_map(struct lockdep_map *map, unsigned long class)
{
	struct lock_class_key *key = (struct lock_class_key *)class;

#if defined(CONFIG_LOCKDEP) && !defined(MODULE)
	/* Lockdep takes any address in a module as a key, but none in the text of the kernel. */
	if (core_kernel_text(class))
		key = &__lockdep_no_validate__;
#endif
	lockdep_init_map(map, "twheel_callback", key, 0);
}

/* A callback has returned with further locks or another preempt count. */
void twheel_callback_leaked(struct twheel_callback callback, unsigned long class)
{
	WARN_ONCE(lockdep_depth(current) > callback.locks, "twheel: %ps leaks a lock\n",
		  (void *)class);
	if (preempt_count() == callback.preempt_count)
		return;
	WARN_ONCE(1, "twheel: %ps preempt leak: %08x -> %08x\n", (void *)class,
		  callback.preempt_count, preempt_count());
	/* A spinlock may still be held, but the reaper can continue. */
	preempt_count_set(callback.preempt_count);
}

/**
 * struct turn - a turn of a shard
 * @now: its time, by twheel_shard_now()
 * @moves: limit on moved nodes, buckets and looks at cells
 * @counted: number of callbacks whose lateness has been counted
 * @begin: time at which the tick of the kernel was last seen to pass
 * @tick: that tick, see turn_tick()
 */
struct turn {
	u64		now;
	unsigned int	moves;
	u64		counted;
	u64		begin;
	unsigned long	tick;
};

/* The callbacks since the last call were of one tick. */
static void turn_count_late(struct twheel_shard *shard, struct turn *turn)
{
	u64 late, nr = shard->fired - turn->counted;

	turn->counted = shard->fired;
	if (!nr || shard->queue.tick == TWHEEL_TICK_NEVER)
		return;
	late = turn->now - shard->queue.tick;
	twheel_shard_count_late(shard, nr, late * shard->tick_ns, late);
}

/* The batch is empty: take the next one. Return: a due timer, or NULL. */
static noinline struct twheel_node *turn_advance(struct twheel_shard *shard, struct turn *turn)
{
	shard->expired = 0;
	if (twheel_shard_is_wall(shard))
		return twheel_wall_pop(shard);
	turn_count_late(shard, turn);
	twheel_queue_advance(&shard->queue, turn->now, &turn->moves);
	return twheel_due_pop(&shard->due);
}

/* The tick to compare with after a callback; one that has passed with slow_ns=0. */
static unsigned long turn_tick(void)
{
	return READ_ONCE(slow_ns) ? jiffies : jiffies - 1;
}

/*
 * Long callbacks are found by the tick, as workqueues find CPU-intensive work: to read a
 * clock takes as long as most callbacks. With slow_ns=0 every callback is reported.
 */
static noinline void turn_time(struct twheel_shard *shard, const struct twheel_timer *timer,
			       void (*fn)(struct twheel_timer *timer), struct turn *turn)
{
	unsigned long limit = READ_ONCE(slow_ns);
	u64 end = ktime_get_mono_fast_ns();

	shard->expired = 0;
	turn->tick = turn_tick();
	if ((s64)(end - turn->begin) >= (s64)limit) {
		shard->slow++;
		trace_twheel_timer_slow(timer, fn, end - turn->begin);
	}
	turn->begin = end;
}

/*
 * Run the callbacks of at most a chunk of due timers, so that timers that are armed for the past
 * again and again do not starve others. The caller reschedules in between. Return: true if the
 * shard needs another turn.
 */
static bool shard_expire(struct twheel_shard *shard)
	__must_hold(&shard->lock)
{
	struct turn turn = {
		.now = twheel_shard_now(shard), .moves = TWHEEL_CHUNK, .counted = shard->fired,
		.begin = ktime_get_mono_fast_ns(), .tick = turn_tick(),
	};
	void (*fn)(struct twheel_timer *timer);
	unsigned int calls = TWHEEL_CHUNK;
	unsigned long kernel_tick;
	struct twheel_callback callback;
	struct twheel_timer *timer;
	struct twheel_node *node;

	shard->expired = 0;
	do {
		node = twheel_due_pop(&shard->due);
		if (!node)
			node = turn_advance(shard, &turn);
		if (!node)
			break;
		timer = container_of(node, struct twheel_timer, node);
		if (unlikely(READ_ONCE(timer->shard_flags) & TWHEEL_TIMER_CELL) &&
		    !twheel_cell_expire(shard, timer)) {
			/* It keeps the lock, so it is an item like a move. */
			if (turn.moves <= 1)
				break;
			turn.moves--;
			continue;
		}
		fn = timer->fn;
		debug_object_deactivate(timer, &twheel_timer_descr);
		trace_twheel_timer_fire(timer, shard);
		shard->fired++;
		shard->running = timer;
		spin_unlock_irq(&shard->lock);

		/* It may free the timer. */
		twheel_callback_begin(&callback, (unsigned long)fn);
		fn(timer);
		twheel_callback_end(&callback, (unsigned long)fn);

		spin_lock_irq(&shard->lock);
		shard->running = NULL;
		if (unlikely(shard->checks & TWHEEL_CHECK_WAITED)) {
			shard->checks &= ~(TWHEEL_CHECK_WAITED | TWHEEL_CHECK_CANCEL);
			wake_up_all(&shard->idle);
		}
		kernel_tick = jiffies;
		if (unlikely(turn.tick != kernel_tick))
			turn_time(shard, timer, fn, &turn);
	} while (--calls && !need_resched());
	if (twheel_shard_is_wall(shard))
		return twheel_wall_next(&shard->wall) <= turn.now;
	turn_count_late(shard, &turn);
	/* With due timers the wheel may be ahead of the turn. */
	return twheel_due_ready(&shard->due) || twheel_queue_first(&shard->queue) <= turn.now;
}

/* Allocate a level that an add could not. A node that is still too far marks the wheel again. */
static void shard_add_level(struct twheel_shard *shard)
	__must_hold(&shard->lock)
{
	const struct twheel_wheel *wheel = &shard->queue.wheel;
	u64 beyond = wheel->now + wheel->slots * wheel->span[wheel->nr_levels - 1];

	spin_unlock_irq(&shard->lock);
	twheel_shard_add_levels(shard, beyond);
	spin_lock_irq(&shard->lock);
}

/* A turn of a shard. Return: true if work is left; otherwise the shard is asleep. */
bool twheel_shard_serve(struct twheel_shard *shard)
{
	bool more;

	set_active_memcg(shard->memcg);
	spin_lock_irq(&shard->lock);
	if (shard->woken || shard->asleep) {
		trace_twheel_reaper_wake(shard->number,
					 twheel_shard_is_wall(shard) ? 0 : shard->queue.wheel.now,
					 twheel_shard_pending(shard));
		shard->wakeups++;
	}
	shard->woken = false;
	shard->asleep = false;
	if (!twheel_shard_is_wall(shard) && shard->queue.wheel.lacks_level)
		shard_add_level(shard);
	more = shard_expire(shard);
	if (!more)
		shard->asleep = true;
	if (!more || twheel_shard_is_wall(shard))
		twheel_shard_arm_next(shard);
	if (twheel_shard_is_wall(shard))
		twheel_wall_unwatch(shard);
	spin_unlock_irq(&shard->lock);
	/* The thread serves others, and its exit may allocate after the cgroup was put. */
	set_active_memcg(NULL);
	return more;
}
