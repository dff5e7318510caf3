// SPDX-License-Identifier: GPL-2.0
/*
 * Very many timers in one bucket of a high level. They move down all levels together and
 * fire, or are cancelled on the way.
 *
 *	cascade		all timers are due at the same tick, just after the bucket
 *			expires. Each one moves three times and fires
 *	cascade-spread	deadlines are spread over the span of the bucket
 *	cascade-cancel	as cascade, but every other timer is cancelled, starting when
 *			half of the timers have made their first move
 *
 * The wheel is private, so its counters cover only this run. It has a tick of about 1 us,
 * 64 slots per level, and one shard.
 *
 *	level 3   |.......|bucket.|.......|	a slot is 268 ms
 *	level 2           |.x...|.....|		4.2 ms
 *	level 1             |.x.|		65 us
 *	level 0               |x			1 us
 *
 * Each timer must be called once or be cancelled, and must not be called early. To keep
 * the function short, it reuses a reading of the clock for all timers with deadlines
 * before it.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/bits.h>
#include <linux/delay.h>
#include <linux/err.h>
#include <linux/hash.h>
#include <linux/math.h>
#include <linux/math64.h>
#include <linux/minmax.h>
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

/* Time between the start of the other timers and the expiry of the bucket. */
#define EARLY_NS	(100 * NSEC_PER_MSEC)

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
	bool			cancelled;
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
	u64			add_ns;
	unsigned int		cancelled;
	struct others_report	others;
	struct twheel_stats	stats;

	u64			clock;
	u64			first;
	unsigned int		fired;
	unsigned int		early;
} cascade;

static void item_fire(struct twheel_timer *timer)
{
	struct item *item = container_of(timer, struct item, timer);
	unsigned int fired = cascade.fired + 1;

	if (item->deadline > cascade.clock || fired % FIRED_A_READING == 0)
		cascade.clock = twheel_now(cascade.wheel);
	if (fired == 1)
		cascade.first = cascade.clock;
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
	u64 begin = twheel_now(cascade.wheel);
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
	cascade.add_ns = twheel_now(cascade.wheel) - begin;
	return 0;
}

/*
 * Cancel every other timer while they move and fire. On a single CPU, this requires
 * sleeping.
 */
static void items_cancel(void)
{
	struct item *item = cascade.item;
	unsigned int i;

	for (i = 0; i < cascade.config->nr; i += 2) {
		item[i].cancelled = !twheel_timer_cancel(&item[i].timer);
		cascade.cancelled += item[i].cancelled;
		if (i % 1024 == 0)
			usleep_range(20, 50);
	}
}

/* Wake up early enough to start the other timers. */
static void sleep_until_expiry(void)
{
	u64 now = twheel_now(cascade.wheel), end = cascade.expires - EARLY_NS;

	if (now < end)
		msleep(div_u64(end - now, NSEC_PER_MSEC));
}

/* Timers that were added late, due to other load, fire without moving. */
static bool half_moved(const struct twheel_stats *stats)
{
	return stats->cascaded >= cascade.config->nr / 2 || stats->fired >= cascade.config->nr / 2;
}

static bool all_done(const struct twheel_stats *stats)
{
	return READ_ONCE(cascade.fired) + cascade.cancelled >= cascade.config->nr;
}

/* Wait for a condition, as long as there is progress. */
static int wait_until(bool (*reached)(const struct twheel_stats *stats), unsigned int pause_us)
{
	u64 now, since = twheel_now(cascade.wheel);
	unsigned int fired, fired_before = 0;
	struct twheel_stats stats;

	for (;;) {
		twheel_get_stats(cascade.wheel, &stats);
		if (reached(&stats))
			return 0;
		now = twheel_now(cascade.wheel);
		fired = READ_ONCE(cascade.fired);
		if (fired != fired_before || now < cascade.expires)
			since = now;
		if (now > since + STUCK_NS)
			return -ETIMEDOUT;
		fired_before = fired;
		usleep_range(pause_us, 2 * pause_us);
	}
}

/* Raise the priority, to run while the reaper is busy on a single CPU. */
static int cancel_half_way(void)
{
	int err;

	sched_set_fifo_low(current);
	err = wait_until(half_moved, 50);
	if (!err)
		items_cancel();
	sched_set_normal(current, 0);
	return err;
}

static int cascade_watch(bool cancel)
{
	int err = cancel ? cancel_half_way() : 0;

	return err ?: wait_until(all_done, 1000);
}

static int cascade_go(bool cancel)
{
	int err;

	err = items_add();
	if (err)
		return err;
	sleep_until_expiry();
	if (!cascade.config->others)
		return cascade_watch(cancel);

	err = others_start(cascade.wheel);
	if (err)
		return err;
	err = cascade_watch(cancel);
	others_stop(&cascade.others);
	return err;
}

/* The wheel has been stopped, so no other thread accesses the timers. */
static int cascade_check(long left)
{
	const struct twheel_stats *stats = &cascade.stats;
	unsigned int i, wrong = 0;
	u64 added;

	for (i = 0; i < cascade.config->nr; i++)
		wrong += cascade.item[i].fired + cascade.item[i].cancelled != 1;
	added = stats->fired + stats->cancelled;
	if (!wrong && !cascade.early && !cascade.others.wrong && !left && stats->added == added)
		return 0;

	pr_err("FAILURE: %u timers not ended once, %u early, %ld left; %llu other timers wrong; %llu added, %llu ended\n",
	       wrong, cascade.early, left, cascade.others.wrong, stats->added, added);
	return -EIO;
}

static void cascade_report(const struct bench *bench)
{
	const struct others_report *others = &cascade.others;
	const struct twheel_stats *stats = &cascade.stats;
	unsigned int nr = cascade.config->nr;
	u64 first = max(cascade.first, cascade.expires);
	u64 last = max(cascade.clock, first);

	pr_info("what=%s nr=%u cancelled=%u add_ns=%llu cascade_ns=%llu fire_ns=%llu moves=%llu wakeups=%llu latest_us=%llu others=%llu others_fired=%llu others_longest_ns=%llu\n",
		bench->name, nr, cascade.cancelled, div_u64(cascade.add_ns, nr),
		div_u64(first - cascade.expires, nr), div_u64(last - first, nr),
		stats->cascaded, stats->wakeups,
		div_u64(stats->latest_ticks << TICK_SHIFT, NSEC_PER_USEC),
		others->turns, others->fired,
		others->longest_ns);
}

static int cascade_run(u64 (*deadline)(unsigned int i), bool cancel)
{
	int err, wrong;
	long left;

	items_init(deadline);
	err = cascade_go(cancel);
	left = twheel_stop(cascade.wheel, NULL, NULL);
	twheel_get_stats(cascade.wheel, &cascade.stats);
	wrong = cascade_check(left);
	return err ?: wrong;
}

static int cascade_alone(const struct bench_config *config, u64 (*deadline)(unsigned int i),
			 bool cancel)
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
		err = cascade_run(deadline, cancel);
		twheel_destroy(cascade.wheel);
	}
	vfree(cascade.item);
	return err;
}

static int cascade_bench(const struct bench *bench, const struct bench_config *config,
			 u64 (*deadline)(unsigned int i), bool cancel)
{
	int err = cascade_alone(config, deadline, cancel);

	if (!err)
		cascade_report(bench);
	return err;
}

/**
 * cascade_load - run cascade or cascade-spread without a report
 * @config: configuration
 * @spread: run cascade-spread
 *
 * Return: 0 or a negative error number.
 */
int cascade_load(const struct bench_config *config, bool spread)
{
	return cascade_alone(config, spread ? deadline_spread : deadline_one_tick, false);
}

int cascade_one_tick(const struct bench *bench, const struct bench_config *config)
{
	return cascade_bench(bench, config, deadline_one_tick, false);
}

int cascade_spread(const struct bench *bench, const struct bench_config *config)
{
	return cascade_bench(bench, config, deadline_spread, false);
}

int cascade_cancel(const struct bench *bench, const struct bench_config *config)
{
	return cascade_bench(bench, config, deadline_one_tick, true);
}
