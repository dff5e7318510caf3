// SPDX-License-Identifier: GPL-2.0
/*
 * Layer 4, the system's wheel: one for all who need none of their own.
 *
 * It is made at the first use, with a shard for each CPU that is online then
 * and with the tick and the slots that the module was loaded with, and goes
 * with the module.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/cpumask.h>
#include <linux/err.h>
#include <linux/export.h>
#include <linux/minmax.h>
#include <linux/moduleparam.h>
#include <linux/mutex.h>
#include <linux/printk.h>

#include "reaper.h"
#include "system.h"

static unsigned long tick_ns = TWHEEL_TICK_NS_DEFAULT;
module_param(tick_ns, ulong, 0444);
MODULE_PARM_DESC(tick_ns, "tick of the system's wheel in ns, 1000 to 10000000000 (default 1048576)");

static unsigned int slots = TWHEEL_SLOTS_DEFAULT;
module_param(slots, uint, 0444);
MODULE_PARM_DESC(slots, "slots in each level of the system's wheel, 2 to 1024 (default 64)");

/* Serialises the first use; the wheel never changes after that. */
static DEFINE_MUTEX(system_lock);
static struct twheel *system_wheel;

/**
 * twheel_system_check - check the module's parameters for the system's wheel
 *
 * Return: 0, or -EINVAL with a message that names the bad one.
 */
int __init twheel_system_check(void)
{
	if (tick_ns < TWHEEL_TICK_NS_MIN || tick_ns > TWHEEL_TICK_NS_MAX) {
		pr_err("tick_ns=%lu is not between %llu and %llu\n",
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
 * twheel_system - the wheel that all share
 *
 * It stays for as long as the module does, and with it for as long as the
 * caller's module uses symbols of ours.
 *
 * Context: process; may sleep.
 * Return: the wheel, or an ERR_PTR() if it could not be made: -ENOMEM, -EINTR.
 */
struct twheel *twheel_system(void)
{
	const struct twheel_config config = {
		.name		= "twheel",
		.tick_ns	= tick_ns,
		.slots		= slots,
		.shards		= min(num_online_cpus(), TWHEEL_SHARDS_MAX),
	};
	struct twheel *wheel;

	mutex_lock(&system_lock);
	if (!system_wheel) {
		wheel = twheel_create(&config);
		if (!IS_ERR(wheel))
			system_wheel = wheel;
	} else {
		wheel = system_wheel;
	}
	mutex_unlock(&system_lock);
	return wheel;
}
EXPORT_SYMBOL_GPL(twheel_system);

/**
 * twheel_system_exit - end the system's wheel, which nobody uses any more
 */
void twheel_system_exit(void)
{
	twheel_destroy(system_wheel);
}
