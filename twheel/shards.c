// SPDX-License-Identifier: GPL-2.0
/*
 * Layer 4, wheels: several shards that look like one wheel to its users.
 *
 * Which shard a timer lives on is decided in timer.c; here wheels are made,
 * counted, stopped and ended.
 */
#include <linux/bug.h>
#include <linux/err.h>
#include <linux/export.h>
#include <linux/minmax.h>
#include <linux/overflow.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "shards.h"

static int config_check(const struct twheel_config *config)
{
	if (config->tick_ns < TWHEEL_TICK_NS_MIN || config->tick_ns > TWHEEL_TICK_NS_MAX)
		return -EINVAL;
	if (config->slots < TWHEEL_SLOTS_MIN || config->slots > TWHEEL_SLOTS_MAX)
		return -EINVAL;
	if (!config->shards || config->shards > TWHEEL_SHARDS_MAX)
		return -EINVAL;
	return 0;
}

static void wheel_free(struct twheel *wheel)
{
	while (wheel->nr_shards)
		twheel_shard_stop(&wheel->shard[--wheel->nr_shards]);
	kvfree(wheel);
}

/**
 * twheel_create - make a wheel of one's own
 * @config: what it is to look like
 *
 * Most users need none: the wheel of twheel_system() is there for all.
 *
 * Context: process; may sleep.
 * Return: the wheel, or an ERR_PTR(): -EINVAL for a figure out of its range,
 * -ENOMEM, -EINTR.
 */
struct twheel *twheel_create(const struct twheel_config *config)
{
	struct twheel_config c = *config;
	struct twheel *wheel;
	unsigned int i;
	int err;

	might_sleep();
	c.name = c.name ?: "twheel";
	c.tick_ns = c.tick_ns ?: TWHEEL_TICK_NS_DEFAULT;
	c.slots = c.slots ?: TWHEEL_SLOTS_DEFAULT;
	c.shards = c.shards ?: 1;
	err = config_check(&c);
	if (err)
		return ERR_PTR(err);

	wheel = kvzalloc(struct_size(wheel, shard, c.shards), GFP_KERNEL);
	if (!wheel)
		return ERR_PTR(-ENOMEM);
	for (i = 0; i < c.shards; i++) {
		err = twheel_shard_start(&wheel->shard[i], &c, i);
		if (err) {
			wheel_free(wheel);
			return ERR_PTR(err);
		}
		wheel->nr_shards++;
	}
	return wheel;
}
EXPORT_SYMBOL_GPL(twheel_create);

/* Whether it is one of a wheel's reapers that asks. */
static bool wheel_reaper(const struct twheel *wheel)
{
	unsigned int i;

	for (i = 0; i < wheel->nr_shards; i++)
		if (wheel->shard[i].task == current)
			return true;
	return false;
}

/* Stop a shard, and take a step towards emptying it: maybe a timer, or NULL. */
static bool shard_take(struct twheel_shard *shard, struct twheel_timer **timer)
{
	struct twheel_node *node;
	bool more;

	spin_lock_irq(&shard->lock);
	shard->stopped = true;
	more = twheel_queue_take(&shard->queue, &node);
	if (node)
		shard->cancelled++;
	spin_unlock_irq(&shard->lock);
	*timer = node ? container_of(node, struct twheel_timer, node) : NULL;
	return more;
}

/* Wait until no function of a shard's timers is running. */
static void shard_quiesce(struct twheel_shard *shard)
{
	spin_lock_irq(&shard->lock);
	shard->waiters++;
	wait_event_lock_irq(shard->idle, !shard->running, shard->lock);
	shard->waiters--;
	spin_unlock_irq(&shard->lock);
}

/**
 * twheel_stop - cancel all that is pending on a wheel, and let nothing in any more
 * @wheel: from twheel_create(); every purgatory on it has been drained
 * @cancelled: called for each timer that had not fired, with no lock held; it
 *	may free the timer. NULL if nobody needs to know.
 * @data: for @cancelled
 *
 * When this returns, no timer's function is running and none will. To add a
 * timer is refused from now on. To stop twice is fine.
 *
 * Context: process; may sleep. Not from a timer's function: refused with a
 * warning, and the wheel goes on.
 * Return: how many timers had not fired, or -EDEADLK.
 */
long twheel_stop(struct twheel *wheel,
		 void (*cancelled)(struct twheel_timer *timer, void *data), void *data)
{
	struct twheel_timer *timer;
	unsigned int i;
	long nr = 0;

	might_sleep();
	if (WARN_ON_ONCE(wheel_reaper(wheel)))
		return -EDEADLK;
	for (i = 0; i < wheel->nr_shards; i++) {
		while (shard_take(&wheel->shard[i], &timer)) {
			if (timer && cancelled)
				cancelled(timer, data);
			nr += !!timer;
			cond_resched();
		}
	}
	for (i = 0; i < wheel->nr_shards; i++)
		shard_quiesce(&wheel->shard[i]);
	return nr;
}
EXPORT_SYMBOL_GPL(twheel_stop);

/**
 * twheel_destroy - end a wheel of one's own
 * @wheel: from twheel_create(); NULL and ERR_PTR() are left alone
 *
 * Its timers have been cancelled one by one, or by twheel_stop(), and none is
 * added any more.
 *
 * Context: process; may sleep. Not from a timer's function: refused with a
 * warning, and the wheel goes on.
 */
void twheel_destroy(struct twheel *wheel)
{
	if (IS_ERR_OR_NULL(wheel))
		return;
	might_sleep();
	if (WARN_ON_ONCE(wheel_reaper(wheel)))
		return;
	wheel_free(wheel);
}
EXPORT_SYMBOL_GPL(twheel_destroy);

/**
 * twheel_tick_ns - the tick of a wheel
 * @wheel: the wheel
 *
 * Return: its length in ns.
 */
u64 twheel_tick_ns(const struct twheel *wheel)
{
	return wheel->shard[0].tick_ns;
}
EXPORT_SYMBOL_GPL(twheel_tick_ns);

static void shard_stats(struct twheel_shard *shard, struct twheel_stats *stats)
{
	unsigned long flags;

	spin_lock_irqsave(&shard->lock, flags);
	stats->pending += shard->queue.nr_nodes;
	stats->added += shard->added;
	stats->rearmed += shard->rearmed;
	stats->cancelled += shard->cancelled;
	stats->fired += shard->fired;
	stats->cascaded += shard->queue.nr_cascaded;
	stats->wakeups += shard->wakeups;
	stats->latest_ticks = max(stats->latest_ticks, shard->latest_ticks);
	spin_unlock_irqrestore(&shard->lock, flags);
}

/**
 * twheel_stats - the counts of a wheel
 * @wheel: the wheel
 * @stats: filled in; exact when nothing is under way
 *
 * Context: as twheel_timer_add().
 */
void twheel_stats(struct twheel *wheel, struct twheel_stats *stats)
{
	unsigned int i;

	memset(stats, 0, sizeof(*stats));
	for (i = 0; i < wheel->nr_shards; i++)
		shard_stats(&wheel->shard[i], stats);
}
EXPORT_SYMBOL_GPL(twheel_stats);
