// SPDX-License-Identifier: GPL-2.0
/*
 * Changes of CLOCK_REALTIME.
 *
 *
 * Noticing a step
 * ---------------
 *
 * While there are timers of CLOCK_REALTIME, the timekeeping core calls wall_notify() at each
 * tick and whenever a clock is set, in the write section of its seqcount. In this section a
 * notifier must neither call ktime_get() nor wake a task. It records the new offset from
 * CLOCK_MONOTONIC, the time that the clock had reached by the old one, and the number of the
 * step, in a seqcount of our own:
 *
 *	CPU that sets the clock                adding CPU
 *	-----------------------                ----------
 *	begin the write section of the
 *	timekeeper                             lock the shard
 *	  begin our write section              read CLOCK_MONOTONIC
 *	  offset = new, generation++           read offset and generation; if the latter is
 *	  end our write section                new, begin the step
 *	end the write section                  add the timer
 *	interrupt, work: twheel_shard_set()    unlock
 *	on each shard
 *
 * So a shard never uses a new offset with an old generation. The sum of a time of
 * CLOCK_MONOTONIC and an offset that is read later is never ahead of CLOCK_REALTIME. Each
 * function that relies on the tick of the wheel compares the generation first, see
 * twheel_shard_look(); the work item visits the shards that nobody uses, and leaves the work of a
 * step to the turns of each shard.
 *
 * The first add to an idle shard registers the notifier, see shard_watch() in shard.c. This takes
 * no more than raw spinlocks, so the add does it itself, and no step is missed in between. Every
 * ten seconds wall_unwatch() looks for shards that have become idle. If all have, it unregisters
 * the notifier. The work is deferrable: it does not wake an idle CPU, which calls no notifier
 * either.
 *
 *
 * What a step does
 * ----------------
 *
 *	timers					after a step
 *	------					------------
 *	due by the old time			fire, with error 0
 *	others with a clock_timer		fire with the error -ECANCELED
 *	others					stay in their buckets
 *
 * 'Due by the old time' goes by the time of the step, not by the time at which it is noticed, and
 * by exact deadlines, not by ticks: otherwise a timer whose deadline lies in the current tick
 * would wait again for a clock that has already shown it.
 *
 * twheel_steps_run() does this in chunks, while @stepping is set:
 *
 *  1. Nodes that an earlier step has left on @placing are placed.
 *  2. Both queues advance to the tick of the old time, in common, so that earlier ticks become
 *     due first.
 *  3. In the next tick, nodes with a deadline up to the old time become due. The rest goes to
 *     @added; of @on_set everything that is left goes to @cancelled.
 *  4. The wheels go back to the time that was set, before the nodes on @added. These move to
 *     @placing.
 *
 * If several steps are noticed at once, the first one cancels, and for the other timers the latest
 * time counts that the clock has shown.
 *
 * Usually no bucket has expired at the time of the step, and after a look at the first bucket
 * the step is complete. Otherwise a new timer cannot be placed, since the wheels are still at
 * the old time: it goes to @added, too. A step during another one extends it. It does not
 * examine the ordinary timers on @added: such a timer, if its deadline passes before it is
 * placed, follows a clock that is set back again in this moment.
 *
 * A timer that a step cancels is embedded in a struct twheel_clock_timer, with the generation at
 * which it was armed. A re-arm that finds another generation is refused.
 */
#include <linux/clocksource.h>
#include <linux/irq_work.h>
#include <linux/jiffies.h>
#include <linux/ktime.h>
#include <linux/minmax.h>
#include <linux/mutex.h>
#include <linux/notifier.h>
#include <linux/pvclock_gtod.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <linux/timekeeper_internal.h>
#include <linux/workqueue.h>

#include "../compat.h"
#include "step.h"
#include "twheel.h"

struct twheel_wall twheel_wall = { .seq = SEQCNT_ZERO(twheel_wall.seq) };
EXPORT_SYMBOL_IF_KUNIT(twheel_wall);

/* Interval of the search for idle shards. */
#define UNWATCH_INTERVAL	(10 * HZ)

/* Number of shards of CLOCK_REALTIME that notice steps; protected by watch_lock. */
static unsigned int nr_watching;
static DEFINE_RAW_SPINLOCK(watch_lock);

/* Call a function for each shard of CLOCK_REALTIME. */
static void wall_visit(void (*visit)(struct twheel_shard *shard))
{
	struct twheel *wheel;
	unsigned int i;

	mutex_lock(&twheel_wheels_lock);
	list_for_each_entry(wheel, &twheel_wheels, registered) {
		if (wheel->clock != TWHEEL_CLOCK_REALTIME)
			continue;
		for (i = 0; i < wheel->nr_shards; i++) {
			visit(&wheel->shard[i]);
			cond_resched();
		}
	}
	mutex_unlock(&twheel_wheels_lock);
}

/* Only a chunk: the timers of one user must not delay those of another one. */
static void shard_was_set(struct twheel_shard *shard)
{
	twheel_shard_set(shard);
}

static void wall_was_set(struct work_struct *work)
{
	wall_visit(shard_was_set);
}

static DECLARE_WORK(wall_work, wall_was_set);

/* Call twheel_shard_set() for each shard of CLOCK_REALTIME in a work item. */
void twheel_wall_check_later(void)
{
	queue_work(system_highpri_wq, &wall_work);
}

static void wall_interrupt(struct irq_work *work)
{
	twheel_wall_check_later();
}

static DEFINE_IRQ_WORK(wall_irq_work, wall_interrupt);

/*
 * CLOCK_MONOTONIC, in the write section of the timekeeper. The core has accumulated the time
 * before it sets the clock, but for a leap second only up to the last cycle interval.
 */
static u64 timekeeper_ns(const struct timekeeper *timekeeper)
{
	const struct tk_read_base *base = &timekeeper->tkr_mono;
	struct clocksource *clock = READ_ONCE(base->clock);
	u64 cycles = (clock->read(clock) - base->cycle_last) & base->mask;

	/* As the core does, ignore a clocksource that is slightly behind. */
	if (cycles > base->mask >> 1)
		cycles = 0;
	return ktime_to_ns(base->base) +
	       ((cycles * base->mult + base->xtime_nsec) >> base->shift);
}

/*
 * Serialised by the lock of the timekeeping core. @was_set is also true for changes that leave
 * the offset of CLOCK_REALTIME as it is.
 */
static int wall_notify(struct notifier_block *nb, unsigned long was_set, void *data)
{
	const struct timekeeper *timekeeper = data;
	s64 offset = ktime_to_ns(timekeeper->offs_real), old = twheel_wall.offset;
	u32 generation = twheel_wall.generation + 1;

	if (!was_set || offset == old)
		return NOTIFY_DONE;
	write_seqcount_begin(&twheel_wall.seq);
	WRITE_ONCE(twheel_wall.reached[generation % TWHEEL_WALL_STEPS],
		   timekeeper_ns(timekeeper) + old);
	if (offset < old)
		WRITE_ONCE(twheel_wall.back, generation);
	WRITE_ONCE(twheel_wall.offset, offset);
	WRITE_ONCE(twheel_wall.generation, generation);
	write_seqcount_end(&twheel_wall.seq);
	irq_work_queue(&wall_irq_work);
	return NOTIFY_DONE;
}

static struct notifier_block wall_notifier = {
	.notifier_call = wall_notify,
};

/*
 * What the clock had reached before the steps after @from, up to @to: before the last of them, if
 * they are more than TWHEEL_WALL_STEPS. Whether one of them went back is always known.
 */
void twheel_wall_passed(u32 from, u32 to, struct twheel_passed *passed)
{
	u32 known = to - from > TWHEEL_WALL_STEPS ? to - TWHEEL_WALL_STEPS : from;
	unsigned int seq;
	u32 generation;
	u64 reached;

	do {
		seq = read_seqcount_begin(&twheel_wall.seq);
		passed->latest = 0;
		for (generation = to; generation != known; generation--) {
			reached = READ_ONCE(twheel_wall.reached[generation % TWHEEL_WALL_STEPS]);
			passed->first = reached;
			passed->latest = max(passed->latest, reached);
		}
		passed->back = (s32)(READ_ONCE(twheel_wall.back) - from) > 0;
	} while (read_seqcount_retry(&twheel_wall.seq, seq));
}

static void wall_unwatch(struct work_struct *work);

static DECLARE_DEFERRABLE_WORK(unwatch_work, wall_unwatch);

/* A shard begins to notice steps. In any context, also with the lock of the shard held. */
void twheel_wall_get(void)
{
	unsigned long flags;

	raw_spin_lock_irqsave(&watch_lock, flags);
	nr_watching++;
	if (!twheel_wall.watched) {
		/* The registration calls the notifier. */
		pvclock_gtod_register_notifier(&wall_notifier);
		/* Pairs with the acquire in twheel_wall_generation(). */
		smp_store_release(&twheel_wall.watched, true);
		schedule_delayed_work(&unwatch_work, UNWATCH_INTERVAL);
	}
	raw_spin_unlock_irqrestore(&watch_lock, flags);
}

/* A shard notices no steps any more. The notifier stays for a while. */
void twheel_wall_put(void)
{
	unsigned long flags;

	raw_spin_lock_irqsave(&watch_lock, flags);
	nr_watching--;
	raw_spin_unlock_irqrestore(&watch_lock, flags);
}

static void wall_unregister(void)
{
	pvclock_gtod_unregister_notifier(&wall_notifier);
	WRITE_ONCE(twheel_wall.watched, false);
}

static void wall_unwatch(struct work_struct *work)
{
	wall_visit(twheel_shard_unwatch);
	raw_spin_lock_irq(&watch_lock);
	if (nr_watching)
		schedule_delayed_work(&unwatch_work, UNWATCH_INTERVAL);
	else
		wall_unregister();
	raw_spin_unlock_irq(&watch_lock);
}

/* All wheels have been destroyed. */
void twheel_wall_exit(void)
{
	cancel_delayed_work_sync(&unwatch_work);
	if (twheel_wall.watched)
		wall_unregister();
	irq_work_sync(&wall_irq_work);
	cancel_work_sync(&wall_work);
}

/* Initialise the state of a base with an initialised queue: 0 or -ENOMEM. */
int twheel_steps_init(struct twheel_base *base, gfp_t gfp)
{
	const struct twheel_wheel *wheel = &base->queue.wheel;
	struct twheel_steps *steps = kzalloc(sizeof(*steps), gfp);

	if (!steps)
		return -ENOMEM;
	twheel_queue_init(&steps->on_set, wheel->slots, wheel->tick_ns, wheel->now);
	INIT_LIST_HEAD(&steps->placing);
	INIT_LIST_HEAD(&steps->added);
	INIT_LIST_HEAD(&steps->added_on_set);
	INIT_LIST_HEAD(&steps->cancelled);
	base->steps = steps;
	base->queue.wheel.rewinds = true;
	return 0;
}
EXPORT_SYMBOL_IF_KUNIT(twheel_steps_init);

/* Free the state of an empty base. */
void twheel_steps_destroy(struct twheel_base *base)
{
	if (!base->steps)
		return;
	twheel_queue_destroy(&base->steps->on_set);
	kfree(base->steps);
	base->steps = NULL;
}
EXPORT_SYMBOL_IF_KUNIT(twheel_steps_destroy);

/*
 * twheel_queue_advance(), but not to an old time for a wheel without levels, that of an inline base
 * without timers so far. It stays at the present time, so that an add still finds out whether it
 * needs a level.
 */
static void queue_expire(const struct twheel_steps *steps, struct twheel_queue *queue, u64 now,
			 unsigned int *budget)
{
	if (queue->wheel.nr_levels || !steps->stepping)
		twheel_queue_advance(queue, now, budget);
}

/*
 * Advance both queues of a base, in common: an earlier tick becomes due first. Returns true if no
 * expired bucket is left.
 */
static bool steps_expire(struct twheel_base *base, u64 now, unsigned int *budget)
{
	struct twheel_steps *steps = base->steps;
	struct twheel_queue *queue = &base->queue, *on_set = &steps->on_set;
	u64 until;

	do {
		until = min(now, twheel_queue_first(on_set));
		queue_expire(steps, queue, until, budget);
		if (twheel_queue_first(queue) <= until)
			return false;
		queue_expire(steps, on_set, until, budget);
		list_splice_tail_init(&on_set->due, &queue->due);
		if (twheel_queue_first(on_set) <= until)
			return false;
	} while (until < now);
	return true;
}

/* Empty the buckets up to a tick: nodes become due up to @passed, others go to @rest. */
static bool steps_empty(struct twheel_base *base, struct twheel_queue *queue, u64 until,
			u64 passed, struct list_head *rest, unsigned int *budget)
{
	struct twheel_node *node;

	while (twheel_queue_first(queue) <= until) {
		if (!*budget)
			return false;
		--*budget;
		twheel_queue_empty_first(queue, until, &node);
		if (!node)
			continue;
		list_add_tail(&node->entry, node->expires <= passed ? &base->queue.due : rest);
	}
	return true;
}

/* The first tick that begins after a time. */
static u64 tick_after(const struct twheel_queue *queue, u64 ns)
{
	return twheel_wheel_tick(&queue->wheel, ns + 1);
}

/* The queue that a timer belongs to. */
static struct twheel_queue *steps_queue(struct twheel_base *base, const struct twheel_timer *timer)
{
	if (twheel_timer_flags(timer) & TWHEEL_TIMER_CANCEL_ON_SET)
		return &base->steps->on_set;
	return &base->queue;
}

/* Place nodes by the time of the wheels. Returns true if none is left. */
static bool steps_place(struct twheel_base *base, unsigned int *budget)
{
	struct twheel_steps *steps = base->steps;
	struct twheel_timer *timer, *next;
	struct twheel_queue *queue;

	list_for_each_entry_safe(timer, next, &steps->placing, node.entry) {
		if (!*budget)
			break;
		--*budget;
		queue = steps_queue(base, timer);
		list_del(&timer->node.entry);
		twheel_queue_place(queue, &timer->node,
				   twheel_wheel_tick(&queue->wheel, timer->node.expires));
	}
	list_splice_tail_init(&steps->on_set.due, &base->queue.due);
	return list_empty(&steps->placing);
}

/* Steps 1 to 4 above, but for the last placing. Returns true at the end. */
static bool steps_catch_up(struct twheel_base *base, unsigned int *budget)
{
	struct twheel_steps *steps = base->steps;
	struct twheel_queue *queue = &base->queue;
	u64 tick = tick_after(queue, steps->passed.first);

	if (!steps_place(base, budget) ||
	    !steps_expire(base, tick - 1, budget) ||
	    !steps_empty(base, &steps->on_set, TWHEEL_TICK_NEVER - 1, steps->passed.first,
			 &steps->cancelled, budget))
		return false;
	tick = tick_after(queue, steps->passed.latest);
	queue_expire(steps, queue, tick - 1, budget);
	if (twheel_queue_first(queue) < tick)
		return false;
	if (steps->passed.back &&
	    !steps_empty(base, queue, tick, steps->passed.latest, &steps->added, budget))
		return false;
	/* Not to the present tick, which may have passed nodes on @added. */
	twheel_queue_rewind(queue, steps->now);
	twheel_queue_rewind(&steps->on_set, steps->now);
	list_splice_init(&steps->added, &steps->placing);
	list_splice_tail_init(&steps->added_on_set, &steps->placing);
	steps->stepping = false;
	return true;
}

/*
 * The clock was set; @now is the current tick. In O(1); the rest is left to twheel_steps_run().
 */
void twheel_steps_begin(struct twheel_base *base, const struct twheel_passed *passed, u64 now)
{
	struct twheel_steps *steps = base->steps;
	unsigned int budget = 0;

	list_splice_tail_init(&steps->on_set.never, &steps->cancelled);
	list_splice_tail_init(&steps->added_on_set, &steps->cancelled);
	if (!passed->back && !steps->stepping && list_empty(&steps->placing) &&
	    twheel_queue_first(&steps->on_set) == TWHEEL_TICK_NEVER)
		return;
	if (steps->stepping) {
		steps->passed.latest = max(steps->passed.latest, passed->latest);
		steps->passed.back |= passed->back;
		steps->now = min(steps->now, now);
	} else {
		steps->passed = *passed;
		steps->now = now;
	}
	steps->stepping = true;
	if (!base->queue.wheel.nr_levels)
		twheel_queue_rewind(&base->queue, now);
	if (!steps->on_set.wheel.nr_levels)
		twheel_queue_rewind(&steps->on_set, now);
	steps_catch_up(base, &budget);
}
EXPORT_SYMBOL_IF_KUNIT(twheel_steps_begin);

/* Mark cancelled timers, and make them due behind the due ones. */
static void steps_mark(struct twheel_base *base, unsigned int *budget)
{
	struct twheel_timer *timer, *next;

	list_for_each_entry_safe(timer, next, &base->steps->cancelled, node.entry) {
		if (!*budget)
			return;
		--*budget;
		WRITE_ONCE(timer->shard_flags, timer->shard_flags | TWHEEL_TIMER_WAS_SET);
		list_move_tail(&timer->node.entry, &base->queue.due);
	}
}

/**
 * twheel_steps_run - do a part of the work that a step has left
 * @base: a base of CLOCK_REALTIME
 * @budget: limit on nodes and buckets; decremented
 *
 * Return: true if work is left.
 */
bool twheel_steps_run(struct twheel_base *base, unsigned int *budget)
{
	struct twheel_steps *steps = base->steps;

	if (steps->stepping && !steps_catch_up(base, budget))
		return true;
	steps_mark(base, budget);
	steps_place(base, budget);
	return twheel_steps_busy(steps);
}
EXPORT_SYMBOL_IF_KUNIT(twheel_steps_run);

/*
 * twheel_queue_advance() for a base of CLOCK_REALTIME. The wheels must not pass a node that is not
 * placed yet: it would be due in the order of its list.
 */
bool twheel_steps_advance(struct twheel_base *base, u64 now, unsigned int *budget)
{
	if (unlikely(twheel_steps_busy(base->steps)) && twheel_steps_run(base, budget))
		return true;
	return !steps_expire(base, now, budget) || twheel_queue_ready(&base->queue);
}
EXPORT_SYMBOL_IF_KUNIT(twheel_steps_advance);

/*
 * twheel_queue_forward() for a base of CLOCK_REALTIME, for both queues in common: if one were to
 * pass an expired bucket of the other, or a node on @placing, a timer added to it would be due at
 * once, before those. Before the nodes on @added are placed, the wheels go back.
 */
void twheel_steps_forward(struct twheel_base *base, u64 now)
{
	struct twheel_steps *steps = base->steps;

	if (unlikely(!list_empty(&steps->placing)))
		return;
	now = min3(now, twheel_queue_first(&base->queue) - 1,
		   twheel_queue_first(&steps->on_set) - 1);
	twheel_queue_forward(&steps->on_set, now);
	twheel_queue_forward(&base->queue, now);
}
EXPORT_SYMBOL_IF_KUNIT(twheel_steps_forward);

/* twheel_queue_add() for a base of CLOCK_REALTIME. */
u64 twheel_steps_add(struct twheel_base *base, struct twheel_timer *timer, u64 tick)
{
	struct twheel_steps *steps = base->steps;
	struct twheel_queue *queue = steps_queue(base, timer);
	bool cancelled = queue == &steps->on_set;
	u64 next = TWHEEL_TICK_NEVER;

	base->queue.nr_nodes++;
	if (tick == TWHEEL_TICK_NEVER) {
		list_add_tail(&timer->node.entry, &queue->never);
	} else if (unlikely(steps->stepping) && queue->wheel.nr_levels) {
		list_add_tail(&timer->node.entry,
			      cancelled ? &steps->added_on_set : &steps->added);
	} else {
		next = twheel_queue_place(queue, &timer->node, tick);
		/* The caller expects the tick of the queue of the base for a due timer. */
		if (cancelled && twheel_queue_ready(queue)) {
			list_splice_tail_init(&queue->due, &base->queue.due);
			next = base->queue.wheel.now;
		}
	}
	return next;
}
EXPORT_SYMBOL_IF_KUNIT(twheel_steps_add);

/* twheel_queue_take() for a base of CLOCK_REALTIME. */
bool twheel_steps_take(struct twheel_base *base, struct twheel_node **node)
{
	struct twheel_steps *steps = base->steps;
	struct list_head *from = &steps->cancelled;

	/* The reaper, which goes on, takes the nodes on @cancelled for cancelled by a step. */
	if (!list_empty(&steps->placing))
		from = &steps->placing;
	else if (!list_empty(&steps->added))
		from = &steps->added;
	else if (!list_empty(&steps->added_on_set))
		from = &steps->added_on_set;
	*node = list_first_entry_or_null(from, struct twheel_node, entry);
	if (!*node)
		return twheel_queue_take(&steps->on_set, node);
	list_del_init(&(*node)->entry);
	return true;
}
EXPORT_SYMBOL_IF_KUNIT(twheel_steps_take);
