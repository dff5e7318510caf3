// SPDX-License-Identifier: GPL-2.0
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
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/debugfs.h>
#include <linux/irq_work.h>
#include <linux/list.h>
#include <linux/moduleparam.h>
#include <linux/mutex.h>
#include <linux/notifier.h>
#include <linux/printk.h>
#include <linux/pvclock_gtod.h>
#include <linux/seq_file.h>
#include <linux/string.h>
#include <linux/timekeeper_internal.h>
#include <linux/workqueue.h>

#include "clock.h"
#include "registry.h"
#include "shards.h"

static unsigned int max_wheels = 64;
module_param(max_wheels, uint, 0644);
MODULE_PARM_DESC(max_wheels, "how many wheels modules may make for themselves (default 64)");

/* Protects the list, and what is counted of it. */
static DEFINE_MUTEX(registry_lock);
static LIST_HEAD(wheels);
static unsigned int nr_private;
static unsigned int nr_realtime;

static struct dentry *debugfs;

/* See twheel_clock_generation(). */
atomic_t twheel_clock_steps = ATOMIC_INIT(0);

static void clock_was_set(struct work_struct *work)
{
	struct twheel *wheel;
	unsigned int i;

	mutex_lock(&registry_lock);
	list_for_each_entry(wheel, &wheels, registered) {
		for (i = 0; i < wheel->nr_shards; i++) {
			if (wheel->shard[i].clock != TWHEEL_CLOCK_REALTIME)
				break;
			twheel_shard_set(&wheel->shard[i]);
		}
	}
	mutex_unlock(&registry_lock);
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

	mutex_lock(&registry_lock);
	if (!wheel->shared && nr_private >= READ_ONCE(max_wheels)) {
		pr_warn_once("%u private wheels, one more is refused; timers can share twheel_system()\n",
			     nr_private);
		err = -EUSERS;
		goto out;
	}
	nr_private += !wheel->shared;
	list_add_tail(&wheel->registered, &wheels);
	if (goes_by_realtime(wheel) && !nr_realtime++)
		pvclock_gtod_register_notifier(&clock_notifier);
out:
	mutex_unlock(&registry_lock);
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
	mutex_lock(&registry_lock);
	if (goes_by_realtime(wheel) && !--nr_realtime)
		pvclock_gtod_unregister_notifier(&clock_notifier);
	list_del(&wheel->registered);
	nr_private -= !wheel->shared;
	mutex_unlock(&registry_lock);
}

static const char *clock_name(enum twheel_clock clock)
{
	static const char * const names[] = {
		[TWHEEL_CLOCK_MONOTONIC]	= "monotonic",
		[TWHEEL_CLOCK_BOOTTIME]		= "boottime",
		[TWHEEL_CLOCK_REALTIME]		= "realtime",
	};

	return names[clock];
}

static void counts_show(struct seq_file *file, const struct twheel_stats *stats)
{
	seq_printf(file, " pending=%llu added=%llu rearmed=%llu cancelled=%llu fired=%llu",
		   stats->pending, stats->added, stats->rearmed, stats->cancelled, stats->fired);
	seq_printf(file, " rejected=%llu cascaded=%llu wakeups=%llu slow=%llu",
		   stats->rejected, stats->cascaded, stats->wakeups, stats->slow);
	seq_printf(file, " latest_ticks=%llu irqs_off_ns=%llu\n",
		   stats->latest_ticks, stats->irqs_off_ns);
}

/* A line for the wheel, and one for each of its shards that has been used. */
static void wheel_show(struct seq_file *file, struct twheel *wheel)
{
	const struct twheel_shard *first = &wheel->shard[0];
	struct twheel_stats stats;
	unsigned int i;

	seq_printf(file, "%s clock=%s tick_ns=%llu slots=%u shards=%u",
		   first->name, clock_name(first->clock), first->tick_ns,
		   first->base[TWHEEL_BASE_REAPER].queue.wheel.slots, wheel->nr_shards);
	twheel_stats(wheel, &stats);
	counts_show(file, &stats);
	for (i = 0; i < wheel->nr_shards; i++) {
		memset(&stats, 0, sizeof(stats));
		twheel_shard_stats(&wheel->shard[i], &stats);
		if (!stats.added)
			continue;
		seq_printf(file, "%s/%u", first->name, i);
		counts_show(file, &stats);
	}
}

static int wheels_show(struct seq_file *file, void *unused)
{
	struct twheel *wheel;

	mutex_lock(&registry_lock);
	list_for_each_entry(wheel, &wheels, registered)
		wheel_show(file, wheel);
	mutex_unlock(&registry_lock);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(wheels);

/* The distribution of what wheels_show() has the longest of. */
static int irqs_off_show(struct seq_file *file, void *unused)
{
	unsigned int us;
	u64 nr;

	for (us = 0; us < TWHEEL_STRETCHES; us++) {
		nr = twheel_shard_stretches(us);
		if (nr)
			seq_printf(file, "%u us%s: %llu\n", us,
				   us == TWHEEL_STRETCHES - 1 ? " and more" : "", nr);
	}
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(irqs_off);

/**
 * twheel_registry_init - show the list of wheels
 */
void __init twheel_registry_init(void)
{
	debugfs = debugfs_create_dir("twheel", NULL);
	debugfs_create_file("wheels", 0400, debugfs, NULL, &wheels_fops);
	debugfs_create_file("irqs_off", 0400, debugfs, NULL, &irqs_off_fops);
}

/**
 * twheel_registry_debugfs - where else there is something to show
 *
 * Return: the directory, for debugfs_create_file().
 */
struct dentry *twheel_registry_debugfs(void)
{
	return debugfs;
}

/**
 * twheel_registry_exit - there are no wheels any more
 */
void twheel_registry_exit(void)
{
	debugfs_remove(debugfs);
	WARN_ON_ONCE(!list_empty(&wheels));
	irq_work_sync(&clock_irq_work);
	cancel_work_sync(&clock_work);
}
