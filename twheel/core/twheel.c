// SPDX-License-Identifier: GPL-2.0
/*
 * Wheels. A wheel consists of shards, each with a lock and an alarm, and served by a reaper
 * (shard.c, reaper.c, turn.c). A timer is on one of them (timer.c). Those of CLOCK_REALTIME have no
 * levels and buckets (wall.c). This file creates, stops and destroys wheels. There are three kinds:
 *
 *   system wheels	one per clock, shared by all modules. Created at the first use with a
 *			shard per possible CPU, and destroyed when the module is unloaded. They
 *			share a reaper per CPU, see turn.c.
 *   users' wheels	with the same parameters, per user of the devices; they share reapers
 *			of their own (dev/user.c)
 *   private wheels	created by other modules with twheel_create(), with a reaper per shard.
 *			One wheel holds millions of timers; max_wheels stops a module that
 *			creates a wheel per object.
 *
 * All wheels are on a list, for debugfs.
 *
 * Locking
 * -------
 *
 * From outer to inner:
 *
 *	system_lock		creation of the system wheels
 *	  cpu_hotplug_lock	creation of their reapers
 *	    groups_lock		groups of reapers (turn.c)
 *	  twheel_wheels_lock	list of wheels, nr_private
 *	    shard->lock		(shard.h)
 *	      reaper->lock	turns of shards (turn.c)
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <asm/barrier.h>
#include <linux/bug.h>
#include <linux/cpumask.h>
#include <linux/err.h>
#include <linux/export.h>
#include <linux/list.h>
#include <linux/lockdep.h>
#include <linux/memcontrol.h>
#include <linux/minmax.h>
#include <linux/moduleparam.h>
#include <linux/mutex.h>
#include <linux/overflow.h>
#include <linux/printk.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "../compat.h"
#include "shard.h"
#include "timer.h"
#include "twheel.h"

static unsigned int max_wheels = 64;
module_param(max_wheels, uint, 0644);
MODULE_PARM_DESC(max_wheels, "maximum number of private wheels of other modules (default 64)");

/* A 32-bit long cannot hold 10^10. */
static unsigned long long tick_ns = TWHEEL_TICK_NS_DEFAULT;
module_param(tick_ns, ullong, 0444);
MODULE_PARM_DESC(tick_ns, "tick of the system wheels and of users' wheels in ns, 1000 to 10000000000 (default 1048576)");

static unsigned int slots = TWHEEL_SLOTS_DEFAULT;
module_param(slots, uint, 0444);
MODULE_PARM_DESC(slots, "slots per level of the system wheels and of users' wheels, 2 to 1024 (default 64)");

/* All wheels. The mutex protects the list and the counters. */
DEFINE_MUTEX(twheel_wheels_lock);
LIST_HEAD(twheel_wheels);
static unsigned int nr_private;

static int registry_add(struct twheel *wheel)
{
	int err = 0;

	mutex_lock(&twheel_wheels_lock);
	if (wheel->private && nr_private >= READ_ONCE(max_wheels)) {
		pr_warn_once("too many private wheels (%u), see max_wheels; timers can share twheel_system()\n",
			     nr_private);
		err = -EUSERS;
		goto out;
	}
	nr_private += !!wheel->private;
	if (wheel->clock == TWHEEL_CLOCK_REALTIME)
		twheel_wall_watch(1);
	list_add_tail(&wheel->registered, &twheel_wheels);
out:
	mutex_unlock(&twheel_wheels_lock);
	return err;
}

static void registry_remove(struct twheel *wheel)
{
	mutex_lock(&twheel_wheels_lock);
	twheel_stats_retire(wheel);
	list_del(&wheel->registered);
	if (wheel->clock == TWHEEL_CLOCK_REALTIME)
		twheel_wall_watch(-1);
	nr_private -= !!wheel->private;
	mutex_unlock(&twheel_wheels_lock);
}

static bool config_is_valid(const struct twheel_config *config)
{
	return config->tick_ns >= TWHEEL_TICK_NS_MIN && config->tick_ns <= TWHEEL_TICK_NS_MAX &&
	       config->slots >= TWHEEL_SLOTS_MIN && config->slots <= TWHEEL_SLOTS_MAX &&
	       config->shards && config->shards <= TWHEEL_SHARDS_MAX &&
	       config->clock >= TWHEEL_CLOCK_MONOTONIC &&
	       config->clock <= TWHEEL_CLOCK_REALTIME &&
	       (!config->max_pending || config->shards == 1);
}

static void wheel_free(struct twheel *wheel)
{
	while (wheel->nr_shards)
		twheel_shard_stop(twheel_shard(wheel, --wheel->nr_shards));
	twheel_reapers_destroy(wheel->private);
	mem_cgroup_put(wheel->memcg);
	/* A late call on an operation that has ended may lock a shard and find no timer. */
	kvfree_rcu(wheel, rcu);
}

/*
 * Initialise the shards. After a failure wheel_free() stops the first nr_shards of them.
 * @reapers and @shares are those of twheel_make().
 */
static int wheel_init(struct twheel *wheel, const struct twheel_config *config,
		      struct twheel_reapers *reapers, struct twheel_share *shares)
{
	gfp_t account = shares ? TWHEEL_GFP_ACCOUNT : 0;
	unsigned int i, r;
	struct twheel_shard *shard;
	int err;

	wheel->clock = config->clock;
	strscpy(wheel->name, config->name, sizeof(wheel->name));
	wheel->slots = config->slots;
	wheel->limited = config->max_pending;
	wheel->shard_size = twheel_shard_size(config->clock);
	wheel->memcg = account ? get_mem_cgroup_from_mm(current->mm) : NULL;
	for (i = 0; i < config->shards; i++) {
		shard = twheel_shard(wheel, i);
		r = i % reapers->nr;
		shard->wheel = wheel;
		shard->account = account;
		shard->memcg = wheel->memcg;
		shard->share = shares ? &shares[r] : &reapers->reaper[r].share;
		err = twheel_shard_init(shard, config, i);
		if (err)
			return err;
		wheel->nr_shards++;
	}
	return 0;
}

/*
 * Create a wheel that is served by @reapers, or, as a private wheel, by some of its own if this is
 * NULL. With @shares, one for each of @reapers, it is a user's wheel: its memory is charged to the
 * memory cgroup of the caller. The other arguments and errors are those of twheel_create(). May
 * sleep.
 */
struct twheel *twheel_make(const struct twheel_config *config, struct twheel_reapers *reapers,
			   struct twheel_share *shares)
{
	struct twheel_config c = *config;
	struct twheel *wheel;
	int err;

	might_sleep();
	c.name = c.name ?: "twheel";
	c.tick_ns = c.tick_ns ?: TWHEEL_TICK_NS_DEFAULT;
	c.slots = c.slots ?: TWHEEL_SLOTS_DEFAULT;
	c.shards = c.shards ?: 1;
	if (!config_is_valid(&c))
		return ERR_PTR(-EINVAL);

	wheel = kvzalloc(sizeof(*wheel) + c.shards * twheel_shard_size(c.clock),
			 GFP_KERNEL | (shares ? TWHEEL_GFP_ACCOUNT : 0));
	if (!wheel)
		return ERR_PTR(-ENOMEM);
	wheel->users = shares;
	if (!reapers) {
		reapers = twheel_reapers_create(c.name, c.shards, false);
		wheel->private = reapers;
	}
	err = PTR_ERR_OR_ZERO(reapers) ?: wheel_init(wheel, &c, reapers, shares) ?:
	      registry_add(wheel);
	if (err) {
		wheel_free(wheel);
		return ERR_PTR(err);
	}
	return wheel;
}
EXPORT_SYMBOL_IF_KUNIT(twheel_make);

/**
 * twheel_create - create a private wheel
 * @config: parameters, see &struct twheel_config
 *
 * Most users can share the wheel of twheel_system(). Each shard has a reaper, a thread.
 *
 * Context: process; may sleep.
 * Return: the wheel, or an ERR_PTR():
 * * %-EINVAL - a parameter is out of range
 * * %-EUSERS - there are too many private wheels, see the module parameter max_wheels
 * * %-ENOMEM - there is no memory, or no thread
 * * %-EINTR  - a fatal signal
 */
struct twheel *twheel_create(const struct twheel_config *config)
{
	return twheel_make(config, NULL, NULL);
}
EXPORT_SYMBOL_GPL(twheel_create);

/*
 * One step of emptying a stopped shard. Sets @timer to a removed timer, or to NULL if the step
 * removed none. Returns false if the shard is empty.
 */
static bool shard_take(struct twheel_shard *shard, struct twheel_timer **timer)
{
	struct twheel_node *node = NULL;
	bool more;

	*timer = NULL;
	spin_lock_irq(&shard->lock);
	if (twheel_shard_is_wall(shard))
		more = twheel_wall_take(shard, &node);
	else
		more = twheel_queue_take(&shard->queue, &node);
	if (node) {
		*timer = container_of(node, struct twheel_timer, node);
		debug_object_deactivate(*timer, &twheel_timer_descr);
		shard->cancelled++;
	}
	spin_unlock_irq(&shard->lock);
	return more;
}

/**
 * twheel_stop - cancel all timers of a wheel and refuse new ones
 * @wheel: from twheel_create(). Its purgatories have been drained, and the operations that use
 *	it for their deadlines have ended.
 * @cancelled: called without locks for each cancelled timer, and may free it; may be NULL
 * @data: for @cancelled
 *
 * When this returns, no callback is running and none will be called. Adds fail with
 * -ESHUTDOWN. A wheel may be stopped more than once.
 *
 * A timer is not pending any more when it is passed to @cancelled. During the call another
 * thread must not free a timer unless its own call of twheel_timer_cancel() or
 * twheel_timer_cancel_sync() has cancelled it.
 *
 * Context: process; may sleep.
 * Return: number of cancelled timers; -EDEADLK if called by a callback of the wheel, with a
 * warning and without effect.
 */
long twheel_stop(struct twheel *wheel,
		 void (*cancelled)(struct twheel_timer *timer, void *data), void *data)
{
	struct twheel_shard *shard;
	struct twheel_timer *timer;
	unsigned int i;
	long nr = 0;

	might_sleep();
	if (WARN_ON_ONCE(twheel_runs_functions(wheel)))
		return -EDEADLK;
	for (i = 0; i < wheel->nr_shards; i++) {
		shard = twheel_shard(wheel, i);
		spin_lock_irq(&shard->lock);
		shard->checks |= TWHEEL_CHECK_STOPPED;
		spin_unlock_irq(&shard->lock);
	}
	for (i = 0; i < wheel->nr_shards; i++) {
		while (shard_take(twheel_shard(wheel, i), &timer)) {
			if (timer && cancelled)
				cancelled(timer, data);
			nr += !!timer;
			cond_resched();
		}
	}
	twheel_flush(wheel);
	return nr;
}
EXPORT_SYMBOL_GPL(twheel_stop);

/**
 * twheel_destroy - destroy a wheel
 * @wheel: from twheel_create(); NULL and ERR_PTR() are ignored
 *
 * The caller has cancelled the timers of the wheel, for example with twheel_stop(), and adds
 * no more. Timers that are still pending are cancelled with a warning. After this the timers
 * must not be used, except to initialise them again.
 *
 * Context: process; may sleep. If called by a callback of the wheel, it only warns.
 */
void twheel_destroy(struct twheel *wheel)
{
	if (IS_ERR_OR_NULL(wheel))
		return;
	might_sleep();
	if (WARN_ON_ONCE(twheel_runs_functions(wheel)))
		return;
	/* Pending timers would stay linked to buckets that wheel_free() frees. */
	WARN_ON_ONCE(twheel_stop(wheel, NULL, NULL));
	registry_remove(wheel);
	wheel_free(wheel);
}
EXPORT_SYMBOL_GPL(twheel_destroy);

/**
 * twheel_tick_ns - tick of a wheel
 * @wheel: the wheel
 *
 * Context: any.
 * Return: length of a tick in ns.
 */
u64 twheel_tick_ns(const struct twheel *wheel)
{
	return ((const struct twheel_shard *)wheel->shards)->tick_ns;
}
EXPORT_SYMBOL_GPL(twheel_tick_ns);

/**
 * twheel_now - time by the clock of a wheel
 * @wheel: the wheel
 *
 * Context: any except NMI.
 * Return: the time in ns.
 */
u64 twheel_now(const struct twheel *wheel)
{
	return twheel_clock_ns(wheel->clock);
}
EXPORT_SYMBOL_GPL(twheel_now);

/*
 * Serialises the creation of the system wheels and their reapers, which stay until the module is
 * unloaded.
 */
static DEFINE_MUTEX(system_lock);
static struct twheel_reapers *system_reapers;
static struct twheel *system_wheels[TWHEEL_CLOCK_REALTIME + 1];

/* Parameters of the system wheels, also used for users' wheels. */
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

/* Check the module parameters of the system wheels. */
int __init twheel_system_check(void)
{
	struct twheel_config config;

	twheel_system_config(&config, TWHEEL_CLOCK_MONOTONIC);
	if (config_is_valid(&config))
		return 0;
	pr_err("tick_ns=%llu or slots=%u is out of range\n", tick_ns, slots);
	return -EINVAL;
}

/*
 * Create reapers for wheels of twheel_system_config(), unless *@reapers has some: 0 or an error of
 * twheel_create(). The caller serialises calls. May sleep.
 */
int twheel_system_reapers(struct twheel_reapers **reapers, const char *name)
{
	struct twheel_reapers *new;

	if (*reapers)
		return 0;
	new = twheel_reapers_create(name, min(nr_cpu_ids, TWHEEL_SHARDS_MAX), true);
	if (IS_ERR(new))
		return PTR_ERR(new);
	*reapers = new;
	return 0;
}

/**
 * twheel_system_clock - shared wheel of a clock
 * @clock: the clock
 *
 * The wheel is valid until all modules that use the symbols of this one are unloaded. One thread on
 * each CPU runs the functions of the timers of all clocks.
 *
 * Context: process; may sleep, and takes the lock of CPU hotplug.
 * Return: the wheel, or an ERR_PTR(): -EINVAL for an unknown clock, -ENOMEM; -EINTR after a fatal
 * signal.
 */
struct twheel *twheel_system_clock(enum twheel_clock clock)
{
	struct twheel_config config;
	struct twheel *wheel;
	int err;

	if (clock < 0 || clock >= ARRAY_SIZE(system_wheels))
		return ERR_PTR(-EINVAL);
	/* Pairs with the release below: the wheel is initialised. */
	wheel = smp_load_acquire(&system_wheels[clock]);
	if (wheel)
		return wheel;
	mutex_lock(&system_lock);
	wheel = system_wheels[clock];
	if (!wheel) {
		err = twheel_system_reapers(&system_reapers, "twheel");
		twheel_system_config(&config, clock);
		wheel = err ? ERR_PTR(err) : twheel_make(&config, system_reapers, NULL);
		if (!IS_ERR(wheel)) {
			/* Pairs with the acquire above. */
			smp_store_release(&system_wheels[clock], wheel);
		}
	}
	mutex_unlock(&system_lock);
	return wheel;
}
EXPORT_SYMBOL_GPL(twheel_system_clock);

/* The system wheels have no users any more. */
void twheel_system_exit(void)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(system_wheels); i++)
		twheel_destroy(system_wheels[i]);
	WARN_ON_ONCE(!list_empty(&twheel_wheels));
	twheel_wall_exit();
	twheel_reapers_destroy(system_reapers);
}
