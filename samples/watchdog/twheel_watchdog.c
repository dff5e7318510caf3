// SPDX-License-Identifier: GPL-2.0
/*
 * A consumer of twheel: a watchdog for steps that may hang.
 *
 * The timer is on the stack of the task that runs the step. The reaper calls the callback; a
 * watchdog that must bite even if no thread gets a CPU would use an hrtimer.
 *
 * Loading the module runs the sample once and prints the result to the kernel log. Some
 * steps are short, some are long but make progress, and some hang until the watchdog bites.
 * The load fails with -EIO unless the watchdog bit once for each step that hung, and for no step
 * before its deadline.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/completion.h>
#include <linux/delay.h>
#include <linux/err.h>
#include <linux/init.h>
#include <linux/minmax.h>
#include <linux/module.h>
#include <linux/time64.h>
#include <linux/timekeeping.h>
#include <linux/twheel.h>

#define STEPS		12
#define LIMIT_NS	(50 * NSEC_PER_MSEC)
#define IS_LONG(n)	((n) % 4 == 1)
#define HANGS(n)	((n) % 4 == 3)

struct watchdog {
	struct twheel_timer	timer;
	u64			deadline;
	unsigned int		bites;
	u64			bitten_at;
	struct completion	bitten;
};

static struct twheel *wheel;

static void watchdog_bite(struct twheel_timer *timer)
{
	struct watchdog *dog = container_of(timer, struct watchdog, timer);

	dog->bites++;
	dog->bitten_at = ktime_get_ns();
	complete(&dog->bitten);
}

static int watchdog_start(struct watchdog *dog)
{
	int err;

	init_completion(&dog->bitten);
	dog->deadline = twheel_deadline(LIMIT_NS);
	twheel_timer_init_onstack(&dog->timer, wheel, watchdog_bite);
	err = twheel_timer_add(&dog->timer, dog->deadline);
	if (err)
		twheel_timer_destroy_onstack(&dog->timer);
	return err;
}

/* Returns false if the watchdog has bitten. */
static bool watchdog_touch(struct watchdog *dog)
{
	u64 deadline = twheel_deadline(LIMIT_NS);

	if (twheel_timer_rearm(&dog->timer, deadline, TWHEEL_REARM_IF_PENDING) != 1)
		return false;
	dog->deadline = deadline;
	return true;
}

/* Returns false if the watchdog has bitten. */
static bool watchdog_stop(struct watchdog *dog)
{
	int err = twheel_timer_cancel_sync(&dog->timer);

	twheel_timer_destroy_onstack(&dog->timer);
	return !err;
}

/* Returns the time that was left, or TWHEEL_NEVER if the watchdog has bitten. */
static u64 step(struct watchdog *dog, unsigned int n)
{
	unsigned int i;

	for (i = 0; IS_LONG(n) && i < 4 && watchdog_touch(dog); i++)
		msleep(20);
	/* The timeout only limits a failing run. */
	if (HANGS(n))
		wait_for_completion_timeout(&dog->bitten, 30 * HZ);
	return twheel_timer_remaining(&dog->timer);
}

static int __init watchdog_init(void)
{
	unsigned int n, bites = 0, wrong = 0;
	u64 least = LIMIT_NS;
	int err;

	wheel = twheel_system();
	if (IS_ERR(wheel))
		return PTR_ERR(wheel);
	for (n = 0; n < STEPS; n++) {
		struct watchdog dog = {};

		err = watchdog_start(&dog);
		if (err)
			return err;
		least = min(least, step(&dog, n));
		/* On a slow machine, the watchdog may bite although the step does not hang. */
		wrong += watchdog_stop(&dog) ? dog.bites || HANGS(n) :
					       dog.bites != 1 || dog.bitten_at < dog.deadline;
		bites += dog.bites;
	}
	pr_info("%u steps, %u bites, otherwise at least %llu ns left, %u incorrect\n",
		STEPS, bites, least, wrong);
	return wrong ? -EIO : 0;
}

static void __exit watchdog_exit(void)
{
}

module_init(watchdog_init);
module_exit(watchdog_exit);

MODULE_DESCRIPTION("twheel sample: a watchdog for steps that may hang");
MODULE_AUTHOR("The twheel developers");
MODULE_LICENSE("GPL");
