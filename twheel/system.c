// SPDX-License-Identifier: GPL-2.0
/*
 * Layer 4, the system's wheels: one for each clock, for all who need none of
 * their own.
 *
 * Each is made at the first use, with a shard for each CPU that there may be and
 * with the tick and the slots that the module was loaded with, and goes with
 * the module.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <asm/barrier.h>
#include <linux/cpumask.h>
#include <linux/err.h>
#include <linux/export.h>
#include <linux/minmax.h>
#include <linux/moduleparam.h>
#include <linux/mutex.h>
#include <linux/printk.h>

#include "reaper.h"
#include "shards.h"
#include "system.h"

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
 * twheel_system - the wheel that all share
 *
 * By CLOCK_MONOTONIC; else as twheel_system_clock().
 *
 * Context: process; may sleep.
 * Return: the wheel, or an ERR_PTR() if it could not be made: -ENOMEM.
 */
struct twheel *twheel_system(void)
{
	return twheel_system_clock(TWHEEL_CLOCK_MONOTONIC);
}
EXPORT_SYMBOL_GPL(twheel_system);

/**
 * twheel_system_exit - end the system's wheels, which nobody uses any more
 */
void twheel_system_exit(void)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(system_wheels); i++)
		twheel_destroy(system_wheels[i]);
}
