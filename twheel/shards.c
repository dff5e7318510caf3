// SPDX-License-Identifier: GPL-2.0
/*
 * Layer 4, wheels: several shards that look like one wheel to its users.
 *
 * Which shard a timer lives on is decided in timer_add.c; here wheels are made,
 * counted, stopped and ended.
 */
#include <linux/bug.h>
#include <linux/err.h>
#include <linux/export.h>
#include <linux/memcontrol.h>
#include <linux/minmax.h>
#include <linux/overflow.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "clock.h"
#include "registry.h"
#include "shards.h"
#include "timer.h"
#include "timer_debug.h"

static int config_check(const struct twheel_config *config)
{
	if (config->tick_ns < TWHEEL_TICK_NS_MIN || config->tick_ns > TWHEEL_TICK_NS_MAX)
		return -EINVAL;
	if (config->slots < TWHEEL_SLOTS_MIN || config->slots > TWHEEL_SLOTS_MAX)
		return -EINVAL;
	if (!config->shards || config->shards > TWHEEL_SHARDS_MAX)
		return -EINVAL;
	if (config->clock < TWHEEL_CLOCK_MONOTONIC || config->clock > TWHEEL_CLOCK_REALTIME)
		return -EINVAL;
	if (config->max_pending > S64_MAX)
		return -EINVAL;
	return 0;
}

static void wheel_free(struct twheel *wheel)
{
	while (wheel->nr_shards)
		twheel_shard_stop(&wheel->shard[--wheel->nr_shards]);
	mem_cgroup_put(wheel->memcg);
	kvfree(wheel);
}

/* Set up all shards of a wheel. What has been is known by nr_shards. */
static int wheel_init(struct twheel *wheel, const struct twheel_config *config, gfp_t account)
{
	unsigned int i;
	int err;

	wheel->places.max = config->max_pending;
	wheel->memcg = account ? get_mem_cgroup_from_mm(current->mm) : NULL;
	for (i = 0; i < config->shards; i++) {
		wheel->shard[i].wheel = wheel;
		wheel->shard[i].account = account;
		wheel->shard[i].memcg = wheel->memcg;
		if (config->max_pending)
			wheel->shard[i].places = &wheel->places;
		err = twheel_shard_init(&wheel->shard[i], config, i);
		if (err)
			return err;
		wheel->nr_shards++;
	}
	return 0;
}

/**
 * twheel_make - create a wheel
 * @config: as for twheel_create()
 * @flags: TWHEEL_MAKE_*
 *
 * Context: process; may sleep.
 * Return: as twheel_create().
 */
struct twheel *twheel_make(const struct twheel_config *config, unsigned int flags)
{
	gfp_t account = flags & TWHEEL_MAKE_ACCOUNT ? __GFP_ACCOUNT : 0;
	struct twheel_config c = *config;
	struct twheel *wheel;
	int err;

	might_sleep();
	c.name = c.name ?: "twheel";
	c.tick_ns = c.tick_ns ?: TWHEEL_TICK_NS_DEFAULT;
	c.slots = c.slots ?: TWHEEL_SLOTS_DEFAULT;
	c.shards = c.shards ?: 1;
	err = config_check(&c);
	if (err)
		return ERR_PTR(err);

	wheel = kvzalloc(struct_size(wheel, shard, c.shards), GFP_KERNEL | account);
	if (!wheel)
		return ERR_PTR(-ENOMEM);
	wheel->shared = flags & TWHEEL_MAKE_UNLIMITED;
	err = wheel_init(wheel, &c, account) ?: twheel_registry_add(wheel);
	if (err) {
		wheel_free(wheel);
		return ERR_PTR(err);
	}
	return wheel;
}

/**
 * twheel_create - make a wheel of one's own
 * @config: what it is to look like
 *
 * Most users need none: the wheel of twheel_system() is there for all. Its
 * reapers are started one by one, each when a timer first needs it.
 *
 * Context: process; may sleep.
 * Return: the wheel, or an ERR_PTR(): -EINVAL for a figure out of its range,
 * -EUSERS if there are too many wheels (see the module's parameter max_wheels),
 * -ENOMEM.
 */
struct twheel *twheel_create(const struct twheel_config *config)
{
	return twheel_make(config, 0);
}
EXPORT_SYMBOL_GPL(twheel_create);

/* Let nothing in any more. */
static void shard_close(struct twheel_shard *shard)
{
	twheel_shard_lock_irq(shard);
	shard->stopped = true;
	twheel_shard_unlock_irq(shard);
}

/* Take a step towards emptying a shard: maybe a timer, or NULL. */
static bool shard_take(struct twheel_shard *shard, struct twheel_timer **timer)
{
	struct twheel_node *node;
	bool more;

	*timer = NULL;
	twheel_shard_lock_irq(shard);
	more = twheel_queue_take(&shard->base[TWHEEL_BASE_REAPER].queue, &node) ||
	       twheel_queue_take(&shard->base[TWHEEL_BASE_INLINE].queue, &node);
	if (node) {
		*timer = container_of(node, struct twheel_timer, node);
		twheel_debug_deactivate(*timer);
		twheel_shard_vacate(shard);
		shard->cancelled++;
	}
	twheel_shard_unlock_irq(shard);
	return more;
}

/* Wait until no function of a shard's timers is running. */
static void shard_quiesce(struct twheel_shard *shard)
{
	struct twheel_base *base;

	twheel_shard_lock_irq(shard);
	for (base = shard->base; base < shard->base + TWHEEL_BASES; base++)
		while (base->running)
			twheel_shard_wait(shard, base);
	twheel_shard_unlock_irq(shard);
}

/**
 * twheel_stop - cancel all that is pending on a wheel, and let nothing in any more
 * @wheel: from twheel_create(); every purgatory on it has been drained, and every
 *	operation that brought it for its deadline has ended
 * @cancelled: called for each timer that had not fired, with no lock held; it
 *	may free the timer. NULL if nobody needs to know.
 * @data: for @cancelled
 *
 * When this returns, no timer's function is running and none will. To add a
 * timer is refused from now on. To stop twice is fine.
 *
 * What is handed to @cancelled is no longer pending for others: from when this is
 * called until it has returned, nobody else may free a timer that he did not
 * win by twheel_timer_cancel() or twheel_timer_cancel_sync().
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
	if (WARN_ON_ONCE(twheel_runs_functions(wheel)))
		return -EDEADLK;
	for (i = 0; i < wheel->nr_shards; i++)
		shard_close(&wheel->shard[i]);
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
 * added any more. Those that are pending nevertheless are cancelled, with a
 * warning. After this no call on its timers is allowed but to initialise them.
 *
 * Context: process; may sleep. Not from a timer's function: refused with a
 * warning, and the wheel goes on.
 */
void twheel_destroy(struct twheel *wheel)
{
	if (IS_ERR_OR_NULL(wheel))
		return;
	might_sleep();
	if (WARN_ON_ONCE(twheel_runs_functions(wheel)))
		return;
	/* What still waits is taken out, lest it hang on to memory that is gone. */
	WARN_ON_ONCE(twheel_stop(wheel, NULL, NULL));
	twheel_registry_remove(wheel);
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

/**
 * twheel_now - the time by the clock of a wheel
 * @wheel: the wheel
 *
 * Context: any but NMI.
 * Return: the time in ns.
 */
u64 twheel_now(const struct twheel *wheel)
{
	return twheel_clock_ns(wheel->shard[0].clock);
}
EXPORT_SYMBOL_GPL(twheel_now);

/**
 * twheel_next - when a wheel has something to do next
 * @wheel: the wheel
 *
 * No timer fires before that; it may turn out that none fires then, as what
 * is far ahead moves in steps, and what was cancelled leaves an empty bucket.
 *
 * Context: as twheel_timer_add().
 * Return: a time in ns by the clock of the wheel, which may have come;
 * TWHEEL_NEVER if nothing will be due.
 */
u64 twheel_next(struct twheel *wheel)
{
	u64 tick, next = TWHEEL_NEVER;
	struct twheel_shard *shard;
	unsigned long flags;
	unsigned int i;

	for (i = 0; i < wheel->nr_shards; i++) {
		shard = &wheel->shard[i];
		flags = twheel_shard_lock(shard);
		twheel_shard_look(shard);
		tick = min(twheel_queue_next(&shard->base[TWHEEL_BASE_REAPER].queue),
			   twheel_queue_next(&shard->base[TWHEEL_BASE_INLINE].queue));
		twheel_shard_unlock(shard, flags);
		if (tick != TWHEEL_TICK_NEVER)
			next = min(next, twheel_shard_time(shard, tick));
	}
	return next;
}
EXPORT_SYMBOL_GPL(twheel_next);

/* Add the counts of a shard to others. */
void twheel_shard_stats(struct twheel_shard *shard, struct twheel_stats *stats)
{
	const struct twheel_base *base;
	unsigned long flags;

	flags = twheel_shard_lock(shard);
	for (base = shard->base; base < shard->base + TWHEEL_BASES; base++) {
		stats->pending += base->queue.nr_nodes;
		stats->fired += base->fired;
		stats->cascaded += base->queue.nr_cascaded;
	}
	stats->added += shard->added;
	stats->rearmed += shard->rearmed;
	stats->cancelled += shard->cancelled;
	stats->wakeups += shard->wakeups;
	stats->slow += shard->slow;
	stats->rejected += shard->rejected;
	stats->irqs_off_ns = max(stats->irqs_off_ns, shard->irqs_off_ns);
	stats->latest_ticks = max(stats->latest_ticks, shard->latest_ticks);
	twheel_shard_unlock(shard, flags);
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
		twheel_shard_stats(&wheel->shard[i], stats);
}
EXPORT_SYMBOL_GPL(twheel_stats);

/**
 * twheel_wakeups - number of wake-ups of the reapers of a wheel
 * @wheel: the wheel
 *
 * Context: any; takes no lock.
 */
u64 twheel_wakeups(const struct twheel *wheel)
{
	unsigned int i;
	u64 nr = 0;

	for (i = 0; i < wheel->nr_shards; i++)
		nr += READ_ONCE(wheel->shard[i].wakeups);
	return nr;
}
