// SPDX-License-Identifier: GPL-2.0
/*
 * The loads cascade and cascade_spread of irqs_off.c: very many timers in one bucket of a high
 * level move down all levels together and fire.
 *
 * The wheel is private, so its counters cover only this run. It has a tick of about 1 us,
 * 64 slots per level, and one shard.
 *
 *	level 3   |.......|bucket.|.......|	a slot is 268 ms
 *	level 2           |.x...|.....|		4.2 ms
 *	level 1             |.x.|		65 us
 *	level 0               |x			1 us
 *
 * Each timer must be called once, and must not be called early. To keep the function short, it
 * reuses a reading of the clock for all timers with deadlines before it.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/bits.h>
#include <linux/delay.h>
#include <linux/err.h>
#include <linux/hash.h>
#include <linux/math.h>
#include <linux/printk.h>
#include <linux/sched.h>
#include <linux/time64.h>
#include <linux/twheel.h>
#include <linux/vmalloc.h>

#include "bench.h"

#define TICK_SHIFT	10
#define SLOTS_SHIFT	6
/* Length of a slot. */
#define SLOT_NS(level)	BIT_ULL(TICK_SHIFT + (level) * SLOTS_SHIFT)
#define LEVEL		3

/* Functions per reading of the clock. */
#define FIRED_A_READING	64

/* Without any call for this time, the run has failed. */
#define STUCK_NS	(30 * NSEC_PER_SEC)

/*
 * A timer and its result. @fired is written by the reaper, and read by others after the
 * wheel has been stopped.
 */
struct item {
	struct twheel_timer	timer;
	u64			deadline;
	unsigned int		fired;
};

/*
 * The current run. Members from @clock on belong to the reaper; other threads only read
 * @fired.
 */
static struct cascade {
	const struct bench_config *config;
	struct twheel		*wheel;
	struct item		*item;
	u64			expires;	/* expiry of the bucket */

	u64			clock;
	unsigned int		fired;
	unsigned int		early;
} cascade;

static void item_fire(struct twheel_timer *timer)
{
	struct item *item = container_of(timer, struct item, timer);
	unsigned int fired = cascade.fired + 1;

	if (item->deadline > cascade.clock || fired % FIRED_A_READING == 0)
		cascade.clock = twheel_now(cascade.wheel);
	cascade.early += item->deadline > cascade.clock;
	item->fired++;
	WRITE_ONCE(cascade.fired, fired);
}

/* One slot further on each lower level, so that timers move through all levels. */
static u64 deadline_one_tick(unsigned int i)
{
	return cascade.expires + SLOT_NS(2) + SLOT_NS(1) + SLOT_NS(0);
}

static u64 deadline_spread(unsigned int i)
{
	return cascade.expires + ((u64)hash_64(i, LEVEL * SLOTS_SHIFT) << TICK_SHIFT);
}

static void items_init(u64 (*deadline)(unsigned int i))
{
	const struct bench_config *config = cascade.config;
	unsigned int i;

	cascade.expires = round_up(twheel_now(cascade.wheel) + config->ahead_ns, SLOT_NS(LEVEL));
	for (i = 0; i < config->nr; i++) {
		twheel_timer_init(&cascade.item[i].timer, cascade.wheel, item_fire);
		cascade.item[i].deadline = deadline(i);
		if (i % 1024 == 0)
			cond_resched();
	}
}

/* On failure, twheel_stop() cancels the timers added so far. */
static int items_add(void)
{
	struct item *item = cascade.item;
	unsigned int i;
	int err;

	for (i = 0; i < cascade.config->nr; i++) {
		err = twheel_timer_add(&item[i].timer, item[i].deadline);
		if (err)
			return err;
		if (i % 1024 == 0)
			cond_resched();
	}
	return 0;
}

/* Wait until all timers have fired, as long as there is progress. */
static int wait_for_all(void)
{
	u64 now, since = twheel_now(cascade.wheel);
	unsigned int fired, fired_before = 0;

	for (;;) {
		fired = READ_ONCE(cascade.fired);
		if (fired >= cascade.config->nr)
			return 0;
		now = twheel_now(cascade.wheel);
		if (fired != fired_before || now < cascade.expires)
			since = now;
		if (now > since + STUCK_NS)
			return -ETIMEDOUT;
		fired_before = fired;
		usleep_range(1000, 2000);
	}
}

/* The wheel has been stopped, so no other thread accesses the timers. */
static int cascade_check(long left)
{
	unsigned int i, wrong = 0;
	struct twheel_stats stats;

	twheel_get_stats(cascade.wheel, &stats);
	for (i = 0; i < cascade.config->nr; i++)
		wrong += cascade.item[i].fired != 1;
	if (!wrong && !cascade.early && !left && stats.added == stats.fired)
		return 0;

	pr_err("FAILURE: %u timers not ended once, %u early, %ld left; %llu added, %llu fired\n",
	       wrong, cascade.early, left, stats.added, stats.fired);
	return -EIO;
}

static int cascade_run(bool spread)
{
	int err, wrong;

	items_init(spread ? deadline_spread : deadline_one_tick);
	err = items_add() ?: wait_for_all();
	wrong = cascade_check(twheel_stop(cascade.wheel, NULL, NULL));
	return err ?: wrong;
}

/**
 * cascade_load - let timers cascade down three levels and fire
 * @config: configuration; @ahead_ns must exceed the time to add them
 * @spread: deadlines are spread over the span of the bucket; else all timers are due at the same
 *	tick, just after the bucket expires
 *
 * Return: 0 or a negative error number.
 */
int cascade_load(const struct bench_config *config, bool spread)
{
	static const struct twheel_config wheel = {
		.name		= "tw_bench",
		.tick_ns	= SLOT_NS(0),
		.slots		= BIT(SLOTS_SHIFT),
	};
	int err;

	cascade = (struct cascade) { .config = config };
	cascade.item = vcalloc(config->nr, sizeof(*cascade.item));
	if (!cascade.item)
		return -ENOMEM;
	cascade.wheel = twheel_create(&wheel);
	if (IS_ERR(cascade.wheel)) {
		err = PTR_ERR(cascade.wheel);
	} else {
		err = cascade_run(spread);
		twheel_destroy(cascade.wheel);
	}
	vfree(cascade.item);
	return err;
}
