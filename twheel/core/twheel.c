// SPDX-License-Identifier: GPL-2.0
/*
 * Layer 4, wheels: several shards that look like one wheel to its users.
 *
 * Which shard a timer lives on is decided in timer.c; here wheels are made,
 * counted, stopped and ended.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <asm/barrier.h>
#include <linux/bug.h>
#include <linux/cpumask.h>
#include <linux/err.h>
#include <linux/export.h>
#include <linux/irq_work.h>
#include <linux/list.h>
#include <linux/memcontrol.h>
#include <linux/minmax.h>
#include <linux/moduleparam.h>
#include <linux/mutex.h>
#include <linux/notifier.h>
#include <linux/overflow.h>
#include <linux/printk.h>
#include <linux/pvclock_gtod.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/timekeeper_internal.h>
#include <linux/workqueue.h>

#include "shard.h"
#include "timer.h"
#include "twheel.h"

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

	wheel->limit.max = config->max_pending;
	wheel->memcg = account ? get_mem_cgroup_from_mm(current->mm) : NULL;
	for (i = 0; i < config->shards; i++) {
		wheel->shard[i].wheel = wheel;
		wheel->shard[i].account = account;
		wheel->shard[i].memcg = wheel->memcg;
		if (config->max_pending)
			wheel->shard[i].limit = &wheel->limit;
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
		twheel_shard_uncharge(shard);
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

/*
 * Layer 4: all the wheels that there are.
 *
 * They are known here for three purposes: a limit on how many modules may make
 * for themselves, since one that makes a wheel per object has not understood
 * that one wheel holds millions; a list in debugfs; and so that those which go
 * by the wall clock hear at once that it was set.
 *
 * The kernel notifies us whenever it changes its clocks, under a lock of its own in
 * which neither a clock may be read nor a task be woken.  So the notification only
 * counts the step, and raises an interrupt that queues a work item, which looks at
 * each shard that goes by the wall clock.
 */

static unsigned int max_wheels = 64;
module_param(max_wheels, uint, 0644);
MODULE_PARM_DESC(max_wheels, "how many wheels modules may make for themselves (default 64)");

/* All wheels. The mutex protects the list and the counters. */
DEFINE_MUTEX(twheel_wheels_lock);
LIST_HEAD(twheel_wheels);
static unsigned int nr_private;
static unsigned int nr_realtime;

/* See twheel_clock_generation(). */
atomic_t twheel_clock_steps = ATOMIC_INIT(0);

static void clock_was_set(struct work_struct *work)
{
	struct twheel *wheel;
	unsigned int i;

	mutex_lock(&twheel_wheels_lock);
	list_for_each_entry(wheel, &twheel_wheels, registered) {
		for (i = 0; i < wheel->nr_shards; i++) {
			if (wheel->shard[i].clock != TWHEEL_CLOCK_REALTIME)
				break;
			twheel_shard_set(&wheel->shard[i]);
		}
	}
	mutex_unlock(&twheel_wheels_lock);
}

static DECLARE_WORK(clock_work, clock_was_set);

static void clock_interrupt(struct irq_work *work)
{
	schedule_work(&clock_work);
}

static DEFINE_IRQ_WORK(clock_irq_work, clock_interrupt);

/*
 * Called at each tick of the kernel's, with a lock held that keeps the time still.
 * @was_set is also true for changes that leave the offset of the wall clock as it is.
 */
static int clock_notify(struct notifier_block *nb, unsigned long was_set, void *data)
{
	const struct timekeeper *timekeeper = data;
	static ktime_t offset;

	if (was_set && timekeeper->offs_real != offset) {
		offset = timekeeper->offs_real;
		atomic_inc(&twheel_clock_steps);
		irq_work_queue(&clock_irq_work);
	}
	return NOTIFY_DONE;
}

static struct notifier_block clock_notifier = {
	.notifier_call = clock_notify,
};

static bool goes_by_realtime(const struct twheel *wheel)
{
	return wheel->shard[0].clock == TWHEEL_CLOCK_REALTIME;
}

/**
 * twheel_registry_add - know a wheel from now on
 * @wheel: the wheel, set up
 *
 * Context: process; may sleep.
 * Return: 0; -EUSERS if it is private and there are too many of these.
 */
int twheel_registry_add(struct twheel *wheel)
{
	int err = 0;

	mutex_lock(&twheel_wheels_lock);
	if (!wheel->shared && nr_private >= READ_ONCE(max_wheels)) {
		pr_warn_once("%u private wheels, one more is refused; timers can share twheel_system()\n",
			     nr_private);
		err = -EUSERS;
		goto out;
	}
	nr_private += !wheel->shared;
	list_add_tail(&wheel->registered, &twheel_wheels);
	if (goes_by_realtime(wheel) && !nr_realtime++)
		pvclock_gtod_register_notifier(&clock_notifier);
out:
	mutex_unlock(&twheel_wheels_lock);
	return err;
}

/**
 * twheel_registry_remove - forget a wheel
 * @wheel: the wheel
 *
 * Context: process; may sleep.
 */
void twheel_registry_remove(struct twheel *wheel)
{
	mutex_lock(&twheel_wheels_lock);
	if (goes_by_realtime(wheel) && !--nr_realtime)
		pvclock_gtod_unregister_notifier(&clock_notifier);
	list_del(&wheel->registered);
	nr_private -= !wheel->shared;
	mutex_unlock(&twheel_wheels_lock);
}

/**
 * twheel_registry_exit - there are no wheels any more
 */
void twheel_registry_exit(void)
{
	WARN_ON_ONCE(!list_empty(&twheel_wheels));
	irq_work_sync(&clock_irq_work);
	cancel_work_sync(&clock_work);
}

/*
 * Layer 4, the system's wheels: one for each clock, for all who need none of
 * their own.
 *
 * Each is made at the first use, with a shard for each CPU that there may be and
 * with the tick and the slots that the module was loaded with, and goes with
 * the module.
 */

/* 10^10 does not fit into a long of 32 bits. */
static unsigned long long tick_ns = TWHEEL_TICK_NS_DEFAULT;
module_param(tick_ns, ullong, 0444);
MODULE_PARM_DESC(tick_ns, "tick of the system's wheel in ns, 1000 to 10000000000 (default 1048576)");

static unsigned int slots = TWHEEL_SLOTS_DEFAULT;
module_param(slots, uint, 0444);
MODULE_PARM_DESC(slots, "slots in each level of the system's wheel, 2 to 1024 (default 64)");

/* Serialises the first use of each; it never changes after that. */
static DEFINE_MUTEX(system_lock);
static struct twheel *system_wheels[TWHEEL_CLOCK_REALTIME + 1];

/**
 * twheel_system_check - check the module's parameters for the system's wheel
 *
 * Return: 0, or -EINVAL with a message that names the bad one.
 */
int __init twheel_system_check(void)
{
	if (tick_ns < TWHEEL_TICK_NS_MIN || tick_ns > TWHEEL_TICK_NS_MAX) {
		pr_err("tick_ns=%llu is not between %llu and %llu\n",
		       tick_ns, TWHEEL_TICK_NS_MIN, TWHEEL_TICK_NS_MAX);
		return -EINVAL;
	}
	if (slots < TWHEEL_SLOTS_MIN || slots > TWHEEL_SLOTS_MAX) {
		pr_err("slots=%u is not between %u and %u\n",
		       slots, TWHEEL_SLOTS_MIN, TWHEEL_SLOTS_MAX);
		return -EINVAL;
	}
	return 0;
}

/**
 * twheel_system_config - configuration of the system's wheels
 * @config: set
 * @clock: clock of the wheel
 */
void twheel_system_config(struct twheel_config *config, enum twheel_clock clock)
{
	*config = (struct twheel_config) {
		.name		= "twheel",
		.tick_ns	= tick_ns,
		.slots		= slots,
		.shards		= min(nr_cpu_ids, TWHEEL_SHARDS_MAX),
		.clock		= clock,
	};
}

/**
 * twheel_system_tick_ns - tick of the system's wheels in ns
 */
u64 twheel_system_tick_ns(void)
{
	return tick_ns;
}

/**
 * twheel_system_clock - the wheel that all share, by a clock
 * @clock: what it goes by
 *
 * It stays for as long as the module does, and with it for as long as the
 * caller's module uses symbols of ours.
 *
 * Context: process; may sleep.
 * Return: the wheel, or an ERR_PTR(): -EINVAL for no clock, -ENOMEM if it could
 * not be made.
 */
struct twheel *twheel_system_clock(enum twheel_clock clock)
{
	struct twheel_config config;
	struct twheel *wheel;

	if (clock < 0 || clock >= ARRAY_SIZE(system_wheels))
		return ERR_PTR(-EINVAL);
	/* Pairs with the release below: who sees it sees it made. */
	wheel = smp_load_acquire(&system_wheels[clock]);
	if (wheel)
		return wheel;
	mutex_lock(&system_lock);
	wheel = system_wheels[clock];
	if (!wheel) {
		twheel_system_config(&config, clock);
		wheel = twheel_make(&config, TWHEEL_MAKE_UNLIMITED);
		if (!IS_ERR(wheel)) {
			/* Pairs with the acquire above. */
			smp_store_release(&system_wheels[clock], wheel);
		}
	}
	mutex_unlock(&system_lock);
	return wheel;
}
EXPORT_SYMBOL_GPL(twheel_system_clock);

/**
 * twheel_system_exit - end the system's wheels, which nobody uses any more
 */
void twheel_system_exit(void)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(system_wheels); i++)
		twheel_destroy(system_wheels[i]);
}
