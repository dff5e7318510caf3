/* SPDX-License-Identifier: GPL-2.0 */
/* Timers of CLOCK_REALTIME, see wall.c. */
#ifndef _TWHEEL_CORE_WALL_H
#define _TWHEEL_CORE_WALL_H

#include <linux/container_of.h>
#include <linux/rbtree.h>
#include <linux/timekeeping.h>
#include <linux/twheel.h>
#include <linux/types.h>

#include "../compat.h"
#include "wheel.h"

struct twheel_shard;

/**
 * struct twheel_wall - the timers of CLOCK_REALTIME of a shard
 * @due: due timers that the reaper calls next
 * @tree: timers that are not due, by their exact deadlines
 * @taken: timers that the alarm or the reaper has taken, in this order, and those whose deadlines
 *	had passed when they were added
 * @last: the last one of them, or NULL
 * @plain: the timers of @tree, but for those that a change of the clock cancels
 * @on_set: those
 * @cancelled: timers that were on @on_set when a change was noticed
 * @changes: last noticed number of changes
 * @batch_on_set: the timers on @due were cancelled by a change of the clock
 * @turn_of_taken: @taken comes before @cancelled next
 * @watching: the shard is among the watchers of its owner
 * @noticed: @on_set has timers that were armed before the last noticed change
 *
 * Protected by the lock of the shard.
 */
struct twheel_wall {
	struct twheel_due	due;
	struct rb_root_cached	tree;
	struct hlist_head	taken;
	struct hlist_node	*last;
	struct hlist_head	plain;
	struct hlist_head	on_set;
	struct hlist_head	cancelled;
	u32			changes;
	bool			noticed;
	bool			watching;
	bool			turn_of_taken;
	bool			batch_on_set;
};

/* The timer of CLOCK_REALTIME that contains a timer; that of an operation precedes it. */
static inline struct twheel_wall_timer *twheel_wall_timer(struct twheel_timer *timer)
{
	return container_of(timer, struct twheel_wall_timer, timer);
}

/* Number of changes of the clock so far. */
static inline u32 twheel_wall_changes(void)
{
	struct system_time_snapshot now;

	twheel_clock_snapshot(&now);
	return now.clock_was_set_seq;
}

void twheel_wall_init(struct twheel_wall *wall);
u64 twheel_wall_add(struct twheel_shard *shard, struct twheel_timer *timer);
void twheel_wall_del(struct twheel_shard *shard, struct twheel_timer *timer);
bool twheel_wall_was_set(const struct twheel_timer *timer);
void twheel_wall_advance(struct twheel_shard *shard, unsigned int *budget);
void twheel_wall_unwatch(struct twheel_shard *shard);
bool twheel_wall_alarm(struct twheel_shard *shard, u64 now);
u64 twheel_wall_first(const struct twheel_wall *wall);
u64 twheel_wall_next(const struct twheel_wall *wall);
bool twheel_wall_take(struct twheel_shard *shard, struct twheel_node **node);

void twheel_wall_watch(int change);
void twheel_wall_exit(void);

#endif /* _TWHEEL_CORE_WALL_H */
