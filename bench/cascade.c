// SPDX-License-Identifier: GPL-2.0
/*
 * Very many timers in one bucket of a high level, which move down all levels
 * together and fire, or are cancelled on their way.
 *
 *	cascade		all are due at the same tick, just after the bucket expires:
 *			three moves for each, and then its function
 *	cascade-spread	they are due all over the bucket's span
 *	cascade-cancel	as cascade, but every other one is cancelled from when
 *			half of them have made their first move
 *
 * The wheel is one of our own, so that its counts are: a tick of about 1 us and
 * 64 slots a level, on one shard.
 *
 *	level 3   |.......|bucket.|.......|	a slot is 268 ms
 *	level 2           |.x...|.....|		4.2 ms
 *	level 1             |.x.|		65 us
 *	level 0               |x			1 us
 *
 * Each timer must be called once, or else have been cancelled, and not be
 * called early.  Its function has no time to spare: a reading of the clock that
 * does for one timer does for all whose deadlines are not later.
 *
 * The suite irqs_off lets the first two run.  With interrupts off nothing else counts,
 * and without measure=1 it is the speed that does.
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

#define SUITE		"irqs_off"

#define TICK_SHIFT	10
#define SLOTS_SHIFT	6
/* How long a slot is, and so a bucket. */
#define SLOT_NS(level)	BIT_ULL(TICK_SHIFT + (level) * SLOTS_SHIFT)
#define LEVEL		3

/* How often the reaper reads the clock for the figures' sake. */
#define FIRED_A_READING	64

/* For how long to look what the machine itself does: about as long as a run takes. */
#define GAPS_NS		(200 * NSEC_PER_MSEC)

/* How long before the bucket expires the other timers begin. */
#define EARLY_NS	(100 * NSEC_PER_MSEC)

/* When none has fired for so long, none will. */
#define STUCK_NS	(30 * NSEC_PER_SEC)

/*
 * A timer, and what became of it: @fired is the reaper's, and everybody's when
 * the wheel has been stopped.
 */
struct item {
	struct twheel_timer	timer;
	u64			deadline;
	unsigned int		fired;
	bool			cancelled;
};

/*
 * The run: there is one at a time. From @clock
 * on it is the reaper's; others may have a look at @fired.
 */
static struct cascade {
	const struct bench_config *config;
	struct twheel		*wheel;
	struct item		*item;
	u64			expires;	/* when the bucket does */
	struct machine_gaps	gaps;
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

/* One slot on, on each level below that of the bucket, so that no level is spared. */
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

/* All that were added are pending when this fails, for twheel_stop() to take. */
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

/* Every other one, while they move and fire: on one CPU, in between. */
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

/* Until a little before that, so that the others are there in time. */
static void sleep_until_expiry(void)
{
	u64 now = twheel_now(cascade.wheel), end = cascade.expires - EARLY_NS;

	if (now < end)
		msleep(div_u64(end - now, NSEC_PER_MSEC));
}

/* Or have fired: some are added so late, if others were in the way, that they never move. */
static bool half_moved(const struct twheel_stats *stats)
{
	return stats->cascaded >= cascade.config->nr / 2 || stats->fired >= cascade.config->nr / 2;
}

static bool all_over(const struct twheel_stats *stats)
{
	return READ_ONCE(cascade.fired) + cascade.cancelled >= cascade.config->nr;
}

/* Wait for something to have come about, unless nothing comes about any more. */
static int wait_until(bool (*reached)(const struct twheel_stats *stats), unsigned int pause_us)
{
	u64 now, since = twheel_now(cascade.wheel);
	unsigned int fired, fired_before = 0;
	struct twheel_stats stats;

	for (;;) {
		twheel_stats(cascade.wheel, &stats);
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

/* At a priority that lets us in while the reaper is busy, should there be one CPU. */
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

	return err ?: wait_until(all_over, 1000);
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

/* The wheel has been stopped: nobody touches a timer any more. */
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

	pr_err("FAILURE: %u not once, %u early, %ld never; %llu others not once or early; %llu added, %llu ended\n",
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

	pr_info("what=%s nr=%u cancelled=%u add_ns=%llu cascade_ns=%llu fire_ns=%llu moves=%llu wakeups=%llu latest_us=%llu irqs_off_ns=%llu gaps=%llu gap_ns=%llu others=%llu others_fired=%llu others_longest_ns=%llu\n",
		bench->name, nr, cascade.cancelled, div_u64(cascade.add_ns, nr),
		div_u64(first - cascade.expires, nr), div_u64(last - first, nr),
		stats->cascaded, stats->wakeups,
		div_u64(stats->latest_ticks << TICK_SHIFT, NSEC_PER_USEC), stats->irqs_off_ns,
		cascade.gaps.nr, cascade.gaps.longest_ns, others->turns, others->fired,
		others->longest_ns);
}

/* The same in samples: how long interrupts were off, or if nobody looked, the speed. */
static void cascade_samples(const struct bench *bench)
{
	unsigned int nr = cascade.config->nr;
	u64 first = max(cascade.first, cascade.expires);
	u64 longest = cascade.stats.irqs_off_ns;

	if (longest) {
		bench_sample_ns(SUITE, bench->name, "twheel", "longest", nr, longest, 1);
		bench_sample_ns(SUITE, bench->name, "machine", "longest", nr,
				cascade.gaps.longest_ns, 1);
		return;
	}
	bench_skip(SUITE, bench->name, "twheel", "longest", nr, "twheel-loaded-without-measure=1");
	bench_sample_ns(SUITE, bench->name, "twheel", "move", nr, first - cascade.expires, nr);
	bench_sample_ns(SUITE, bench->name, "twheel", "fire", nr,
			max(cascade.clock, first) - first, nr);
}

static int cascade_run(const struct bench *bench, u64 (*deadline)(unsigned int i), bool cancel)
{
	int err, wrong;
	long left;

	machine_gaps(GAPS_NS, &cascade.gaps);
	items_init(deadline);
	err = cascade_go(cancel);
	left = twheel_stop(cascade.wheel, NULL, NULL);
	twheel_stats(cascade.wheel, &cascade.stats);
	wrong = cascade_check(left);
	if (!err && !wrong) {
		cascade_report(bench);
		cascade_samples(bench);
	}
	return err ?: wrong;
}

/* Make what a run needs, and let it run. */
static int cascade_bench(const struct bench *bench, const struct bench_config *config,
			 u64 (*deadline)(unsigned int i), bool cancel)
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
		err = cascade_run(bench, deadline, cancel);
		twheel_destroy(cascade.wheel);
	}
	vfree(cascade.item);
	return err;
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

/**
 * irqs_off_suite - cascade and cascade-spread, again and again
 * @config: how
 *
 * Return: 0 or an error.
 */
int irqs_off_suite(const struct bench_config *config)
{
	static const struct bench one_tick = { "cascade", cascade_one_tick };
	static const struct bench spread = { "cascade-spread", cascade_spread };
	unsigned int rep;
	int err = 0;

	for (rep = 0; rep < config->reps && !err; rep++) {
		err = one_tick.run(&one_tick, config);
		if (!err)
			err = spread.run(&spread, config);
	}
	return err;
}
