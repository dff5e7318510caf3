// SPDX-License-Identifier: GPL-2.0
/*
 * Timers of CLOCK_REALTIME.
 *
 * They are not on a wheel. An rbtree per shard has them in the order of their exact deadlines, and
 * the alarm of the shard, an hrtimer of CLOCK_REALTIME, expires with the first one. The hrtimers of
 * the kernel follow a clock that is set, in both directions, and so do these timers: as with
 * timerfd, nothing is moved.
 *
 *	alarm		takes up to a chunk of timers whose deadlines have come, wakes the reaper
 *	reaper		calls them, and takes further chunks until none is left
 *
 * The alarm is armed while the reaper is busy, too: a late reaper takes no timer back.
 *
 * What one of them has taken fires, whatever the clock does later. All other timers are judged by
 * the clock as it is set. A timer whose deadline had passed when it was added is taken at once, and
 * so is one that a change of the clock cancels while it is re-armed.
 *
 * Cancel on set
 * -------------
 *
 * A timer with TWHEEL_TIMER_CANCEL_ON_SET is due, with an error, when the clock is set after it was
 * armed. A snapshot of the clock numbers the changes, and a timer has the number of its arming. So
 * a change that is undone at once counts, and a timer that was armed after the last change stays,
 * however late that is noticed. The number also counts changes of the clock's source and of the
 * offset of TAI.
 *
 *	CPU that sets the clock		work item		reaper
 *	-----------------------		---------		------
 *	notifier: irq_work
 *					for each reaper with
 *					such timers: mark its
 *					owners, wake it
 *								turns for each shard of
 *								each marked owner, which
 *								take them from @on_set
 *
 * The notifier of the timekeeping core is called in the write section of its seqcount, where no
 * clock can be read. It uses nothing but the argument that the clock was set. Marking is O(1) for
 * each owner on a reaper, see twheel_turns_check(): so owners do not wait for each other, however
 * many shards they have.
 */
#include <linux/irq_work.h>
#include <linux/ktime.h>
#include <linux/lockdep.h>
#include <linux/minmax.h>
#include <linux/notifier.h>
#include <linux/pvclock_gtod.h>
#include <linux/timekeeping.h>
#include <linux/workqueue.h>

#include "../compat.h"
#include "shard.h"
#include "twheel.h"
#include "wall.h"

static u64 wall_expires(const struct rb_node *queued)
{
	return rb_entry(queued, struct twheel_wall_timer, part.queued)->timer.node.expires;
}

static bool wall_before(struct rb_node *a, const struct rb_node *b)
{
	return wall_expires(a) < wall_expires(b);
}

/* The first timer in the tree, or NULL. */
static struct twheel_timer *tree_first(const struct twheel_wall *wall)
{
	struct rb_node *first = rb_first_cached(&wall->tree);

	return first ? &rb_entry(first, struct twheel_wall_timer, part.queued)->timer : NULL;
}

/* Its deadline, or TWHEEL_NEVER. */
u64 twheel_wall_first(const struct twheel_wall *wall)
{
	const struct twheel_timer *first = tree_first(wall);

	return first ? first->node.expires : TWHEEL_NEVER;
}

/* The time, and the number of changes of the clock so far. */
static u64 wall_now(u32 *changes)
{
	struct system_time_snapshot now;

	twheel_clock_snapshot(&now);
	*changes = now.clock_was_set_seq;
	return ktime_to_ns(now.TWHEEL_SNAPSHOT_TIME);
}

static bool wall_is_on_set(const struct twheel_timer *timer)
{
	return twheel_timer_flags(timer) & TWHEEL_TIMER_CANCEL_ON_SET;
}

/* Whether the clock was set since a pending timer was armed, and this cancels the timer. */
bool twheel_wall_was_set(struct twheel_timer *timer)
{
	const struct twheel_wall_part *part = &twheel_wall_timer(timer)->part;
	u32 changes;

	if (!wall_is_on_set(timer))
		return false;
	wall_now(&changes);
	return part->cancelled || part->changes != changes;
}

/* The lists that stay in order. */

static void fifo_add(struct twheel_fifo *fifo, struct twheel_timer *timer)
{
	struct hlist_node *entry = &timer->node.entry;

	if (hlist_empty(&fifo->list))
		hlist_add_head(entry, &fifo->list);
	else
		hlist_add_behind(entry, fifo->last);
	fifo->last = entry;
}

/* An entry is about to leave its list, perhaps this one. */
static void fifo_leave(struct twheel_fifo *fifo, struct hlist_node *entry)
{
	if (fifo->last == entry)
		fifo->last = container_of(entry->pprev, struct hlist_node, next);
}

static struct twheel_timer *fifo_first(const struct twheel_fifo *fifo)
{
	return hlist_entry_safe(fifo->list.first, struct twheel_timer, node.entry);
}

/*
 * Add a timer that is on no list, with its deadline set. In a @rearm, the clock may have been set
 * since twheel_wall_was_set(): the new deadline may be by the old clock, so this cancels the timer.
 * Return: 0 if it is due, or its deadline if it is the first one now, or TWHEEL_NEVER.
 */
u64 twheel_wall_add(struct twheel_shard *shard, struct twheel_timer *timer, bool rearm)
{
	struct twheel_wall_part *part = &twheel_wall_timer(timer)->part;
	struct twheel_wall *wall = &shard->wall;
	bool on_set = wall_is_on_set(timer);
	u32 armed = part->changes;

	lockdep_assert_held(&shard->lock);
	RB_CLEAR_NODE(&part->queued);
	if (on_set && !wall->watching) {
		twheel_turn_watch(shard, true);
		wall->watching = true;
	}
	/* After that: either this sees a change, or the work item sees the watcher. */
	part->past = timer->node.expires <= wall_now(&part->changes);
	part->cancelled = rearm && on_set && part->changes != armed;
	if (part->past || part->cancelled) {
		fifo_add(&wall->taken, timer);
		return 0;
	}
	if (on_set) {
		fifo_add(&wall->on_set, timer);
	} else {
		/* On no list, but it looks pending. */
		timer->node.entry.next = NULL;
		WRITE_ONCE(timer->node.entry.pprev, &timer->node.entry.next);
	}
	if (!rb_add_cached(&part->queued, &wall->tree, wall_before) ||
	    timer->node.expires > KTIME_MAX)
		return TWHEEL_NEVER;
	return timer->node.expires;
}

/*
 * Remove a pending timer from its list, and from the tree unless it is due. The caller adds it to
 * another list: it stays pending for those that look without the lock.
 */
static void wall_unlink(struct twheel_shard *shard, struct twheel_timer *timer)
{
	struct twheel_wall_part *part = &twheel_wall_timer(timer)->part;
	struct hlist_node *entry = &timer->node.entry;
	struct twheel_wall *wall = &shard->wall;

	lockdep_assert_held(&shard->lock);
	if (!RB_EMPTY_NODE(&part->queued)) {
		rb_erase_cached(&part->queued, &wall->tree);
		RB_CLEAR_NODE(&part->queued);
	}
	fifo_leave(&wall->taken, entry);
	fifo_leave(&wall->on_set, entry);
	__hlist_del(entry);
}

/* Remove a pending timer. */
void twheel_wall_del(struct twheel_shard *shard, struct twheel_timer *timer)
{
	wall_unlink(shard, timer);
	WRITE_ONCE(timer->node.entry.pprev, NULL);
}

/*
 * The first timer that a change of the clock cancels, or NULL. @on_set is in the order of arming,
 * so those that were armed after the last change are behind all others.
 */
static struct twheel_timer *wall_cancelled(const struct twheel_wall *wall)
{
	struct twheel_timer *timer = fifo_first(&wall->on_set);

	return timer && twheel_wall_timer(timer)->part.changes != wall->changes ? timer : NULL;
}

/*
 * Take up to @budget timers whose deadlines have come, and then those that a change of the clock
 * cancels. As with timerfd, it does not matter that the clock was set past a deadline. Return: the
 * time.
 */
u64 twheel_wall_expire(struct twheel_shard *shard, unsigned int budget)
{
	struct twheel_wall *wall = &shard->wall;
	u64 now = wall_now(&wall->changes);
	struct twheel_wall_part *part;
	struct twheel_timer *timer;

	lockdep_assert_held(&shard->lock);
	for (; budget; budget--) {
		timer = tree_first(wall);
		if (!timer || timer->node.expires > now)
			timer = wall_cancelled(wall);
		if (!timer)
			break;
		part = &twheel_wall_timer(timer)->part;
		part->cancelled = wall_is_on_set(timer) && part->changes != wall->changes;
		wall_unlink(shard, timer);
		fifo_add(&wall->taken, timer);
	}
	return now;
}

/*
 * Remove and return the next due timer, or NULL, and count its lateness. At most one timer is taken
 * for each that is removed: so those that a change of the clock cancels delay no other.
 */
struct twheel_node *twheel_wall_pop(struct twheel_shard *shard)
{
	struct twheel_wall *wall = &shard->wall;
	struct twheel_wall_part *part;
	struct twheel_timer *timer;
	u64 late, now;

	now = twheel_wall_expire(shard, 1);
	timer = fifo_first(&wall->taken);
	if (!timer)
		return NULL;
	twheel_wall_del(shard, timer);
	part = &twheel_wall_timer(timer)->part;
	/* The timer may be armed again while its callback runs. */
	wall->cancelled = part->cancelled;
	late = now - min(now, timer->node.expires);
	if (!part->past && !part->cancelled && part->changes == wall->changes)
		twheel_shard_count_late(shard, 1, late, twheel_tick_floor(shard, late));
	return &timer->node;
}

/* At the end of a turn: no timer is left that a change of the clock cancels. */
void twheel_wall_unwatch(struct twheel_shard *shard)
{
	struct twheel_wall *wall = &shard->wall;

	if (!wall->watching || !hlist_empty(&wall->on_set.list))
		return;
	wall->watching = false;
	twheel_turn_watch(shard, false);
}

/* The next time at which a timer is due; 0 if one is already. Past KTIME_MAX none is. */
u64 twheel_wall_next(const struct twheel_wall *wall)
{
	struct twheel_timer *on_set = fifo_first(&wall->on_set);

	if (!hlist_empty(&wall->taken.list) || (on_set && twheel_wall_was_set(on_set)))
		return 0;
	return twheel_wall_first(wall);
}

/* twheel_queue_take() for a shard of CLOCK_REALTIME. */
bool twheel_wall_take(struct twheel_shard *shard, struct twheel_node **node)
{
	struct twheel_timer *timer = fifo_first(&shard->wall.taken) ?: tree_first(&shard->wall);

	if (!timer)
		return false;
	twheel_wall_del(shard, timer);
	*node = &timer->node;
	return true;
}

static DECLARE_WORK(wall_work, twheel_turns_check);

static void wall_interrupt(struct irq_work *work)
{
	queue_work(system_highpri_wq, &wall_work);
}

static DEFINE_IRQ_WORK(wall_irq_work, wall_interrupt);

static int wall_notify(struct notifier_block *nb, unsigned long was_set, void *data)
{
	if (was_set)
		irq_work_queue(&wall_irq_work);
	return NOTIFY_DONE;
}

static struct notifier_block wall_notifier = {
	.notifier_call = wall_notify,
};

/* Protected by twheel_wheels_lock. */
static unsigned int nr_wheels;

/* A wheel of the clock was added to the list of wheels, or is removed from it. */
void twheel_wall_watch(int change)
{
	lockdep_assert_held(&twheel_wheels_lock);
	if (!nr_wheels)
		pvclock_gtod_register_notifier(&wall_notifier);
	nr_wheels += change;
	if (!nr_wheels)
		pvclock_gtod_unregister_notifier(&wall_notifier);
}

/* All wheels have been destroyed. */
void twheel_wall_exit(void)
{
	irq_work_sync(&wall_irq_work);
	cancel_work_sync(&wall_work);
}
