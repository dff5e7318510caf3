/* SPDX-License-Identifier: GPL-2.0 */
/* Timers of CLOCK_REALTIME, see wall.c. */
#ifndef _TWHEEL_CORE_WALL_H
#define _TWHEEL_CORE_WALL_H

#include <linux/container_of.h>
#include <linux/rbtree.h>
#include <linux/twheel.h>
#include <linux/types.h>

#include "wheel.h"

struct twheel_shard;

/* A list whose entries stay in order. @last is the last one, unless the list is empty. */
struct twheel_fifo {
	struct hlist_head	list;
	struct hlist_node	*last;
};

/**
 * struct twheel_wall - the timers of CLOCK_REALTIME of a shard
 * @due: empty, as the reaper takes timers off @taken one by one
 * @tree: timers that are not due, by their exact deadlines
 * @taken: timers that the alarm or the reaper has taken, and those that were due when they were
 *	added
 * @on_set: the timers of @tree that a change of the clock cancels
 * @changes: number of changes of the clock when it was last read to take timers
 * @watching: the shard is among the watchers of its owner
 * @cancelled: a change of the clock cancelled the timer whose callback is running
 *
 * Protected by the lock of the shard.
 */
struct twheel_wall {
	struct twheel_due	due;
	struct rb_root_cached	tree;
	struct twheel_fifo	taken;
	struct twheel_fifo	on_set;
	u32			changes;
	bool			watching;
	bool			cancelled;
};

/* The timer of CLOCK_REALTIME that contains a timer; that of an operation precedes it. */
static inline struct twheel_wall_timer *twheel_wall_timer(struct twheel_timer *timer)
{
	return container_of(timer, struct twheel_wall_timer, timer);
}

u64 twheel_wall_add(struct twheel_shard *shard, struct twheel_timer *timer, bool rearm);
void twheel_wall_del(struct twheel_shard *shard, struct twheel_timer *timer);
bool twheel_wall_was_set(struct twheel_timer *timer);
u64 twheel_wall_expire(struct twheel_shard *shard, unsigned int budget);
struct twheel_node *twheel_wall_pop(struct twheel_shard *shard);
void twheel_wall_unwatch(struct twheel_shard *shard);
u64 twheel_wall_first(const struct twheel_wall *wall);
u64 twheel_wall_next(const struct twheel_wall *wall);
bool twheel_wall_take(struct twheel_shard *shard, struct twheel_node **node);

void twheel_wall_watch(int change);
void twheel_wall_exit(void);

#endif /* _TWHEEL_CORE_WALL_H */
