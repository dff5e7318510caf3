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
 * the clock as it is set. A timer whose deadline had passed when it was added is taken at once.
 *
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
 *								a turn for each shard of
 *								each marked owner: @on_set
 *								becomes @cancelled
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
#include <trace/events/twheel.h>

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

/* The deadline of the first timer in the tree; TWHEEL_NEVER if there is none. */
u64 twheel_wall_first(const struct twheel_wall *wall)
{
	struct rb_node *first = rb_first_cached(&wall->tree);

	return first ? wall_expires(first) : TWHEEL_NEVER;
}

void twheel_wall_init(struct twheel_wall *wall)
{
	wall->tree = RB_ROOT_CACHED;
	wall->changes = twheel_wall_changes();
}

static bool wall_is_on_set(const struct twheel_timer *timer)
{
	return twheel_timer_flags(timer) & TWHEEL_TIMER_CANCEL_ON_SET;
}

/* Whether the clock was set since a pending timer was armed, and this cancels the timer. */
bool twheel_wall_was_set(const struct twheel_timer *timer)
{
	const struct twheel_wall_timer *wall_timer =
		container_of(timer, struct twheel_wall_timer, timer);

	return wall_is_on_set(timer) && wall_timer->part.changes != twheel_wall_changes();
}

/* Add a timer that is on no list to the end of a list. */
static void list_append(struct hlist_head *list, struct hlist_node **last, struct hlist_node *entry)
{
	if (*last)
		hlist_add_behind(entry, *last);
	else
		hlist_add_head(entry, list);
	*last = entry;
}

/*
 * Add a timer that is on no list, with its deadline set. Return: 0 if it is due, or its deadline if
 * it is the first one now, or TWHEEL_NEVER.
 */
u64 twheel_wall_add(struct twheel_shard *shard, struct twheel_timer *timer)
{
	struct twheel_wall_part *part = &twheel_wall_timer(timer)->part;
	struct twheel_wall *wall = &shard->wall;
	bool on_set = wall_is_on_set(timer);

	lockdep_assert_held(&shard->lock);
	RB_CLEAR_NODE(&part->queued);
	if (on_set && !wall->watching) {
		twheel_turn_watch(shard, true);
		wall->watching = true;
	}
	/* After that: either this sees a change, or the work item sees the watcher. */
	part->changes = twheel_wall_changes();
	part->past = timer->node.expires <= ktime_get_real_ns();
	if (part->past) {
		list_append(&wall->taken, &wall->last, &timer->node.entry);
		return 0;
	}
	hlist_add_head(&timer->node.entry, on_set ? &wall->on_set : &wall->plain);
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
	if (wall->last == entry)
		wall->last = entry->pprev == &wall->taken.first ? NULL :
			     container_of(entry->pprev, struct hlist_node, next);
	__hlist_del(entry);
}

/* Remove a pending timer. */
void twheel_wall_del(struct twheel_shard *shard, struct twheel_timer *timer)
{
	wall_unlink(shard, timer);
	WRITE_ONCE(timer->node.entry.pprev, NULL);
}

/* Take timers whose deadlines have come. */
static void wall_take_expired(struct twheel_shard *shard, u64 now, unsigned int *budget)
{
	struct twheel_wall *wall = &shard->wall;
	u32 changes = wall->watching ? twheel_wall_changes() : 0;
	struct twheel_timer *timer;
	struct rb_node *first;

	while ((first = rb_first_cached(&wall->tree)) && wall_expires(first) <= now) {
		if (!*budget)
			return;
		--*budget;
		timer = &rb_entry(first, struct twheel_wall_timer, part.queued)->timer;
		wall_unlink(shard, timer);
		/* As with timerfd, it does not matter that the clock was set past the deadline. */
		if (wall_is_on_set(timer) && twheel_wall_timer(timer)->part.changes != changes)
			hlist_add_head(&timer->node.entry, &wall->cancelled);
		else
			list_append(&wall->taken, &wall->last, &timer->node.entry);
	}
}

/*
 * The alarm of a shard has expired. It takes a chunk of timers, and is armed again by the caller.
 * Return: true if timers are due.
 */
bool twheel_wall_alarm(struct twheel_shard *shard, u64 now)
{
	unsigned int budget = TWHEEL_CHUNK;

	wall_take_expired(shard, now, &budget);
	return !hlist_empty(&shard->wall.taken) || !hlist_empty(&shard->wall.cancelled);
}

/* Make a chunk of the taken timers the batch, and count their lateness. */
static bool wall_batch_taken(struct twheel_shard *shard, u64 now)
{
	struct twheel_wall *wall = &shard->wall;
	struct hlist_node *last = NULL;
	unsigned int nr = TWHEEL_CHUNK;
	struct twheel_wall_part *part;
	struct twheel_timer *timer;
	u64 late;

	while (nr-- && !hlist_empty(&wall->taken)) {
		timer = hlist_entry(wall->taken.first, struct twheel_timer, node.entry);
		late = now - min(now, timer->node.expires);
		wall_unlink(shard, timer);
		list_append(&wall->due.nodes, &last, &timer->node.entry);
		part = &twheel_wall_timer(timer)->part;
		if (!part->past && part->changes == wall->changes)
			twheel_shard_count_late(shard, 1, late, twheel_tick_floor(shard, late));
	}
	return last;
}

/* Make cancelled timers the batch; those that were armed after the last change go back. */
static bool wall_batch_cancelled(struct twheel_shard *shard, unsigned int *budget)
{
	struct twheel_wall *wall = &shard->wall;
	struct hlist_node *last = NULL;
	struct twheel_timer *timer;

	if (wall->noticed && hlist_empty(&wall->cancelled)) {
		twheel_nodes_move(&wall->on_set, &wall->cancelled);
		wall->noticed = false;
	}
	for (; *budget && !hlist_empty(&wall->cancelled); --*budget) {
		timer = hlist_entry(wall->cancelled.first, struct twheel_timer, node.entry);
		if (twheel_wall_timer(timer)->part.changes != wall->changes) {
			wall_unlink(shard, timer);
			list_append(&wall->due.nodes, &last, &timer->node.entry);
		} else {
			__hlist_del(&timer->node.entry);
			hlist_add_head(&timer->node.entry, &wall->on_set);
		}
	}
	return last;
}

static bool wall_has_cancelled(const struct twheel_wall *wall)
{
	return !hlist_empty(&wall->cancelled) || (wall->noticed && !hlist_empty(&wall->on_set));
}

/* Make timers the batch unless there is one. @budget: limit on moved timers; decremented. */
void twheel_wall_advance(struct twheel_shard *shard, unsigned int *budget)
{
	struct twheel_wall *wall = &shard->wall;
	u32 changes;
	u64 now;

	lockdep_assert_held(&shard->lock);
	if (!hlist_empty(&wall->due.nodes))
		return;
	now = ktime_get_real_ns();
	changes = twheel_wall_changes();
	if (unlikely(changes != wall->changes)) {
		wall->changes = changes;
		wall->noticed = !hlist_empty(&wall->on_set);
		trace_twheel_clock_set(shard->number);
	}
	wall->batch_on_set = false;
	/* Batches of both kinds in turn, so that neither starves the other. */
	wall->turn_of_taken = !wall->turn_of_taken;
	if (wall->turn_of_taken && wall_batch_taken(shard, now))
		return;
	if (wall_has_cancelled(wall)) {
		wall->batch_on_set = wall_batch_cancelled(shard, budget);
		return;
	}
	if (hlist_empty(&wall->taken))
		wall_take_expired(shard, now, budget);
	wall_batch_taken(shard, now);
}

/* At the end of a turn: no timer is left that a change of the clock cancels. */
void twheel_wall_unwatch(struct twheel_shard *shard)
{
	struct twheel_wall *wall = &shard->wall;

	if (!wall->watching || !hlist_empty(&wall->on_set) || !hlist_empty(&wall->cancelled))
		return;
	wall->watching = false;
	twheel_turn_watch(shard, false);
}

/* The next time at which a timer is due; 0 if one is already, or TWHEEL_NEVER. */
u64 twheel_wall_next(const struct twheel_wall *wall)
{
	u64 first = twheel_wall_first(wall);

	if (!hlist_empty(&wall->due.nodes) || !hlist_empty(&wall->taken) ||
	    wall_has_cancelled(wall))
		return 0;
	return first > KTIME_MAX ? TWHEEL_NEVER : first;
}

/* twheel_queue_take() for a shard of CLOCK_REALTIME. */
bool twheel_wall_take(struct twheel_shard *shard, struct twheel_node **node)
{
	struct twheel_wall *wall = &shard->wall;
	struct hlist_head *lists[] = {
		&wall->due.nodes, &wall->taken, &wall->cancelled, &wall->on_set, &wall->plain,
	};
	struct twheel_timer *timer;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(lists); i++) {
		if (hlist_empty(lists[i]))
			continue;
		timer = hlist_entry(lists[i]->first, struct twheel_timer, node.entry);
		twheel_wall_del(shard, timer);
		*node = &timer->node;
		return true;
	}
	return false;
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
