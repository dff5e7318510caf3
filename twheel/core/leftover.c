// SPDX-License-Identifier: GPL-2.0
/*
 * Timers that a removed module leaves behind.
 *
 * The module has run its exit function, and its code and data are about to be freed: a pending
 * timer of it would be a page fault in a reaper or in an interrupt, long after the cause. So it is
 * reported and cancelled. A timer may be in the data of the module, or in memory that was freed
 * already; then even this cannot help.
 *
 * This is a search through all pending timers, except those of users, while others add, cancel and
 * expire timers. The lock of a shard is held for a chunk at a time. Nodes that have been visited
 * go to the tail of their list, where new ones go, too: those before the first visited node have
 * not been visited yet. Buckets are visited in the order of their expiry. A node leaves an
 * expired bucket for one that expires later, or for @due, so none is missed.
 *
 * @due must stay in order, so only its first nodes are visited. Others behind them are about to
 * fire, like those whose callbacks run already.
 */
#include <linux/bug.h>
#include <linux/container_of.h>
#include <linux/list.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/rbtree.h>
#include <linux/sched.h>
#include <linux/spinlock.h>
#include <trace/events/twheel.h>

#include "../compat.h"
#include "shard.h"
#include "step.h"
#include "timer.h"
#include "twheel.h"

/* The function of the owner of a timer. */
static unsigned long timer_function(const struct twheel_timer *timer)
{
	if (timer->fn == twheel_periodic_fire)
		return (unsigned long)container_of(timer, struct twheel_periodic, timer)->fn;
	if (timer->fn == twheel_work_fire)
		return (unsigned long)container_of(timer, struct twheel_work, timer)->work.func;
	return (unsigned long)timer->fn;
}

/**
 * struct leftovers - a search for the timers of a module
 * @module: the module
 * @nr: number of timers found
 * @fn: function of one of them
 * @shard: visited shard
 * @base: visited base
 * @bucket: bucket to visit next; NULL for the first one
 * @expires: expiry of @bucket when it was chosen
 * @first: first node of the visited list that has stayed there, or NULL. Only compared.
 * @left: number of nodes that the visited list can have at most
 * @budget: items left of the chunk
 */
struct leftovers {
	const struct module	*module;
	unsigned long		nr;
	unsigned long		fn;
	struct twheel_shard	*shard;
	struct twheel_base	*base;
	struct twheel_bucket	*bucket;
	u64			expires;
	struct twheel_node	*first;
	u64			left;
	unsigned int		budget;
};

/* Cancel a pending timer if its function is in the module. */
static bool leftovers_cancel(struct leftovers *leftovers, struct twheel_node *node)
{
	struct twheel_timer *timer = container_of(node, struct twheel_timer, node);
	struct twheel_shard *shard = leftovers->shard;
	unsigned long fn = timer_function(timer);

	if (!within_module(fn, leftovers->module))
		return false;
	leftovers->nr++;
	leftovers->fn = fn;
	twheel_queue_del(&leftovers->base->queue, node);
	twheel_debug_deactivate(timer);
	twheel_shard_uncharge(shard);
	trace_twheel_timer_cancel(timer, shard->number);
	shard->cancelled++;
	return true;
}

/* Visit nodes of a list. Returns true at its end. */
static bool leftovers_in_list(struct leftovers *leftovers, struct list_head *list)
{
	struct twheel_node *node;

	if (!leftovers->first)
		leftovers->left = leftovers->base->queue.nr_nodes;
	for (;;) {
		node = list_first_entry_or_null(list, struct twheel_node, entry);
		/* If @first has left the list, some nodes are visited again, and @left ends it. */
		if (!node || node == leftovers->first || !leftovers->left)
			break;
		if (!leftovers->budget)
			return false;
		leftovers->budget--;
		leftovers->left--;
		if (leftovers_cancel(leftovers, node))
			continue;
		list_move_tail(&node->entry, list);
		leftovers->first = leftovers->first ?: node;
	}
	leftovers->first = NULL;
	return true;
}

static void leftovers_set_bucket(struct leftovers *leftovers, struct rb_node *queued)
{
	leftovers->bucket = rb_entry_safe(queued, struct twheel_bucket, queued);
	leftovers->first = NULL;
	if (leftovers->bucket)
		leftovers->expires = leftovers->bucket->expires;
}

/* Visit buckets, which wheels in use never free. Returns true after the last one. */
static bool leftovers_in_buckets(struct leftovers *leftovers, struct twheel_queue *queue)
{
	struct twheel_bucket *bucket = leftovers->bucket;

	/* If the bucket has expired, all earlier ones have, too. */
	if (!bucket || RB_EMPTY_NODE(&bucket->queued) || bucket->expires != leftovers->expires)
		leftovers_set_bucket(leftovers, rb_first_cached(&queue->buckets));
	while ((bucket = leftovers->bucket)) {
		if (!leftovers->budget)
			return false;
		leftovers->budget--;
		if (!leftovers_in_list(leftovers, &bucket->nodes))
			return false;
		leftovers_set_bucket(leftovers, rb_next(&bucket->queued));
	}
	return true;
}

/* Visit the first nodes that are due. Returns true if none of them is of the module. */
static bool leftovers_in_due(struct leftovers *leftovers, struct twheel_queue *queue)
{
	struct twheel_node *node, *next;
	bool found = false;

	list_for_each_entry_safe(node, next, &queue->due, entry) {
		if (!leftovers->budget)
			break;
		leftovers->budget--;
		found |= leftovers_cancel(leftovers, node);
	}
	return !found;
}

static bool leftovers_in_never(struct leftovers *leftovers, struct twheel_queue *queue)
{
	return leftovers_in_list(leftovers, &queue->never);
}

/* Call a function with the lock of the shard held for a chunk at a time, until it returns true. */
static void leftovers_search(struct leftovers *leftovers, struct twheel_queue *queue,
			     bool (*search)(struct leftovers *leftovers,
					    struct twheel_queue *queue))
{
	bool end;

	leftovers->bucket = NULL;
	leftovers->first = NULL;
	do {
		leftovers->budget = TWHEEL_CHUNK;
		spin_lock_irq(&leftovers->shard->lock);
		end = search(leftovers, queue);
		spin_unlock_irq(&leftovers->shard->lock);
		cond_resched();
	} while (!end);
}

static void leftovers_in_queue(struct leftovers *leftovers, struct twheel_queue *queue)
{
	leftovers_search(leftovers, queue, leftovers_in_never);
	leftovers_search(leftovers, queue, leftovers_in_buckets);
	leftovers_search(leftovers, queue, leftovers_in_due);
}

static void leftovers_in_wheel(struct leftovers *leftovers, struct twheel *wheel)
{
	unsigned int i, b;

	for (i = 0; i < wheel->nr_shards; i++) {
		leftovers->shard = &wheel->shard[i];
		/* A step of the clock may have timers on lists of its own: end it. */
		while (wheel->clock == TWHEEL_CLOCK_REALTIME && twheel_shard_set(leftovers->shard))
			cond_resched();
		for (b = 0; b < TWHEEL_BASES; b++) {
			leftovers->base = &leftovers->shard->base[b];
			if (leftovers->base->steps)
				leftovers_in_queue(leftovers, &leftovers->base->steps->on_set);
			leftovers_in_queue(leftovers, &leftovers->base->queue);
		}
	}
}

/* Report and cancel the timers of a module, after its exit. Users' wheels have none of them. */
void twheel_timers_check(struct module *module)
{
	struct leftovers leftovers = { .module = module };
	struct twheel *wheel;

	mutex_lock(&twheel_wheels_lock);
	list_for_each_entry(wheel, &twheel_wheels, registered)
		if (!wheel->users)
			leftovers_in_wheel(&leftovers, wheel);
	mutex_unlock(&twheel_wheels_lock);
	WARN(leftovers.nr, "twheel: module %s is removed with %lu pending timers, now cancelled; the function of one is %ps\n",
	     module_name(module), leftovers.nr, (void *)leftovers.fn);
}
EXPORT_SYMBOL_IF_KUNIT(twheel_timers_check);
